"""Gradio's page at `/` of an application, and everything undocumented in Gradio that Parley relies on.

The page is mounted by Gradio's public `mount_gradio_app`. What Parley relies on beyond Gradio's documentation is listed
here and nowhere else: the addresses that the page requests, the start of its HTML, and the selectors of its components
in the browser. Its tests check each of these with the installed Gradio, so a release that changes one fails there.

The application is meant to be mounted in another one. Starlette runs no lifespan of a mounted application, and the
security middleware refuses `/gradio_api/startup-events`, so Gradio's queue is never started: no event of ours uses it,
and it would poll a thousand times a second.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import gradio as gr
from cachetools import LRUCache
from fastapi import FastAPI
from gradio.blocks import BlocksConfig
from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.web.theme import theme

# The paths that Gradio's page requests by GET, as a regular expression; no others are passed on to Gradio.
ASKED = r"/(assets|static)/[\w./-]+|/theme\.css|/favicon\.ico"
# The path to which an event without the queue is posted, as a JSON object with `fn_index` and `data`.
EVENTS = "/gradio_api/run/predict"
# What the page asks every two seconds once a request got no answer; as soon as it is answered, the page loads itself
# again.
RECONNECTS = "/gradio_api/app_id"
# An addition to the content-security policy of this page only: Gradio compiles strings there (SECURITY.md).
COMPILES = " 'unsafe-eval'"
HEAD = b"<head>"
# The start of each script tag of the page; the security middleware adds the nonce after it.
SCRIPT = b"<script"
# Selectors that our styles and scripts use on both pages, each with what depends on it.
BOTH: Mapping[str, str] = {
    ".gradio-container .main": "is as wide as the window",
    ".gradio-container .block": "has no frame; shows what overflows it by a style of its own, so ours is !important; "
    "the page sets its direction of writing",
    ".gradio-container .html-container": "has no padding",
    ".gradio-container .prose": "has our size of letters",
    ".gradio-container .toast-wrap": "is hidden: so are errors",
    ".gradio-container [data-testid=status-tracker]": "is hidden: what is under way is said in our own words",
}
# Selectors that must match on the participants' page during a conversation.
PARTICIPANTS: Mapping[str, str] = {
    "#box textarea": "where a message is typed; its height is set to that of the text, and what is beyond it is hidden",
    "button#send": "what sends it",
}
# Selectors that must match in the tabs of the console.
CONSOLE: Mapping[str, str] = {
    ".gradio-container .row > .column": "parts that stand beside each other",
    ".gradio-container .column > button.lg": "buttons are as wide as their words",
    ".gradio-container button.sm": "so are small ones",
    ".gradio-container button.primary": "the button that is meant",
    ".gradio-container button.stop": "the button that ends something",
    ".gradio-container .form > .block": "fields stand in a row",
    ".gradio-container .secondary-wrap input": "what is chosen in a list",
    ".gradio-container .wrap > .wrap-inner": "the frame of a list",
    ".gradio-container .input-container > input": "the frame of a field",
    "fieldset.block [data-testid=block-info]": "what is asked, as the name of its options",
    "[data-testid=textbox]": "tells the server of keys, and so not of what is pasted, cut, deleted or dictated",
    ".gradio-container .min_value": "the ends of a slider",
    ".gradio-container .max_value": "the ends of a slider",
    "#people-account .wrap": "a frame around a choice",
    ".gradio-container .block.gr-accordion": "a part that is shut scrolls by a style of its own, so ours is !important",
    ".layout.altair[data-testid=altair] > .vega-embed": "a chart is as wide as its place",
    ".vega-embed summary": "a chart's menu, with a name",
}
# For how many hosts the page is cached. The number is limited, because a client can send any Host header.
MOST_MADE = 20
# What the participants' page asks Gradio for after its HTML was read, which would otherwise be four waves of requests;
# of one release, as the names have a hash. `python -m tests.browser.preloaded` writes it.
_PRELOADED = json.loads((Path(__file__).parent / "gradio_preloaded.json").read_text(encoding="utf-8"))
_WHOLE = (Path(__file__).parent / "static" / "whole.js").read_text(encoding="utf-8")


def gradio_page(blocks: gr.Blocks, head: str, sub_path: str = "") -> FastAPI:
    """An application with the page at `/`, for browsers below `sub_path`; `head` comes before Gradio's own."""
    app = FastAPI(middleware=[Middleware(_Shell, head=head.encode())], docs_url=None, redoc_url=None, openapi_url=None)
    blocks.default_config = _Undescribed(blocks)
    gr.mount_gradio_app(
        app,
        blocks,
        path="/",
        root_path=sub_path or None,
        theme=theme(),
        run_history=False,
        footer_links=[],
        show_error=False,
        enable_monitoring=False,
        pwa=False,
        ssr_mode=False,
        mcp_server=False,
        max_file_size="1kb",
    )
    return app


def whole() -> str:
    """The inline script that reloads a page of which a part could not be loaded; it must come before all parts."""
    return f"<script>\n{_WHOLE}</script>"


def preloads() -> str:
    """The tags that begin to load at once what Gradio's page asks for step by step."""
    if gr.__version__ != _PRELOADED["gradio"]:
        return ""
    return "".join(f'<link {_kind(urlsplit(path).path)} href="{path}">' for path in _PRELOADED["paths"])


def _kind(path: str) -> str:
    """Return the attributes of a preloaded file: as Gradio's scripts ask for it, or it is asked for twice."""
    if path.endswith(".js"):
        return 'rel="modulepreload"'
    anonymous = " crossorigin" if "assets/" in path else ""
    return f'rel="preload" as="style"{anonymous} fetchpriority="low"'


class _Undescribed(BlocksConfig):
    """Gradio describes every component at each event, for links that we do not have: nine tenths of its time."""

    def __init__(self, blocks: gr.Blocks) -> None:
        super().__init__(blocks)
        vars(self).update(vars(blocks.default_config))

    def __copy__(self) -> BlocksConfig:
        new: BlocksConfig = super().__copy__()  # type: ignore[no-untyped-call]
        vars(new)["config_for_block"] = lambda *_: {}
        return new


class _Shell:
    """Requests the page from Gradio and inserts our head. Of the client's request Gradio gets the host only: a query
    could name a page that does not exist, and no nonce could be inserted into a compressed page. So it is rendered once
    per host, in 5 ms. (Gradio's own `head` is added after its scripts have run: too late for styles, and for the check
    that they load.)"""

    def __init__(self, app: ASGIApp, head: bytes) -> None:
        self._app, self._head = app, head
        self._made: LRUCache[Any, tuple[Message, bytes]] = LRUCache(MOST_MADE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != "/":
            await self._app(scope, receive, send)
            return
        host = [(name, value) for name, value in scope["headers"] if name == b"host"]
        origin = scope["method"], scope["scheme"], *host
        if origin not in self._made:
            self._made[origin] = await self._make({**scope, "headers": host, "query_string": b""}, receive)
        start, page = self._made[origin]
        await send({**start, "headers": list(start["headers"])})  # a copy, as middleware changes the headers
        await send({"type": "http.response.body", "body": page})

    async def _make(self, scope: Scope, receive: Receive) -> tuple[Message, bytes]:
        parts: list[Message] = []

        async def gather(message: Message) -> None:
            parts.append(message)

        await self._app(scope, receive, gather)
        start, *bodies = parts
        page = b"".join(part.get("body", b"") for part in bodies).replace(HEAD, HEAD + self._head, 1)
        MutableHeaders(raw=start["headers"])["content-length"] = str(len(page))
        return start, page
