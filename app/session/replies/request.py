"""One reply: its request, and the attempts to get it, from the model and then its fallbacks. All are recorded."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass, replace
from typing import Any

from app.backends.base import Backend, PromptMessage, ReasoningEnd, Request, StreamEnd, ToolCall, prompt_pictures
from app.backends.guard import guarded_stream
from app.backends.registry import asks_servers
from app.calls.caller import Attempt, Call, Caller, Result
from app.calls.model_pool import ModelAccess
from app.calls.retry import LEAK
from app.clock import Clock
from app.config.settings import Settings
from app.errors import BackendBroken, BackendError, SettingsError
from app.session.replies.buffer import ReplyBuffer
from experiments.events import Data
from experiments.session.conversation import REFUSED
from experiments.session.identity_leaks import leaks
from experiments.study.location import State
from experiments.study.sections.model_spec import Price
from experiments.study.study import Study

# What `models` in the event `enrolled` of a rehearsed or simulated session says where the scripted model replies for
# those that are called at model servers.
SCRIPTED = "scripted"
FREE = Price(prompt=0, completion=0)
# The finish reason of a reply that the participant stopped.
STOPPED = "stopped"


# The limits of Parley at which a reply is cut and kept, which is then its finish reason.
LIMITS = ("too_long", "timeout_reply")


async def stream_reply(
    backend: Backend, request: Request, limits: Settings, reply: ReplyBuffer, clock: Clock, *, hold: bool = False
) -> Result:
    """A failure is returned as a result, not raised. If the participant stops the reply, the text so far is kept,
    whatever happens while the call is cancelled; and so at a limit of Parley's, or if the reply breaks off."""
    started_us = clock.now_us()
    first_us: int | None = None
    end, error, unopened, calls = StreamEnd(""), None, False, list[ToolCall]()
    reply.begin(hold=hold)
    try:
        async with reply.stopping.heeded(), aclosing(guarded_stream(lambda: backend.stream(request), limits)) as deltas:
            async for delta in deltas:
                match delta:
                    case StreamEnd():
                        end = delta
                    case ToolCall():
                        calls.append(delta)
                    case _:
                        reply.take(delta)
                        unopened = unopened or isinstance(delta, ReasoningEnd)
                        first_us = None if reply.empty else first_us or clock.now_us()
    except BackendError as failed:
        error = failed
    error = error or _unasked(request, calls)
    text, reasoning = reply.text.strip(), "".join(reply.reasoning)
    if reply.stopped and not end.finish_reason:
        end, error = StreamEnd(STOPPED), None if text and not reply.hidden else empty_reply_error()
    if error is not None and text and error.reason in LIMITS:
        end, error = StreamEnd(error.reason), None
    shown = error is not None and reply.length > 0 and error.reason not in REFUSED and not reply.hidden
    if error is not None and not shown:
        reply.begin()  # removes what is left of the reply from the screen now, not at the next attempt
    first_token_us = None if first_us is None else first_us - started_us
    took_us = clock.now_us() - started_us
    return Result(
        text,
        end,
        started_us,
        took_us,
        first_token_us,
        error,
        reasoning=reasoning,
        unopened=unopened,
        shown=shown,
        calls=tuple(calls),
    )


def _unasked(request: Request, calls: Sequence[ToolCall]) -> BackendError | None:
    if not calls or request.tools:
        return None
    return BackendBroken("The model asked for tools, and was offered none.", reason="finish_reason")


def empty_reply_error() -> BackendError:
    return BackendError("The reply was stopped before its first word.", reason=STOPPED)


def request_for(study: Study, job: Data, name: str, seed: str) -> Request:
    """The request for a pending reply to a model of the study; made from the study and the log alone."""
    model = study.model(name)
    return Request(
        model=model.model or name,
        messages=tuple(_prompt_message(one, job.get("contents", {})) for one in job["messages"]),
        temperature=model.temperature,
        max_tokens=min(filter(None, (model.max_tokens, job.get("max_tokens"))), default=None),
        options=model.options,
        seed=seed,
        problem=job.get("problem"),
        tools=job.get("specs", ()),
        may_call=job.get("calls_left", 1) > 0,
    )


def _prompt_message(message: Data, contents: Mapping[str, bytes]) -> PromptMessage:
    calls = tuple(ToolCall(**call) for call in message.get("calls", ()))
    pictures = prompt_pictures(message.get("pictures", ()), contents)
    return PromptMessage(message["role"], message["text"], calls, message.get("call_id", ""), pictures)


