"""The participant API: the one door of a session from outside; the page, bots and load tests all use it.

`look` and `act` answer with the present screen: painted for the page, or as the values themselves (`view: screen`). A
refused action answers 200 with a note and the screen as it is. Nothing is answered before it is committed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from hashlib import blake2s
from typing import Annotated, Any, Literal, TypeVar

import orjson
from fastapi import Query
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from app.i18n.catalogues import catalogue
from app.i18n.negotiation import from_accept_language
from app.session.service import SessionService
from app.session.transitions import LoadedSession
from app.web.participant.session_cookie import MOST_KNOWN, SessionCookie
from app.web.participant.sse import ReplyStream, plain_response, rendered_reply
from app.web.participant.view import ScreenView, conversation_chars, page_words, study_context_of
from app.web.rendering import markdown
from experiments.errors import Refused
from experiments.session.telemetry import AnyRecord
from experiments.study.screen import Screen, typed

Value = TypeVar("Value")


def storable(value: Value) -> Value:
    """A value as it was sent; raises ValueError for what would be read otherwise than it was sent: a number beyond 64
    bits, NaN, an infinite one, half a character, or depth beyond bounds."""
    try:
        kept = orjson.loads(orjson.dumps(value))
    except orjson.JSONEncodeError as error:
        raise ValueError(f"cannot be stored: {error}") from None
    if kept != value:
        raise ValueError("cannot be stored: a number is infinite or none (NaN); allowed: finite numbers")
    return value


JSON = "application/json"
View = Literal["page", "screen"]
SHORT_TALK = 2_000
"""So many characters are painted in some milliseconds, formulas and all."""
NOBODY = "Please open your study link again."
ANOTHERS = (
    "The study was restarted in another tab of this browser. Nothing was sent from this tab. Here is the current page."
)
OUT_OF_TURN = ("stale", "not_offered", "ended")
"""Refusals of what the present screen does not offer: a second tab's click, or somebody who tries what they can do."""

log = logging.getLogger(__name__)


Values = Annotated[
    dict[Annotated[str, Field(max_length=200)], JsonValue], Field(max_length=500), AfterValidator(storable)
]


Whose = Annotated[str, Field(max_length=40)] | None
"""Which session the page shows, as it was told: what is done in a tab that still shows another than the browser has now
is refused. Nothing is compared where it is not said."""


class RequestBody(BaseModel):
    """What all requests have in common; unknown keys are ignored."""

    model_config = ConfigDict(frozen=True)

    shown: Annotated[str, Field(max_length=500)] | None = None
    """What the page already shows, as the last painting said."""
    view: View = "page"


class GetScreen(RequestBody):
    """Ask for the present screen."""


class PerformAction(RequestBody):
    """Do something on the present screen."""

    kind: Annotated[str, Field(max_length=40)]
    """submit, say, rate, retry, or what else the screen's `actions` offer."""
    path: Annotated[str, Field(max_length=500)]
    seen: Annotated[int, Field(ge=0)]
    key: Annotated[str, Field(min_length=8, max_length=64, pattern="^[!-~]+$")]
    """Random, another for each click; the same request may be sent again with the same key."""
    whose: Whose = None
    values: Values = {}
    follow: bool = False
    """Where a reply has to be waited for: answer as events, `screen` and then all that `reply` tells. The first words
    come a journey to the server and back earlier."""


class SaveDraft(BaseModel):
    """What is typed and not yet sent."""

    path: Annotated[str, Field(max_length=500)]
    whose: Whose = None
    values: Values = {}


class PreviewMessage(BaseModel):
    """A message that is being written."""

    text: Annotated[str, Field(max_length=20_000)]


