"""Validates the events that a browser posts, before Gradio gets them: the event, and the type of each input's value.

Gradio answers invalid events with status 500 and a traceback in the log. Tabs can rely on a text being a text.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import gradio as gr
import orjson
from gradio.components import Component
from pydantic import AfterValidator, BaseModel, ConfigDict, JsonValue, ValidationError
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from app.web.gradio_page import EVENTS
from app.web.participant.api import storable
from app.web.security import replay_body, whole_body
from problems.text import clean_json

MOST_BODY = 1024 * 1024
# The types of a component's values; other components have texts. None is valid for every component.
SHAPES: tuple[tuple[type[Component], tuple[type, ...]], ...] = (
    (gr.Checkbox, (bool,)),
    (gr.Number, (int, float)),
    (gr.Slider, (int, float)),
    (gr.CheckboxGroup, (list,)),
    (gr.Dropdown, (str, list)),
)


class PageEvent(BaseModel):
    """An event as our page sends it; further keys are dropped."""

    model_config = ConfigDict(frozen=True, strict=True)

    fn_index: int
    data: Annotated[list[JsonValue], AfterValidator(storable)]
    trigger_id: Annotated[int, AfterValidator(storable)] | None = None


class EventValidation:
    """Middleware in front of Gradio's page that refuses invalid events."""

    def __init__(self, app: ASGIApp, blocks: gr.Blocks) -> None:
        self._app = app
        self._blocks = blocks

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != EVENTS or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        body = await whole_body(receive, MOST_BODY)
        event = _read(body or b"")
        if event is None or not self._fits(event):
            await JSONResponse({"error": "This page does not know that event. Reload the page."}, 422)(
                scope, receive, send
            )
            return
        validated = event.model_dump() | {"data": [*map(_whole, self._blocks.fns[event.fn_index].inputs, event.data)]}
        await self._app(scope, replay_body(orjson.dumps(validated), receive), send)

    def _fits(self, event: PageEvent) -> bool:
        wired = self._blocks.fns.get(event.fn_index)
        if wired is None or wired.fn is None or len(wired.inputs) != len(event.data):
            return False
        return all(map(_is_value, wired.inputs, event.data))


def _read(body: bytes) -> PageEvent | None:
    try:
        return PageEvent.model_validate_json(clean_json(body))
    except ValidationError:
        return None


def _is_value(component: Any, value: JsonValue) -> bool:
    """The choices of dropdowns are validated by the tabs."""
    if not isinstance(component, gr.Dropdown):
        try:
            component.preprocess(value)
        except (gr.Error, TypeError, ValueError, ArithmeticError):
            return False
    if value is None:
        return True
    if isinstance(value, list) and isinstance(component, gr.Dropdown) and not component.multiselect:
        return False
    kinds = next((kinds for kind, kinds in SHAPES if isinstance(component, kind)), (str,))
    if isinstance(value, bool) and bool not in kinds:
        return False
    return isinstance(value, kinds) and _texts(value if isinstance(value, list) else ())


def _whole(component: Any, value: JsonValue) -> JsonValue:
    """The value, with an empty text in place of None for components with texts, so that tabs need not handle both."""
    texts = isinstance(component, gr.Textbox | gr.HTML)
    picked = isinstance(component, gr.Dropdown) and not component.multiselect
    return "" if value is None and (texts or picked) else value


def _texts(values: Iterable[JsonValue]) -> bool:
    return all(isinstance(one, str) for one in values)