def study_asked(study: Study, state: State) -> Study:
    """The study whose models reply in a session: without model servers, if the session says so."""
    return without_servers(study) if state.enrolled.get("models") == SCRIPTED else study


def without_servers(study: Study) -> Study:
    """The study with the scripted model, which is free, in place of every model that is called at a server."""
    offline: dict[str, Any] = {"backend": SCRIPTED, "server": None, "options": {}, "price": FREE}
    models = {
        name: model.model_copy(update=offline) if asks_servers(model.backend) else model
        for name, model in study.file.models.items()
    }
    return replace(study, file=study.file.model_copy(update={"models": models}))


def request_json(request: Request, adapted: Sequence[str] = ()) -> dict[str, Any]:
    """The request as stored with the attempt, without keys and addresses; `adapted` is what the server refused."""
    return {
        "model": request.model,
        "messages": [_message_json(message) for message in request.messages],
        "temperature": request.temperature,
        "max_tokens": request.max_tokens,
        "options": dict(request.options),
        **({"tools": [tool.name for tool in request.tools], "may_call": request.may_call} if request.tools else {}),
        **({"adapted": list(adapted)} if adapted else {}),
    }


def _message_json(message: PromptMessage) -> dict[str, Any]:
    calls = {"calls": list(map(asdict, message.calls))} if message.calls else {}
    return {
        "role": message.role,
        "text": message.text,
        **calls,
        **({"call_id": message.call_id} if message.call_id else {}),
        **({"pictures": [one.sha256 for one in message.pictures]} if message.pictures else {}),
    }


@dataclass(frozen=True, slots=True)
class ReplyContext:
    """The parts of the deployment that a model call needs, and the stream of the session that gets the reply."""

    session: str
    limits: Settings
    caller: Caller
    access: Callable[[Study, str], ModelAccess]
    writable: Callable[[], Awaitable[None]]
    """Waits, before each attempt, until the log can be written."""
    record: Callable[[Attempt], None]
    """Called after each attempt, and not waited for: the log writes in order, so the reply's event comes after it."""

    @property
    def clock(self) -> Clock:
        return self.caller.clock


async def ask_with_retries(
    context: ReplyContext, study: Study, job: Data, seed: str, reply: ReplyBuffer, beside: Sequence[str] = ()
) -> list[Attempt]:
    """All attempts, at least one, each recorded when it ends. The last has the reply, or its error if all failed.
    `beside` are the models whose replies are shown side by side: where the beginning of one is held, all are."""
    made: list[Attempt] = []
    hold = any(_holds(context, study, request_for(study, job, name, seed), name) for name in beside)

    async def ready() -> None:
        async with reply.stopping.heeded():
            await context.writable()

    async def ask(backend: Backend, request: Request, last: bool) -> Result:
        result = await stream_reply(backend, request, context.limits, reply, context.clock, hold=hold)
        regenerates = study.file.on_identity_leak == "regenerate" and not last and not reply.stopped
        return _unless_it_leaks(result, study) if regenerates and result.error is None else result

    def record(attempt: Attempt) -> None:
        made.append(attempt)
        context.record(attempt)

    call = Call(context.session, reply.stopping, ask, record, ready)
    for name in (job["model"], *study.model(job["model"]).fallback):
        request = request_for(study, job, name, seed)
        attempt = await context.caller.call(context.access(study, name), request, call)
        if attempt is None:  # stopped before the first call, or in the pause before a retry
            stopped = Result("", StreamEnd(STOPPED), context.clock.now_us(), 0, error=empty_reply_error())
            record(Attempt(name, len(made) + 1, request, stopped, None))
        if attempt is None or attempt.result.error is None or attempt.result.shown or reply.stopped:
            break
    return made


def _holds(context: ReplyContext, study: Study, request: Request, name: str) -> bool:
    try:
        return context.access(study, name).backend().holds(request)
    except (BackendError, SettingsError):
        return False  # the call reports it


def _unless_it_leaks(result: Result, study: Study) -> Result:
    """The result, or an error if the reply names its model and the study asks for another reply then."""
    found = leaks(result.text, study.file.models)
    error = BackendBroken(f"The reply reveals which model wrote it: {', '.join(found)}", reason=LEAK)
    return replace(result, error=error) if found else result
