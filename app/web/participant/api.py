"""The participant API, through which the page, simulated participants and load tests use a session.

`/api/look` and `/api/act` respond with the current screen: rendered for the page, or as plain values (`view: screen`).
A refused action gets status 200 with a note and the unchanged screen. A response is sent only after the commit.

A reply in progress is sent as server-sent events: `delta` with new text, then `done` with the next screen. The response
to the action that started the reply begins with `screen`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from hashlib import blake2s
from typing import Annotated, Any, Literal, TypeVar, cast

import orjson
from fastapi import Query
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from app.i18n.catalogues import Catalogue, catalogue
from app.i18n.negotiation import from_accept_language
from app.rendering import markdown
from app.session.service import SessionService
from app.session.transitions import LoadedSession
from app.web.participant.picture_reader import PictureReader
from app.web.participant.session_cookie import MOST_KNOWN, SessionCookie, is_embedded
from app.web.participant.view import ScreenView, conversation_chars, page_words, study_context_of
from experiments.errors import Refused
from experiments.session.host_messages import height_message, host_messages
from experiments.session.telemetry import AnyRecord
from experiments.session.waves import goes_on, next_opening
from experiments.study.screen import Screen, typed
from problems.pictures import PictureMap, described
from problems.text import clean_json, clean_values
from storage.registers.persons import Person

Value = TypeVar("Value")


def storable(value: Value) -> Value:
    """The value with clean texts; ValueError if storing changes it (over 64 bits, NaN, infinity, too deep)."""
    try:
        kept = orjson.loads(orjson.dumps(value))
    except orjson.JSONEncodeError as error:
        raise ValueError(f"cannot be stored: {error}") from None
    if kept != value:
        raise ValueError("cannot be stored: a number is infinite or none (NaN); allowed: finite numbers")
    return cast(Value, clean_values(value))


JSON = "application/json"
View = Literal["page", "screen"]
# Conversations up to so many characters are rendered in the event loop: it takes some milliseconds, with formulas.
SHORT_TALK = 2_000
NOBODY = "Please open your study link again."
ANOTHERS = (
    "The study was restarted in another tab of this browser. Nothing was sent from this tab. Here is the current page."
)
LEFT = "Nothing of “{title}” is lost: what you sent and what you typed there is saved, and you can continue."
# Reasons of refusals that are logged: the action is not on the current screen, as after a click in a second tab or in
# forged requests.
OUT_OF_TURN = ("stale", "not_offered", "ended")

log = logging.getLogger(__name__)


Values = Annotated[
    dict[Annotated[str, Field(max_length=200)], JsonValue], Field(max_length=500), AfterValidator(storable)
]


# The tag of the session that the page shows, from the last response. A request from a tab that shows another session
# than that of the browser's cookie is refused; with status 409 and the way back, if that session is of another study
# and still this browser's. Without a tag nothing is compared.
Whose = Annotated[str, Field(max_length=40)] | None


# An idempotency key.
Key = Annotated[str, Field(min_length=8, max_length=64, pattern="^[!-~]+$")]


class RequestBody(BaseModel):
    """Base of requests for a screen; unknown keys are ignored."""

    model_config = ConfigDict(frozen=True)

    shown: Annotated[str, Field(max_length=500)] | None = None
    """The parts that the page already shows: `shown` of the last response."""
    view: View = "page"


class GetScreen(RequestBody):
    """Request the current screen."""

    whose: Whose = None


class PerformAction(RequestBody):
    """Perform an action on the current screen."""

    kind: Annotated[str, Field(max_length=40)]
    """One of the screen's `actions`: submit, say, rate, retry, and others."""
    path: Annotated[str, Field(max_length=500)]
    seen: Annotated[int, Field(ge=0)]
    key: Key
    """The idempotency key: random, new for each click. A request can be repeated with the same key."""
    whose: Whose = None
    values: Values = {}
    follow: bool = False
    """If the action starts a reply, respond with server-sent events: `screen`, then the events of `/api/reply`. This
    saves a round trip before the first words."""