class SendTelemetry(BaseModel):
    """What the page tells of itself: times and counts, never a word."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    key: Annotated[str, Field(pattern="^[0-9a-f]{32}$")]
    """Random, another for each batch; a batch that comes twice is kept once."""
    whose: Whose = None
    records: Annotated[tuple[AnyRecord, ...], Field(max_length=100)]


class StreamReply(BaseModel):
    """Read the reply on its way."""

    model_config = ConfigDict(frozen=True)

    offset: Annotated[int, Field(ge=0)] = 0
    """After so many of its characters."""
    slot: Annotated[str, Field(max_length=16)] = ""
    """Which of several."""
    view: View | None = None
    """How `done` shall tell the screen that comes after it; not at all unless it is said."""
    shown: Annotated[str, Field(max_length=500)] | None = None
    """What the page already shows."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A function at a path: what it is asked is the body of a POST, the query of a GET."""

    method: Literal["GET", "POST"]
    path: str
    asks: type[BaseModel]
    function: Callable[[Any, Request], Awaitable[Response]]
    summary: str
    status: int = 200
    """Of an answer when all is well."""

    async def serve(self, request: Request) -> Response:
        """Read what is asked, and answer it."""
        try:
            asked = await self._read(request)
        except ValidationError as error:
            return _no_request(error)
        return await self.function(asked, request)

    async def _read(self, request: Request) -> BaseModel:
        if self.method == "GET":
            return self.asks.model_validate(dict(request.query_params))
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
            return self.asks.model_validate("no JSON")  # raises
        return self.asks.model_validate_json(await request.body())


