"""Gradio's page put at `/` of an application: without a queue, made once, with our head and without what it adds.

The participants' page and the console are such pages. Their layout is the same for everybody, so its bytes are made
once (5 ms of CPU each otherwise), with a request of our own: no visitor's headers are in them.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import gradio as gr
import gradio.blocks
from fastapi import FastAPI
from gradio.components import Component
from gradio.state_holder import SessionState, StateHolder
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.types import Message

from app.web.theme import theme

_UNWANTED = re.compile(
    rb'<meta\s+(?:property="og:|name="twitter:)[^>]*>|<link rel="manifest"[^>]*>'
    rb"|<script>\s*\(\(\) => \{(?:(?!</script>)[\s\S])*iframeResizer(?:(?!</script>)[\s\S])*</script>"
)
_WHOLE = (Path(__file__).parent / "static" / "whole.js").read_text(encoding="utf-8")

NOWHERE = ("http", "localhost")
MOST_ADDRESSES = 20
"""Of one server; whoever asks by more makes it forget them."""


class _Unserved:
    """What stands for the application that Gradio makes when a page is begun, and again when it is ended.

    Nobody asks either, and each takes as long as the one that `mount` makes: it has some 80 routes.
    """

    @staticmethod
    def create_app(*_: Any, **__: Any) -> None:
        """Make nothing."""


gradio.blocks.App = _Unserved  # type: ignore[attr-defined,assignment]


class Page(gr.Blocks):
    """Blocks that have no queue and remember nothing.

    No event of ours is ever put into a queue, and polling one costs some percent of a core. Of an open page Gradio
    would keep all that was shown and typed there, and make each component anew that an event updates: 1.5 ms for one.
    """

    def run_startup_events(self) -> None:
        """Start nothing."""
        self.is_running = True

    async def preprocess_data(self, block_fn: Any, inputs: list[Any], state: Any, explicit_call: bool = False) -> Any:
        """What an event's function gets: the values, as their components read them; none of ours takes a file."""
        return [block.preprocess(value) for block, value in zip(block_fn.inputs, inputs, strict=True)]

    async def postprocess_data(self, block_fn: Any, predictions: Any, state: Any) -> list[Any]:
        """What the browser gets of an event's updates by component; it leaves alone what is not among them."""
        return [_sent(block, predictions.get(block, gr.skip())) for block in block_fn.outputs]


class Forgetful(StateHolder):
    """What Gradio keeps of open pages: the same for all, as nothing of one is in it."""

    def __init__(self, blocks: gr.Blocks) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.set_blocks(blocks)
        self._state = SessionState(blocks)

    def __getitem__(self, session_id: str) -> SessionState:
        return self._state


def mount(app: FastAPI, blocks: gr.Blocks, head: str, *, asks: bool = False) -> FastAPI:
    """Put a page at `/` of `app`, with `head` before Gradio's own scripts. Call it after all routes are added.

    With `asks` its events reach Gradio's server, so the page has to name the address by which it was asked for.
    """
    app.router.routes.append(Route("/", _index(app, head, asks=asks), methods=["GET", "HEAD"]))
    gr.mount_gradio_app(
        app,
        blocks,
        path="/",
        theme=theme(),
        run_history=False,
        footer_links=[],
        show_error=False,
        enable_monitoring=False,
        pwa=False,
        ssr_mode=False,
        mcp_server=False,
        max_file_size="1kb",
        app_kwargs={"docs_url": None, "redoc_url": None, "openapi_url": None},
    )
    _gradio(app).state_holder = Forgetful(blocks)
    return app


def _gradio(app: FastAPI) -> Any:
    """Gradio's own application within ours."""
    return next(route for route in reversed(app.router.routes) if isinstance(route, Mount)).app


def _sent(block: Component, told: Any) -> Any:
    """A value, or an update of some properties, as the browser takes it."""
    if not (isinstance(told, dict) and told.get("__type__") == "update"):
        value = block.postprocess(told)  # type: ignore[no-untyped-call]
        return value.model_dump() if isinstance(value, BaseModel) else value
    update = dict(told)
    if "value" in told:
        update["value"] = _sent(block, told["value"])
    if "choices" in told:
        update["choices"] = [(one, one) if isinstance(one, str) else one for one in told["choices"]]
    return update


def _index(app: FastAPI, head: str, *, asks: bool) -> Callable[[Request], Awaitable[Response]]:
    """GET /: Gradio's page, made once, or once for each address by which it is asked for."""
    made: dict[tuple[str, str], bytes] = {}

    async def index(request: Request) -> Response:
        address = (request.url.scheme, request.url.netloc) if asks else NOWHERE
        if address not in made:
            if len(made) >= MOST_ADDRESSES:
                made.clear()
            made[address] = finished(await _gradios_page(app, *address), head)
        return Response(made[address], media_type="text/html", headers={"cache-control": "no-store"})

    return index


async def _gradios_page(app: FastAPI, scheme: str, host: str) -> bytes:
    """What Gradio answers to GET /, asked with a request of our own: no visitor's headers are in it."""
    parts: list[bytes] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        parts.append(message.get("body", b""))

    scope = {
        "type": "http",
        "method": "GET",
        "scheme": scheme,
        "http_version": "1.1",
        "path": "/",
        "raw_path": b"/",
        "root_path": "",
        "query_string": b"",
        "headers": [(b"host", host.encode("latin-1"))],
        "server": ("localhost", 80),
        "client": ("localhost", 1),
        "app": app,
    }
    await _gradio(app)(scope, receive, send)
    return b"".join(parts)


def finished(page: bytes, head: str) -> bytes:
    """Gradio's page with our head before its own scripts, and without its advertisements."""
    first = f"<script>\n{_WHOLE}</script>\n{head}".encode()
    return _UNWANTED.sub(b"", page).replace(b'<script type="module"', first + b'<script type="module"', 1)