class AttachPicture(RequestBody):
    """Attach a picture to the next message: these as the query, the file as the body."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    path: Annotated[str, Field(max_length=500)]
    seen: Annotated[int, Field(ge=0)]
    key: Key
    whose: Whose = None


class SaveDraft(BaseModel):
    """Answers and messages that are typed and not sent yet."""

    path: Annotated[str, Field(max_length=500)]
    whose: Whose = None
    values: Values = {}


class PreviewMessage(BaseModel):
    """A message or a document that is being written."""

    text: Annotated[str, Field(max_length=20_000)]
    typed: bool = True
    """True if it is shown as typed; else as a model's replies, from Markdown."""


class SendTelemetry(BaseModel):
    """Telemetry of the page: times and counts, no content."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    key: Annotated[str, Field(pattern="^[0-9a-f]{32}$")]
    """Random, new for each batch. A batch that is sent twice is stored once."""
    whose: Whose = None
    records: Annotated[tuple[AnyRecord, ...], Field(max_length=100)]


class StreamReply(BaseModel):
    """Read the reply in progress."""

    model_config = ConfigDict(frozen=True)

    offset: Annotated[int, Field(ge=0)] = 0
    """The number of characters to skip."""
    slot: Annotated[str, Field(max_length=16)] = ""
    """The slot of the reply, if several models reply."""
    view: View | None = None
    """The form of the next screen in the event `done`. Without it `done` has no screen."""
    shown: Annotated[str, Field(max_length=500)] | None = None
    """The parts that the page already shows: `shown` of the last response."""
    whose: Whose = None


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A handler at a path. The model `asks` validates the JSON body of a POST, or the query of a GET or an `upload`."""

    method: Literal["GET", "POST"]
    path: str
    asks: type[BaseModel]
    function: Callable[[Any, Request], Awaitable[Response]]
    summary: str
    status: int = 200
    """The status of a successful response."""
    upload: bool = False
    """True if the body is a file."""

    async def serve(self, request: Request) -> Response:
        """Validate the request and call the handler; status 422 if it is invalid."""
        try:
            body = await self._read(request)
        except ValidationError as error:
            return _no_request(error)
        return await self.function(body, request)

    async def _read(self, request: Request) -> BaseModel:
        if self.method == "GET" or self.upload:
            return self.asks.model_validate(dict(request.query_params))
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
            return self.asks.model_validate("no JSON")  # raises
        return self.asks.model_validate_json(clean_json(await request.body()))


@dataclass(frozen=True, slots=True)
class LeftSession:
    """The session of a tab whose browser has opened another study since, and the name of its cookie."""

    name: str
    live: LoadedSession

    def response(self) -> Response:
        """Status 409, with what the tab says in place of its screen."""
        study, say = self.live.study, catalogue(self.live.language)
        title = study.translate(study.file.title, self.live.language)
        told = {
            "heading": say("Another study was opened in this browser"),
            "note": say(LEFT, title=title),
            **_spoken(say),
        }
        if "." in self.name:  # a trial's, which only its own link continues
            return JSONResponse(told | {"note": f"{told['note']} {say(NOBODY)}"}, status_code=409)
        way = {"link": f"s/{study.name}", "button": say("Continue where I left off")}
        return JSONResponse(told | way, status_code=409)


# Reads the values of an action; raises Refused.
ReadValues = Callable[[LoadedSession], Awaitable[Mapping[str, Any]]]


