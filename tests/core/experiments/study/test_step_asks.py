"""What a step says that it asks is what people are asked: its names and its wording, without a session at hand."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest

from experiments.session.state import current_location
from experiments.study.fields import Field
from experiments.study.location import Location
from experiments.study.step import Step
from tests.fakes.sessions import NAMES, play, study


def asked_here(location: Location) -> tuple[Field, ...]:
    assert isinstance(location.node, Step)
    chat = location.node.panel(location).chat
    return (*location.node.fields(location), *(chat.rating if chat else ()))


def asked(step: Step) -> Mapping[str, Field]:
    return {field.name: field for field in step.questions_asked()}


def of(name: str, among: Mapping[str, Field]) -> Field:
    """The question that a field of the screen puts; `labels_3` is `labels` for the fourth message."""
    return among[name] if name in among else among[re.sub(r"_(\d+|[a-d])$", "", name)]


@pytest.mark.parametrize("name", NAMES)
def test_people_are_asked_what_the_step_says_that_it_asks(name: str) -> None:
    for state, _ in play(study(name), "1"):
        place = current_location(study(name), state)
        if place is None or not isinstance(place.node, Step):
            continue
        for shown in asked_here(place):
            written = of(shown.name, asked(place.node))
            assert written.required == shown.required
            read = written.filled(place.fill)
            assert options(shown) == options(read) or has_options_of_its_own(place.node) or lettered(shown, read)
            if place.node.step != "compare" and not has_options_of_its_own(place.node):
                assert (shown.text, shown.help) == (place.fill(written.text), place.fill(written.help))


def options(field: Field) -> Any:
    return getattr(field, "options", None)


def has_options_of_its_own(step: Step) -> bool:
    return step.step in ("answer", "chat", "rank") or bool(getattr(step, "ask_problem", False))


def lettered(shown: Field, written: Field) -> bool:
    """Whether the options are the same in an order of the participant's own, by letters that tell nothing."""
    letters = list("abcdefgh"[: len(options(written))])
    return list(options(shown)) == letters and set(options(shown).values()) == set(options(written).values())
