"""Asking until there is a reply: the model that was meant, then its fallbacks in order; every attempt is recorded."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace

from app.backends.base import Backend, End, Request
from app.backends.guard import Limits
from app.calls.caller import Attempt, Caller, Result
from app.calls.model_pool import ModelAccess
from app.calls.retry import LEAK
from app.clock import Clock
from app.errors import BackendBroken
from app.session.replies.buffer import Reply
from app.session.replies.request import STOPPED, ask, request_for, wordless
from experiments.events import Data
from experiments.session.identity_leaks import leaks
from experiments.study.resolve import Study


@dataclass(frozen=True, slots=True)
class Means:
    """What asking needs of the deployment, and whose reply it is."""

    session: str
    limits: Limits
    caller: Caller
    access: Callable[[Study, str], ModelAccess]
    before: Callable[[Study], Awaitable[None]]
    """Done before each attempt: waits until its reply can be kept, and looks at what it may cost."""
    record: Callable[[Attempt], None]
    """Done after each, and not waited for: what follows from it is written behind it."""

    @property
    def clock(self) -> Clock:
        """The time in use."""
        return self.caller.clock


@dataclass(slots=True)
class _Call:
    """A reply that a participant waits for, of one model or of another."""

    means: Means
    study: Study
    reply: Reply
    made: list[Attempt] = field(default_factory=list)

    @property
    def who(self) -> str:
        return self.means.session

    def is_over(self) -> bool:
        return self.reply.stopped

    def wanted(self) -> AbstractAsyncContextManager[None]:
        return self.reply.stopping.heeded()

    async def ready(self) -> None:
        async with self.reply.stopping.heeded():
            await self.means.before(self.study)

    async def ask(self, backend: Backend, request: Request, *, last: bool) -> Result:
        result = await ask(backend, request, self.means.limits, self.reply, self.means.clock)
        if (
            self.study.file.on_identity_leak == "regenerate"
            and result.error is None
            and not last
            and not self.reply.stopped
        ):
            return _unless_it_leaks(result, self.study)
        return result

    def record(self, attempt: Attempt) -> None:
        self.made.append(attempt)
        self.means.record(attempt)


async def ask_patiently(means: Means, study: Study, job: Data, seed: str, reply: Reply) -> list[Attempt]:
    """Every attempt, at least one, each recorded as it ends; the last gave the reply, or there is none."""
    call = _Call(means, study, reply)
    for name in (job["model"], *study.model(job["model"]).fallback):
        request = request_for(study, job, name, seed)
        attempt = await means.caller.call(means.access(study, name), request, call)
        if attempt is None:  # stopped before it was asked for, or in the pause before another try
            stopped = Result("", End(STOPPED), means.clock.now_us(), 0, error=wordless())
            call.record(Attempt(name, len(call.made) + 1, request, stopped, None))
        if attempt is None or attempt.result.error is None or reply.stopped:
            break
    return call.made


def _unless_it_leaks(result: Result, study: Study) -> Result:
    """A reply that tells which model wrote it is none, where the study wants another."""
    found = leaks(result.text, study.file.models)
    error = BackendBroken(f"The reply tells which model wrote it: {', '.join(found)}", reason=LEAK)
    return replace(result, error=error) if found else result