class ParticipantApi:
    """The routes under /api. The cookie identifies the session. By `own_path` at `address` a person comes back."""

    def __init__(
        self,
        service: SessionService,
        cookies: SessionCookie,
        own_path: Callable[[Person], str] = lambda _: "",
        address: str = "",
    ) -> None:
        self._service, self._own_path, self._address = service, own_path, address
        self._cookies = cookies
        self._pictures = PictureReader()

    def calls(self) -> tuple[Endpoint, ...]:
        """All endpoints; the OpenAPI description (docs/generate.py) is made from them."""
        return (
            Endpoint("POST", "/api/look", GetScreen, self.get_screen, "The present screen"),
            Endpoint("POST", "/api/act", PerformAction, self.act, "Act on the present screen"),
            Endpoint("POST", "/api/picture", AttachPicture, self.attach, "Attach a picture", upload=True),
            Endpoint("POST", "/api/draft", SaveDraft, self.draft, "Keep what is typed"),
            Endpoint("POST", "/api/preview", PreviewMessage, self.preview, "What is typed, as it would be shown"),
            Endpoint("POST", "/api/telemetry", SendTelemetry, self.telemetry, "Telemetry of the page", 204),
            Endpoint("GET", "/api/reply", StreamReply, self.reply, "The reply on its way, as server-sent events"),
        )

    def routes(self) -> list[Route]:
        return [Route(call.path, call.serve, methods=[call.method]) for call in self.calls()]

    async def get_screen(self, screen: GetScreen, request: Request) -> Response:
        """Respond with the current screen."""
        stream = self._cookies.read(request)
        session, typed = await self._service.load_with_draft(stream) if stream else (None, None)
        if session is None:
            return _nobody(request)
        left = await self._left(request, screen.whose, session)
        return left.response() if left else _json(await self._screen_response(request, session, screen, typed=typed))

    async def attach(self, picture: Annotated[AttachPicture, Query()], request: Request) -> Response:
        """As `act`, with a picture that is encoded anew."""

        async def values(session: LoadedSession) -> Mapping[str, Any]:
            return {"picture": await self._pictures.read(session, await request.body())}

        return await self._act(PerformAction(kind="attach", **picture.model_dump()), request, values)

    async def act(self, action: PerformAction, request: Request) -> Response:
        """Respond with the screen after the action; if it is refused, with a note and the current screen."""

        async def values(_: LoadedSession) -> Mapping[str, Any]:
            return action.values

        return await self._act(action, request, values)

    async def _act(self, action: PerformAction, request: Request, values: ReadValues) -> Response:
        session = await self._session_of(request)
        if session is None:
            return _nobody(request)
        if left := await self._left(request, action.whose, session):
            return left.response()
        try:
            if _is_anothers(action.whose, session):
                action = action.model_copy(update={"shown": None})  # all of the page is replaced
                raise Refused("stale", ANOTHERS)
            given = await values(session)
            after = await self._service.participant(
                session.stream, action.kind, action.path, given, seen=action.seen, key=action.key
            )
        except Refused as refused:
            if refused.reason in OUT_OF_TURN:  # values from the request are not logged: they may be anything
                log.info(
                    "session %s: an action was refused (%s) at %s", session.stream, refused.reason, session.screen.path
                )
            session = await self._service.get(session.stream) or session
            return _json(await self._screen_response(request, session, action, refused))
        moved = after.state.seq > session.state.seq and after.screen.path != action.path
        response = await self._screen_response(request, after, action, new=moved)
        if action.follow and _speaks(after.screen):
            query = StreamReply(view=action.view, shown=response.get("shown"))
            return self._events(request, after, query, orjson.dumps(response))
        return _json(response)

    async def draft(self, draft: SaveDraft, request: Request) -> Response:
        """Save the values that belong to the current screen, also of a study that was left for another; respond whether
        all of them were saved."""
        session = await self._session_of(request)
        if session is None:
            return _nobody(request)
        if left := await self._left(request, draft.whose, session):
            session = left.live
        if draft.path != session.screen.path or _is_anothers(draft.whose, session):
            return JSONResponse({"saved": False})
        kept = typed(session.screen, draft.values)
        await self._service.save_draft(session.stream, draft.path, kept)
        return JSONResponse({"saved": all(name in kept for name, value in draft.values.items() if value)})

    async def preview(self, message: PreviewMessage, request: Request) -> Response:
        """Respond with the HTML of a message that is not sent yet, or of a document."""
        session = await self._session_of(request)
        if session is None:
            return _nobody(request)
        html = await asyncio.to_thread(markdown.render_message, message.text, typed=message.typed, **_how(session))
        return JSONResponse({"html": html})

    async def telemetry(self, telemetry: SendTelemetry, request: Request) -> Response:
        """Record telemetry. Records that may not be kept (before consent, of another screen, beyond the limit) are
        dropped without an error."""
        session = await self._session_of(request)
        if session is None:
            return _nobody(request)
        if not _is_anothers(telemetry.whose, session):
            self._service.record_telemetry(session, telemetry.key, telemetry.records)
        return Response(status_code=204)

    async def reply(self, reply: Annotated[StreamReply, Query()], request: Request) -> Response:
        """Respond with events `delta` (text, and the offset after it; 0 if the reply starts over), then `done` (the
        screen)."""
        session = await self._session_of(request)
        if session is None:
            return _nobody(request)
        left = await self._left(request, reply.whose, session)
        return left.response() if left else self._events(request, session, reply)

    def _events(
        self, request: Request, session: LoadedSession, reply: StreamReply, first: bytes | None = None
    ) -> Response:
        words = self._service.follow(session, reply.offset, reply.slot)
        pieces = rendered_reply(words, **_how(session)) if reply.view == "page" else plain_response(words)
        return ReplyStream(pieces, partial(self._last_screen, request, session.stream, reply), first)

    async def _last_screen(self, request: Request, stream: str, reply: StreamReply) -> bytes:
        """The screen after the reply, if requested; this process has the newest state, as the reply ran here."""
        session = await self._service.get(stream) if reply.view else None
        if session is None:
            return b"{}"
        return orjson.dumps(await self._screen_response(request, session, reply))

    async def _session_of(self, request: Request) -> LoadedSession | None:
        stream = self._cookies.read(request)
        return await self._service.get(stream) if stream else None

    async def _left(self, request: Request, whose: str | None, session: LoadedSession) -> LeftSession | None:
        """The session that the tab shows, if this browser has opened another study since."""
        if not _is_anothers(whose, session):
            return None
        found = {session_tag(stream): (name, stream) for name, stream in self._cookies.sessions(request).items()}
        name, stream = found.get(whose or "", ("", ""))
        own = await self._service.get(stream) if stream else None
        return LeftSession(name, own) if own and own.study.name != session.study.name else None

    async def _screen_response(
        self,
        request: Request,
        session: LoadedSession,
        body: RequestBody | StreamReply,
        refused: Refused | None = None,
        *,
        new: bool = False,
        typed: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """A `new` screen was never shown, so it has no draft; otherwise that is `typed`, or read if needed."""
        screen, embedded = session.screen, is_embedded(request)
        say = catalogue(session.language)
        note = say(refused.message) if refused else ""
        faults = {name: say(fault) for name, fault in refused.fields.items()} if refused else {}
        if body.view == "screen":
            answer: dict[str, Any] = {
                "screen": screen_json(screen, session.study.pictures),
                "note": note,
                "faults": faults,
            }
        else:
            follows = screen.ended and goes_on(session.study, session.state)
            person = await self._service.person(stream=session.stream) if follows else None
            link = f"{self._address}{self._own_path(person)}" if person and embedded else ""
            opens = next_opening(session.study, person.history, self._service.now_us()) if person else None
            context = study_context_of(session, embedded=embedded, own_link=link, next_opens=opens)
            sheet = ScreenView(screen, context)
            asks = not new and not screen.ended and sheet.needs_draft(body.shown)
            if asks and typed is None:
                typed = await self._service.draft(session.stream, screen.path)
            draft = typed or {} if asks else {}
            now_us = self._service.now_us()
            painting = partial(sheet.paint, shown=body.shown, draft=draft, note=note, faults=faults, now_us=now_us)
            # Long texts with formulas take a while: rendered in a thread, so that other requests do not wait.
            aside = conversation_chars(screen) > SHORT_TALK
            answer = await asyncio.to_thread(painting) if aside else painting()
            answer["desk_ms"] = round(1000 * self._service.desk_every_s)
        answer["whose"] = session_tag(session.stream)
        return answer | (_for_host(session) if embedded else {})


def _for_host(session: LoadedSession) -> dict[str, Any]:
    """Return the messages of an embedded page to the page around it, and the origins that may get them."""
    study, embed = session.study, session.study.file.embed
    if embed is None:
        return {}
    sent = {"messages": host_messages(study, session.state), "height": height_message(study)}
    return {"host": {"origins": embed.origins, **sent}}


def _how(session: LoadedSession) -> dict[str, Any]:
    """The options for rendering a session's messages."""
    return {"dollars": session.study.file.dollar_maths, "copy": catalogue(session.language)("Copy")}


def _json(content: Mapping[str, Any]) -> Response:
    return Response(orjson.dumps(content), media_type=JSON)


def _no_request(error: ValidationError) -> Response:
    """The errors and their locations, without the values sent, which may have no JSON."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    faults = {".".join(str(part) for part in item["loc"]): item["msg"] for item in found}
    return Response(
        orjson.dumps({"note": "This is not a valid request to this API.", "faults": faults}), 422, media_type=JSON
    )


def _speaks(screen: Screen) -> bool:
    """Return True while the single model of a chat is replying. Several models have a stream each."""
    return screen.panel.chat is not None and "" in screen.panel.chat.slots


@lru_cache(MOST_KNOWN)
def session_tag(stream: str) -> str:
    """An identifier of the session for the page, from which its stream cannot be derived."""
    return blake2s(stream.encode(), digest_size=8).hexdigest()


def _is_anothers(said: str | None, session: LoadedSession) -> bool:
    return said is not None and said != session_tag(session.stream)


def _nobody(request: Request) -> Response:
    """The response to a request without a session: status 401 and a note in the browser's language."""
    say = from_accept_language(request)
    return JSONResponse({"note": say(NOBODY), **_spoken(say)}, status_code=401)


def _spoken(say: Catalogue) -> dict[str, Any]:
    """A language and the page's words in it, for a page that was told no screen."""
    return {"words": page_words(say), "lang": say.tag, "dir": say.direction}


# Fields of blocks that only simulated users inside the server read.
HIDDEN = ("plain", "plain_options")


def screen_json(screen: Screen, pictures: PictureMap) -> dict[str, Any]:
    """A screen for bots: without what participants do not see, and names of pictures, which may tell the answer."""
    plain: dict[str, Any] = orjson.loads(orjson.dumps(asdict(screen), default=_plain))
    for block, plain_block in zip(screen.panel.blocks, plain["panel"]["blocks"], strict=True):
        plain_block["block"] = block.kind
        for hidden in HIDDEN:
            plain_block.pop(hidden, None)
    return {**plain, "panel": _described(plain["panel"], pictures)} if pictures.by_key else plain


def _described(value: Any, pictures: PictureMap) -> Any:
    """JSON with each text as a model reads it."""
    if isinstance(value, str):
        return described(value, pictures)
    if isinstance(value, list):
        return [_described(part, pictures) for part in value]
    return {name: _described(part, pictures) for name, part in value.items()} if isinstance(value, dict) else value


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump()
    raise TypeError(f"{type(value).__name__} has no JSON")


async def plain_response(words: AsyncIterator[tuple[str, int]]) -> AsyncIterator[Mapping[str, Any]]:
    """The pieces as they arrive: `text`, and the `offset` after it; 0 if the reply starts over."""
    async for text, end in words:
        yield {"text": text, "offset": end}


async def rendered_reply(
    words: AsyncIterator[tuple[str, int]], *, dollars: bool, copy: str
) -> AsyncIterator[Mapping[str, Any]]:
    """The pieces of `plain_response`; when blocks are complete, also their `html` and the `rest`. Each block is
    rendered once and never changes afterwards, so the page does not flicker and selections stay."""
    rest, marks = "", 0
    async for text, end in words:
        piece: dict[str, Any] = {"text": text, "offset": end}
        rest = rest + text if end else ""
        if "\n" in text and "\n\n" in rest and marks <= markdown.MOST_MARKS:
            sure, rest = await asyncio.to_thread(markdown.extended, rest, dollars=dollars)
            marks += markdown.markup(sure)
            if sure.strip():
                html = await asyncio.to_thread(markdown.render_message, sure, dollars=dollars, copy=copy)
                piece |= {"html": html, "rest": rest}
        yield piece


class ReplyStream(Response):
    """A stream that does not watch for disconnects, which would cost as much as a request; replies end soon in any
    case. Most messages are `delta` events, so each passes through as little code as possible."""

    media_type = "text/event-stream"

    def __init__(
        self,
        words: AsyncIterator[Mapping[str, Any]],
        after: Callable[[], Awaitable[bytes]],
        screen: bytes | None = None,
    ) -> None:
        super().__init__(headers={"cache-control": "no-store", "x-accel-buffering": "no"})
        del self.headers["content-length"]
        self._words, self._after, self._screen = words, after, screen

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        if self._screen is not None:
            event = b"event: screen\ndata: " + self._screen + b"\n\n"
            await send({"type": "http.response.body", "body": event, "more_body": True})
        async for piece in self._words:
            event = b"event: delta\ndata: " + orjson.dumps(piece) + b"\n\n"
            await send({"type": "http.response.body", "body": event, "more_body": True})
        event = b"event: done\ndata: " + await self._after() + b"\n\n"
        await send({"type": "http.response.body", "body": event})