class ParticipantApi:
    """The routes under /api, over a runtime; the cookie says whose session it is."""

    def __init__(self, runtime: SessionService, cookies: SessionCookie) -> None:
        self._runtime = runtime
        self._cookies = cookies

    def calls(self) -> tuple[Endpoint, ...]:
        """All that can be asked; OpenAPI (docs/generate.py) describes the same."""
        return (
            Endpoint("POST", "/api/look", GetScreen, self.get_screen, "The present screen"),
            Endpoint("POST", "/api/act", PerformAction, self.act, "Act on the present screen"),
            Endpoint("POST", "/api/draft", SaveDraft, self.draft, "Keep what is typed"),
            Endpoint("POST", "/api/preview", PreviewMessage, self.preview, "What is typed, as it would be shown"),
            Endpoint("POST", "/api/telemetry", SendTelemetry, self.telemetry, "What the page tells of itself", 204),
            Endpoint("GET", "/api/reply", StreamReply, self.reply, "The reply on its way, as server-sent events"),
        )

    def routes(self) -> list[Route]:
        """The calls as they are served."""
        return [Route(call.path, call.serve, methods=[call.method]) for call in self.calls()]

    async def get_screen(self, body: GetScreen, request: Request) -> Response:
        """The screen as it is now."""
        stream = self._cookies.read(request)
        live, typed = await self._runtime.load_with_draft(stream) if stream else (None, None)
        return _nobody(request) if live is None else _json(await self._told(live, body, typed=typed))

    async def act(self, body: PerformAction, request: Request) -> Response:
        """The screen after the action, or a note and the screen as it is where the action is refused."""
        live = await self._known(request)
        if live is None:
            return _nobody(request)
        try:
            if _is_anothers(body.whose, live):
                body = body.model_copy(update={"shown": None})  # nothing of it may stay on the page
                raise Refused("stale", ANOTHERS)
            after = await self._runtime.participant(
                live.stream, body.kind, body.path, body.values, seen=body.seen, key=body.key
            )
        except Refused as refused:
            if refused.reason in OUT_OF_TURN:  # of what was sent nothing is logged: it may be anything
                log.info("session %s: an action was refused (%s) at %s", live.stream, refused.reason, live.screen.path)
            return _json(await self._told(await self._runtime.get(live.stream) or live, body, refused))
        moved = after.state.seq > live.state.seq and after.screen.path != body.path
        told = await self._told(after, body, new=moved)
        if body.follow and _speaks(after.screen):
            return self._events(after, StreamReply(view=body.view, shown=told.get("shown")), orjson.dumps(told))
        return _json(told)

    async def draft(self, body: SaveDraft, request: Request) -> Response:
        """Whether the draft was kept: what belongs to the present screen is, and nothing else."""
        live = await self._known(request)
        if live is None:
            return _nobody(request)
        present = body.path == live.screen.path and not _is_anothers(body.whose, live)
        if present:
            await self._runtime.save_draft(live.stream, body.path, typed(live.screen, body.values))
        return JSONResponse({"saved": present})

    async def preview(self, body: PreviewMessage, request: Request) -> Response:
        """A message that is not sent yet as it would be shown."""
        live = await self._known(request)
        if live is None:
            return _nobody(request)
        return JSONResponse({"html": await asyncio.to_thread(markdown.render_message, body.text, **_how(live))})

    async def telemetry(self, body: SendTelemetry, request: Request) -> Response:
        """Nothing; what may not be kept (before the consent, of another screen, beyond the cap) is dropped."""
        live = await self._known(request)
        if live is None:
            return _nobody(request)
        if not _is_anothers(body.whose, live):
            self._runtime.record_telemetry(live, body.key, body.records)
        return Response(status_code=204)

    async def reply(self, asked: Annotated[StreamReply, Query()], request: Request) -> Response:
        """Events `delta` (text, and the offset after it; 0 where the reply begins anew), then `done` (the screen)."""
        live = await self._known(request)
        return _nobody(request) if live is None else self._events(live, asked)

    def _events(self, live: LoadedSession, asked: StreamReply, first: bytes | None = None) -> Response:
        words = self._runtime.follow(live, asked.offset, asked.slot)
        pieces = rendered_reply(words, **_how(live)) if asked.view == "page" else plain_response(words)
        return ReplyStream(pieces, partial(self._heard, live.stream, asked), first)

    async def _heard(self, stream: str, asked: StreamReply) -> bytes:
        """The screen that comes after a reply, if it was asked for; who heard one here knows it here."""
        live = await self._runtime.get(stream) if asked.view else None
        if live is None:
            return b"{}"
        return orjson.dumps(await self._told(live, asked))

    async def _known(self, request: Request) -> LoadedSession | None:
        stream = self._cookies.read(request)
        return await self._runtime.get(stream) if stream else None

    async def _told(
        self,
        live: LoadedSession,
        body: RequestBody | StreamReply,
        refused: Refused | None = None,
        *,
        new: bool = False,
        typed: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """What is told of the session's screen; a `new` one was never shown before, so nothing is typed on it. What is
        `typed` there is looked up, unless it is known."""
        screen = live.screen
        say = catalogue(live.language)
        note = say(refused.message) if refused else ""
        faults = {name: say(fault) for name, fault in refused.fields.items()} if refused else {}
        if body.view == "screen":
            answer: dict[str, Any] = {"screen": screen_json(screen), "note": note, "faults": faults}
        else:
            sheet = ScreenView(screen, study_context_of(live))
            asks = not new and not screen.ended and sheet.needs_draft(body.shown)
            if asks and typed is None:
                typed = await self._runtime.draft(live.stream, screen.path)
            draft = typed or {} if asks else {}
            now_us = self._runtime.now_us()
            painting = partial(sheet.paint, shown=body.shown, draft=draft, note=note, faults=faults, now_us=now_us)
            # Long texts with formulas take a while: in a thread, so that nobody else is held up.
            aside = conversation_chars(screen) > SHORT_TALK
            answer = (await asyncio.to_thread(painting) if aside else painting()).as_json()
        answer["whose"] = session_tag(live.stream)
        return answer


def _how(live: LoadedSession) -> dict[str, Any]:
    """How what is said in a session is rendered."""
    return {"dollars": live.study.file.dollar_maths, "copy": catalogue(live.language)("Copy")}


def _json(told: Mapping[str, Any]) -> Response:
    return Response(orjson.dumps(told), media_type=JSON)


def _no_request(error: ValidationError) -> Response:
    """What is wrong and where; never what was sent, which may be nothing that JSON can say back."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    faults = {".".join(str(part) for part in item["loc"]): item["msg"] for item in found}
    return Response(
        orjson.dumps({"note": "This is not a valid request to this API.", "faults": faults}), 422, media_type=JSON
    )


def _speaks(screen: Screen) -> bool:
    """Whether the one model of a chat is at its reply; of several each has a stream of its own."""
    return screen.panel.chat is not None and "" in screen.panel.chat.slots


@lru_cache(MOST_KNOWN)
def session_tag(stream: str) -> str:
    """A session's name for the page, which tells nothing."""
    return blake2s(stream.encode(), digest_size=8).hexdigest()


def _is_anothers(said: str | None, live: LoadedSession) -> bool:
    return said is not None and said != session_tag(live.stream)


def _nobody(request: Request) -> Response:
    """For who is not known here; in the language of the browser, as no session says another."""
    say = from_accept_language(request)
    told = {"note": say(NOBODY), "words": page_words(say), "lang": say.tag, "dir": say.direction}
    return JSONResponse(told, status_code=401)


def screen_json(screen: Screen) -> dict[str, Any]:
    """A screen as plain JSON values, for bots."""
    plain: dict[str, Any] = orjson.loads(orjson.dumps(asdict(screen), default=_plain))
    for block, told in zip(screen.panel.blocks, plain["panel"]["blocks"], strict=True):
        told["block"] = block.kind
    return plain


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump()
    raise TypeError(f"{type(value).__name__} has no JSON")
