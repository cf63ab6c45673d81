"""A question without an answer, of every kind: it is painted empty, kept as nothing, and told where it is required."""

from __future__ import annotations

import re
from typing import Any

import pytest
from pydantic import TypeAdapter

from app.web.participant.view import StudyContext, render_page
from experiments.study.fields import AnyField, Field, Slider, read_form
from experiments.study.screen import Panel, ProgressView, Screen

ADAPTER: TypeAdapter[Field] = TypeAdapter(AnyField)
ASKED: tuple[dict[str, Any], ...] = (
    {"type": "single_choice", "name": "one", "options": ["First", "Second"]},
    {"type": "multiple_choice", "name": "some", "options": ["First", "Second"]},
    {"type": "scale", "name": "step", "scale": "helpfulness"},
    {"type": "number", "name": "age", "minimum": 0, "maximum": 99},
    {"type": "slider", "name": "place", "minimum": -50, "maximum": 50},
    {"type": "short_text", "name": "word"},
    {"type": "long_text", "name": "text"},
    {"type": "checkbox", "name": "box"},
)
NAMES = [one["name"] for one in ASKED]
EMPTY: dict[str, Any] = {"missing": {}} | {
    repr(nothing): dict.fromkeys(NAMES, nothing) for nothing in (None, "", " ", [])
}
OPTIONAL = [ADAPTER.validate_python(one | {"required": False}) for one in ASKED]
REQUIRED = [ADAPTER.validate_python(one) for one in ASKED]


@pytest.mark.parametrize("given", EMPTY)
def test_no_answer_is_kept_as_none(given: str) -> None:
    assert read_form(OPTIONAL, EMPTY[given]) == (dict.fromkeys(NAMES), {})


@pytest.mark.parametrize("given", EMPTY)
def test_where_one_is_required_each_question_is_told_and_nothing_is_kept(given: str) -> None:
    values, faults = read_form(REQUIRED, EMPTY[given])
    assert (list(faults), values) == (NAMES, {})


@pytest.mark.parametrize("fields", [OPTIONAL, REQUIRED], ids=["optional", "required"])
def test_nothing_stands_in_a_form_before_somebody_has_put_it_there(fields: list[Field]) -> None:
    screen = Screen("step", 1, Panel("", (), tuple(fields)), ProgressView("", 0.5), ("submit",))
    form = str(render_page(screen, study=StudyContext("A study"), shown=None, draft={})["updates"]["left"]["value"])
    controls = re.findall(r"<(?:input|textarea)\b[^>]*>", form)
    assert {found for one in controls for found in re.findall(r'name="(\w+)"', one)} == set(NAMES)
    assert [one for one in controls if re.search(r"\s(checked|selected)\b", one)] == []
    written = [one for one in controls if not re.search(r'type="(radio|checkbox|range)"', one)]
    assert [one for one in written if re.search(r'\bvalue="[^"]', one)] == []
    # HTML takes no first line feed of a textarea for text
    assert re.findall(r"<textarea[^>]*>\n?([^<]*)</textarea>", form) == [""]
    assert form.count("(optional)") == (len(fields) if fields is OPTIONAL else 0)


WARMTH = Slider(name="warmth", text="How warm?", minimum=-10, maximum=20, step=5)


def test_a_slider_is_painted_untouched_or_with_what_was_typed_before() -> None:
    screen = Screen("step", 1, Panel("", (), (WARMTH,)), ProgressView("", 0.5), ("submit",))
    look = StudyContext("A study")
    new, old = (str(render_page(screen, study=look, shown=None, draft=typed)["updates"]["left"]["value"])
                for typed in ({}, {"warmth": "15"}))  # fmt: skip
    assert ('name="warmth" value=""' in new, new.count("data-untouched")) == (True, 1)
    assert ('name="warmth" value="15"' in old, old.count("data-untouched")) == (True, 0)
