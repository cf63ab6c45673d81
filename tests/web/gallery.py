"""A little server that shows every kind of screen: python -m tests.web.gallery 7900, then /gallery in a browser.

It serves the participants' page and answers what it looks for, with one screen for each browser, in memory; what is
done there is not answered.
"""

import asyncio
import secrets
import sys
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from threading import Thread

import uvicorn
from fastapi import FastAPI, Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from app.web.gradio_page import COMPILES
from app.web.participant.page import routes
from app.web.participant.view import StudyContext, render_page
from app.web.security import HeaderInjector, headers_of
from tests.web.screens import SCREENS

LOOK = StudyContext("Working with a chatbot", "en", "study@example.org")
LONG = StudyContext(
    "How people and two assistants solve word problems together: a study of the Institute for Cognitive Science",
    "en",
    "Dr. Maximiliane Mustermann-Beispiel, Institute for Cognitive Science, m.mustermann-beispiel@university.example",
    pilot=True,
)
# What each browser is shown, by its cookie.
SHOWN: dict[str, str] = defaultdict(lambda: "consent")
app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)


@app.get("/show/{name}")
async def show(name: str, request: Request) -> Response:
    """Choose this browser's screen."""
    key = request.cookies.get("stage") or secrets.token_hex(8)
    SHOWN[key] = name
    response = RedirectResponse("/")
    response.set_cookie("stage", key, httponly=True)
    return response


@app.get("/gallery")
async def gallery() -> Response:
    """Links to all screens."""
    return HTMLResponse("".join(f"<p><a href='/show/{name}'>{name}</a></p>" for name in SCREENS))


@app.post("/api/look")
async def look(request: Request) -> Response:
    """The screen as it is."""
    name = SHOWN[request.cookies.get("stage", "")]
    shown = (await request.json())["shown"]
    return JSONResponse(render_page(SCREENS[name], study=LOOK, shown=shown, draft={}))


@app.get("/api/reply")
async def reply() -> Response:
    """One of which no word comes."""
    return StreamingResponse(_nothing(), media_type="text/event-stream")


async def _nothing() -> AsyncIterator[str]:
    await asyncio.Event().wait()
    yield ""


async def served(scope: Scope, receive: Receive, send: Send) -> None:
    """All of it, with the headers that the real gate sets, so that the gallery fails where it would."""
    if scope["type"] == "http":
        send = HeaderInjector(scope, send, headers_of, COMPILES if scope["path"] == "/" else "")
    await app(scope, receive, send)


app.router.routes += routes()


@contextmanager
def on_stage() -> Iterator[str]:
    """Serve it on a free port, in a thread of its own, until the block ends."""
    config = uvicorn.Config(served, host="127.0.0.1", port=0, log_level="error", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join(60)


if __name__ == "__main__":
    uvicorn.run(served, host="127.0.0.1", port=int(sys.argv[1]) if len(sys.argv) > 1 else 7900, log_level="info")
