"""Gradio's page put at `/` of an application: without a queue, made once, with our head and without what it adds.

The participants' page and the console are such pages. Their layout is the same for everybody, so its bytes are made
once (5 ms of CPU each otherwise), with a request of our own: no visitor's headers are in them.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from copy import copy
from typing import Any

import gradio as gr
from fastapi import FastAPI
from gradio.blocks import Block
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.types import Message

from app.web.theme import theme

_UNWANTED = re.compile(
    rb'<meta\s+(?:property="og:|name="twitter:)[^>]*>|<link rel="manifest"[^>]*>'
    rb"|<script>\s*\(\(\) => \{(?:(?!</script>)[\s\S])*iframeResizer(?:(?!</script>)[\s\S])*</script>"
)


NOWHERE = ("http", "localhost")
MOST_ADDRESSES = 20
"""Of one server; whoever asks by more makes it forget them."""


class Page(gr.Blocks):
    """Blocks without a queue: no event of ours is ever put into it, and polling it costs some percent of a core."""

    def run_startup_events(self) -> None:
        """Start nothing."""
        self.is_running = True

    async def postprocess_data(self, block_fn: Any, predictions: Any, state: Any) -> list[Any]:
        """As ever, but what an event does not update is left alone: Gradio would make each such component anew, which
        takes a millisecond and a half, and a page that loads updates one room of many."""
        if not isinstance(predictions, dict) or not all(isinstance(one, Block) for one in predictions):
            return await super().postprocess_data(block_fn, predictions, state)
        few = copy(block_fn)
        few.outputs = [one for one in block_fn.outputs if one in predictions]
        done = dict(zip(few.outputs, await super().postprocess_data(few, predictions, state), strict=True))
        return [done.get(one, gr.skip()) for one in block_fn.outputs]


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
    return app


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
    gradio = next(route for route in reversed(app.router.routes) if isinstance(route, Mount))
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
    await gradio.app(scope, receive, send)
    return b"".join(parts)


def finished(page: bytes, head: str) -> bytes:
    """Gradio's page with our head before its own scripts, and without its advertisements."""
    return _UNWANTED.sub(b"", page).replace(b'<script type="module"', head.encode() + b'<script type="module"', 1)
