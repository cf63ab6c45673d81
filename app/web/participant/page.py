"""The participants' page: a few stock Gradio components, built empty, and the script that fills them.

The layout contains nothing of a study, so the page is identical for everyone and cannot leak anything. Its only event
is `bus.change`, which runs in the browser: page.js collects updates and triggers the bus, and Gradio then fetches the
updates of all components from page.js. No event reaches Gradio's server.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from html import escape

import gradio as gr
from starlette.middleware import Middleware
from starlette.routing import BaseRoute, Mount
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from app.i18n.catalogues import catalogues
from app.web import bundle
from app.web.gradio_page import gradio_page, preloads, whole

# The components that Gradio updates, in the order in which page.js passes their updates. Conversations are not among
# them: page.js itself adds only what is new, so that text selected there stays selected.
OUTPUTS = ("head", "left", "side", "box", "send", "preview", "note")

STYLES = ("page", "text", "compare", "slider", "sheet", "document", "embed")
# The script that runs when Gradio has created the bus: it gives page.js a function to trigger it.
RING = """
window.parleyBus = (n) => { props.value = String(n); trigger("change"); };
window.parley?.begin();
"""


def build() -> gr.Blocks:
    blocks: gr.Blocks
    with gr.Blocks(title="Study", analytics_enabled=False, fill_width=True) as blocks:
        made: dict[str, gr.components.Component] = {"head": _html("head")}
        with gr.Row(elem_id="columns"):
            with gr.Column(elem_id="left-column"):
                made["left"] = _html("left")
            with gr.Column(elem_id="right-column"):
                made |= _conversation()
        made["note"] = _html("note")
        bus = gr.HTML("", js_on_load=RING, visible="hidden")
        bus.change(
            fn=None,
            js="() => window.parley.updates()",
            outputs=[made[name] for name in OUTPUTS],
            api_visibility="private",
        )
    return blocks


def _html(name: str, value: str = "") -> gr.HTML:
    return gr.HTML(value, elem_id=name, padding=False, apply_default_css=False, js_on_load=None)


def _conversation() -> dict[str, gr.components.Component]:
    for name in ("talk", "chat"):
        _html(name, '<div class="conversation"></div>')
    side = _html("side")
    with gr.Row(elem_id="say"):
        box = gr.Textbox(
            elem_id="box",
            label="Your message",
            placeholder="Write a message",
            lines=1,
            max_lines=8,
            scale=1,
            container=False,
            interactive=True,
        )
        send = gr.Button("Send", elem_id="send", variant="primary", scale=0, min_width=80)
    return {"side": side, "box": box, "send": send, "preview": _html("preview")}


def routes(sub_path: str = "", middleware: Sequence[Middleware] = ()) -> list[BaseRoute]:
    """The page at `/`, below `sub_path` in browsers, and its files under `/parley/`. They match all: put them last."""
    return [
        bundle.route("/parley/page.js", bundle.script("page"), "text/javascript"),
        bundle.route("/parley/page.css", bundle.styles(STYLES), "text/css"),
        Mount("/parley", StaticFiles(directory=bundle.STATIC)),
        Mount("/", _made(sub_path), middleware=middleware),
    ]


@cache
def _made(sub_path: str) -> ASGIApp:
    """The page as a separate application, created once per process."""
    return gradio_page(build(), head(), sub_path)


def head() -> str:
    """The HTML that loads our styles and scripts, and begins to load what Gradio's page will ask for."""
    return f"""<meta name="robots" content="noindex">{_loading()}{whole()}<link rel="stylesheet" href="parley/page.css">
<script type="module" src="parley/page.js" data-outputs="{" ".join(OUTPUTS)}"></script>{preloads()}"""


def _loading() -> str:
    """Return the texts shown before the session's language is known, in each language, for whole.js."""
    texts = {
        tag: {
            "loading": say("Loading…"),
            "waits": say("Waiting for the connection. The page opens by itself."),
            "dir": say.direction,
        }
        for tag, say in catalogues().items()
    }
    return f'<meta name="loading" content="{escape(json.dumps(texts, ensure_ascii=False))}">'
