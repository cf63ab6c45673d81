"""Gradio's page at `/` of an application, and all that Parley takes for granted of what Gradio makes.

The page is mounted by Gradio's public `mount_gradio_app`. What is not in Gradio's documentation and Parley still rests
on is written down here and nowhere else: which addresses the page asks for, how its HTML begins, and by what its
components are found in the browser. `tests/browser/test_gradio_page.py` and `test_console.py` look at each of these
with the Gradio that is installed, so a release that changes one fails there, by its name.

The application that this gives is to be mounted in another one. Starlette runs no lifespan of what is mounted, and the
gates refuse `/gradio_api/startup-events`, so Gradio's queue is never started: no event of ours goes through it, and it
would look for work a thousand times a second.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gradio as gr
from cachetools import LRUCache
from fastapi import FastAPI
from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.web.theme import theme

ASKED = r"/(assets|static)/[\w./-]+|/theme\.css|/favicon\.ico"
"""What Gradio's page asks for by GET, as a regular expression; the gates let nothing else through to Gradio."""
EVENTS = "/gradio_api/run/predict"
"""Where an event that goes through no queue is posted: a JSON object with `fn_index` and `data`."""
COMPILES = " 'unsafe-eval'"
"""What the policy of this page allows and no other page's does: Gradio compiles strings there (SECURITY.md)."""
HEAD = b"<head>"
"""How the head of the page begins. It is there once."""
SCRIPT = b"<script"
"""How each script of the page begins; the gates put the nonce behind it."""
BOTH: Mapping[str, str] = {
    ".gradio-container .main": "is as wide as the window",
    ".gradio-container .block": "has no frame; it is told the direction of writing",
    ".gradio-container .html-container": "has no padding",
    ".gradio-container .prose": "has our size of letters",
    ".gradio-container .toast-wrap": "is hidden: so are errors",
    ".gradio-container [data-testid=status-tracker]": "is hidden: what is under way is said in our own words",
}
"""What our styles and scripts look for on both pages, and what rests on it."""
PARTICIPANTS: Mapping[str, str] = {
    "#box textarea": "where a message is typed",
    "button#send": "what sends it",
}
"""What must be on the participants' page while there is a conversation."""
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
    ".gradio-container .min_value": "the ends of a slider",
    ".gradio-container .max_value": "the ends of a slider",
    "#people-account .wrap": "a frame around a choice",
    ".block .cm-editor .cm-scroller .cm-content": "the editor's text, with its name",
    ".block:has(.cm-editor) [data-testid=block-label]": "the editor's name",
    ".cm-gutters .cm-gutterElement": "the numbers of its lines",
    ".layout.altair[data-testid=altair] > .vega-embed": "a chart is as wide as its place",
    ".vega-embed summary": "a chart's menu, with a name",
}
"""What must be in the tabs of the console."""
MOST_MADE = 20
"""Of so many hosts the page is remembered: anybody may name any."""
_WHOLE = (Path(__file__).parent / "static" / "whole.js").read_text(encoding="utf-8")


def gradio_page(blocks: gr.Blocks, head: str) -> FastAPI:
    """An application with the page at `/`, its `head` before all that Gradio puts there."""
    app = FastAPI(middleware=[Middleware(_Shell, head=head.encode())], docs_url=None, redoc_url=None, openapi_url=None)
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
    )
    return app


def whole() -> str:
    """The script that loads a page again which lost one of its parts: before all of them, and fetched with none."""
    return f"<script>\n{_WHOLE}</script>"


class _Shell:
    """Asks Gradio for its page, and puts our head into it.

    Gradio hears by which host it was asked and nothing else that a visitor says: a query of its own could name a page
    that is not there, and a compressed page could have no nonce. So the page is made once for each host, in 5 ms.
    (Gradio's own `head` is added in the browser once its scripts have run: too late for the script that watches whether
    they arrive, and for the styles.)
    """

    def __init__(self, app: ASGIApp, head: bytes) -> None:
        self._app, self._head = app, head
        self._made: LRUCache[Any, tuple[Message, bytes]] = LRUCache(MOST_MADE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer it, or pass it on."""
        if scope["type"] != "http" or scope["path"] != "/":
            await self._app(scope, receive, send)
            return
        host = [(name, value) for name, value in scope["headers"] if name == b"host"]
        asked = scope["method"], scope["scheme"], *host
        if asked not in self._made:
            self._made[asked] = await self._make({**scope, "headers": host, "query_string": b""}, receive)
        start, page = self._made[asked]
        await send({**start, "headers": list(start["headers"])})  # who passes it on changes them
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
