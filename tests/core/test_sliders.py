"""A slider: what it accepts, and that it has no answer before somebody gave one."""

from __future__ import annotations

from typing import Any

import pytest

from app.web.participant.view import StudyContext, render_page
from experiments.study.fields import Invalid, Slider
from experiments.study.screen import Panel, ProgressView, Screen

WARMTH = Slider(name="warmth", text="How warm?", minimum=-10, maximum=20, step=5, left="Cold", right="Hot")


def painted(draft: dict[str, Any]) -> str:
    screen = Screen("step", 1, Panel("", (), (WARMTH,)), ProgressView("", 0.5), ("submit",))
    return str(render_page(screen, study=StudyContext("A study"), shown=None, draft=draft).updates["left"]["value"])


@pytest.mark.parametrize(("given", "kept"), [("-10", -10), ("0", 0), (20, 20), (" 5 ", 5)])
def test_a_place_on_the_line_is_a_whole_number(given: Any, kept: int) -> None:
    assert WARMTH.read(given) == kept


@pytest.mark.parametrize("given", ["21", "-15", "7", "5.0", "1e1", "²", "--5", "half", True, ["5"], {"a": 1}])
def test_anything_else_is_refused(given: Any) -> None:
    with pytest.raises(Invalid, match="position on the scale"):
        WARMTH.read(given)


@pytest.mark.parametrize("given", [None, "", "  "])
def test_no_answer_is_none_and_never_the_middle(given: Any) -> None:
    with pytest.raises(Invalid, match="answer this question"):
        WARMTH.read(given)
    assert WARMTH.model_copy(update={"required": False}).read(given) is None


def test_it_is_painted_untouched_and_with_what_was_typed_before() -> None:
    new, old = painted({}), painted({"warmth": "15"})
    assert 'data-control="slider" data-required' in new
    assert 'name="warmth" value=""' in new
    assert new.count("data-untouched") == 1
    assert 'name="warmth" value="15"' in old
    assert "data-untouched" not in old
    assert 'max="20" step="5" value="15"' in old
