"""A little server that shows every kind of screen: python -m tests.web.gallery 7900, then /show/<name> in a browser.

It speaks the participant API with one stage for each browser, in memory; what is said is answered word by word. With
/trouble/<kind> the next requests fail (500, 401, drop), as a browser test wants it.
"""

import asyncio
import json
import secrets
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from threading import Thread

import uvicorn
from fastapi import FastAPI, Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from app.web.gate import PRIVATE, Answer
from app.web.gradio_page import COMPILES
from app.web.page import routes
from app.web.paint import StudyLook, paint
from experiments.core.fields import read_form
from experiments.core.screen import Message as Said
from experiments.core.screen import Screen
from tests.web.screens import REPLY, SCREENS

LOOK = StudyLook("Working with a chatbot", "en", "study@example.org")


@dataclass
class Stage:
    """What one browser is shown, and what it has sent."""

    screen: Screen = SCREENS["consent"]
    drafts: dict[str, dict[str, object]] = field(default_factory=dict)
    keys: set[str] = field(default_factory=set)
    acts: list[dict[str, object]] = field(default_factory=list)
    trouble: list[str] = field(default_factory=list)
    delay_s: float = 0.03


STAGES: dict[str, Stage] = {}
app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)


def stage_of(request: Request) -> Stage:
    """The stage of this browser."""
    return STAGES.setdefault(request.cookies.get("stage", ""), Stage())


def painting(stage: Stage, shown: str | None, **more: object) -> Response:
    """The answer to look and act."""
    draft = stage.drafts.get(stage.screen.path, {})
    return JSONResponse(paint(stage.screen, study=LOOK, shown=shown, draft=draft, **more).as_json())  # type: ignore[arg-type]


def troubled(stage: Stage) -> Response | None:
    """A failure that was asked for."""
    return Response(status_code=int(stage.trouble.pop(0))) if stage.trouble else None


@app.get("/show/{name}")
async def show(name: str, request: Request) -> Response:
    """Put a screen on the stage."""
    key = request.cookies.get("stage") or secrets.token_hex(8)
    STAGES[key] = Stage(SCREENS[name])
    response = RedirectResponse("/")
    response.set_cookie("stage", key, httponly=True)
    return response


@app.get("/trouble/{codes}")
async def trouble(codes: str, request: Request) -> Response:
    """Let the next requests fail with these codes, separated by commas."""
    stage_of(request).trouble = [code for code in codes.split(",") if code != "none"]
    return Response("ok")


@app.get("/sent")
async def sent(request: Request) -> Response:
    """What this browser has sent."""
    stage = stage_of(request)
    return JSONResponse({"acts": stage.acts, "drafts": stage.drafts})


@app.get("/gallery")
async def gallery() -> Response:
    """Links to all screens."""
    return HTMLResponse("".join(f"<p><a href='/show/{name}'>{name}</a></p>" for name in SCREENS))


@app.post("/api/look")
async def look(request: Request) -> Response:
    """The screen as it is."""
    stage = stage_of(request)
    return troubled(stage) or painting(stage, (await request.json())["shown"])


@app.post("/api/draft")
async def keep(request: Request) -> Response:
    """Keep what is half done."""
    body = await request.json()
    stage_of(request).drafts[body["path"]] = body["values"]
    return JSONResponse({})


@app.post("/api/act")
async def act(request: Request) -> Response:
    """Do it, or say why not."""
    stage, body = stage_of(request), await request.json()
    failed = troubled(stage)
    if failed or body["key"] in stage.keys:
        return failed or painting(stage, body["shown"])
    panel = stage.screen.panel
    asked = panel.chat.rating if body["kind"] in ("rate", "vote") and panel.chat else panel.fields
    faults = {} if body["kind"] in ("say", "retry", "decline") else read_form(asked, body["values"]).faults
    if faults:
        return painting(stage, body["shown"], note="Please look at the answers marked below.", faults=faults)
    stage.keys.add(body["key"])
    stage.acts.append(body)
    stage.screen = after(stage.screen, body["kind"], body["values"])
    return painting(stage, body["shown"])


def after(screen: Screen, kind: str, values: dict[str, str]) -> Screen:
    """The screen after an act: the next of the gallery, or the same conversation one step on."""
    chat = screen.panel.chat
    if kind == "submit" or chat is None or chat.columns:
        names = list(SCREENS)
        now = next(n for n, s in SCREENS.items() if s.panel.title == screen.panel.title and s.path == screen.path)
        return SCREENS[names[(names.index(now) + 1) % len(names)]]
    said = (*chat.messages, Said("You", values["text"])) if kind == "say" else chat.messages
    chat = replace(chat, messages=said, rating=(), failed="", waiting=kind != "rate", minimum=0)
    chat = replace(chat, remaining=chat.remaining - (kind == "say"))
    return _with(screen, chat, () if chat.waiting else ("say", "submit"))


def _with(screen: Screen, chat: object, actions: tuple[str, ...]) -> Screen:
    return replace(screen, seen=screen.seen + 1, actions=actions, panel=replace(screen.panel, chat=chat))  # type: ignore[arg-type]


@app.get("/api/reply")
async def reply(request: Request, offset: int = 0) -> Response:
    """The reply on its way, from an offset."""
    stage = stage_of(request)
    return troubled(stage) or StreamingResponse(_words(stage, offset), media_type="text/event-stream")


async def _words(stage: Stage, offset: int) -> AsyncIterator[str]:
    await asyncio.sleep(10 * stage.delay_s)
    while offset < len(REPLY):
        piece = REPLY[offset : offset + 5]
        offset += len(piece)
        yield f"event: delta\ndata: {json.dumps({'text': piece, 'offset': offset})}\n\n"
        await asyncio.sleep(stage.delay_s)
        if stage.trouble and stage.trouble[0] == "drop" and offset > 60:
            stage.trouble.pop(0)
            return
    chat = stage.screen.panel.chat
    if chat and chat.waiting:
        done = replace(chat, messages=(*chat.messages, Said("Bot", REPLY)), waiting=False)
        stage.screen = _with(stage.screen, done, ("say", "submit"))
    yield "event: done\ndata: {}\n\n"


async def served(scope: Scope, receive: Receive, send: Send) -> None:
    """All of it, with the headers that the real gate sets, so that the gallery fails where it would."""
    if scope["type"] == "http":
        send = Answer(scope, send, lambda path, status: PRIVATE, COMPILES if scope["path"] == "/" else "")
    await app(scope, receive, send)


app.router.routes += routes()


@contextmanager
def on_stage() -> Iterator[str]:
    """Serve it on a free port, in a thread of its own, until the block ends."""
    server = uvicorn.Server(uvicorn.Config(served, host="127.0.0.1", port=0, log_level="error"))
    thread = Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join(20)


if __name__ == "__main__":
    uvicorn.run(served, host="127.0.0.1", port=int(sys.argv[1]) if len(sys.argv) > 1 else 7900, log_level="info")
