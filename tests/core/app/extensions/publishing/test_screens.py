"""The screens of which pictures are taken: every step of each arm, and the ends that a participant can come to."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from app.bots.preview_session import offline
from app.extensions.publishing.screens import Arm, walk_every_arm
from app.studies.loader import load_study
from experiments.study.resolve import resolve
from experiments.study.study import Study
from tests.fakes import waves


def study_of(*flow: dict[str, Any], **keys: Any) -> Study:
    return resolve({"study": "small", "title": "Small", "flow": [*flow, {"step": "finish"}], **keys}, {}, {})


def consent(text: str) -> dict[str, Any]:
    return {"step": "consent", "text": text, "checkbox": "Yes."}


def walked(study: Study, language: str = "en") -> tuple[Arm, ...]:
    return asyncio.run(walk_every_arm(offline(study), language))


def test_every_step_of_every_wave_is_met() -> None:
    study = waves.study()
    for arm in walked(study):
        assert (arm.not_met, {seen.path for seen in arm.screens}) == ((), {path for path, _ in study.steps})


@pytest.mark.parametrize("name", ["demo", "uplift"])
def test_every_step_of_every_arm_is_met(name: str) -> None:
    study = load_study(name)
    found = walked(study)
    assert len(found) == 2
    assert [arm.not_met for arm in found] == [(), ()]
    assert {path for path, _ in study.steps} == {seen.path for arm in found for seen in arm.screens}
    titles = [seen.title for arm in found for seen in arm.screens]
    assert titles.count("The end: complete") == titles.count("The end: no consent") == 2
    assert any(title.endswith("in a conversation") for title in titles)
    names = [seen.name for arm in found for seen in arm.screens]
    assert len({*names}) == len(names)


def test_what_nobody_came_to_is_named() -> None:
    asked = {"type": "number", "name": "age", "text": "Age?", "minimum": 18, "maximum": 100_000}
    rare = {"step": "info", "text": "So old!", "when": {"survey.age": 77}}
    (arm,) = walked(study_of(consent("Yes?"), {"step": "survey", "questions": [asked]}, rare))
    assert arm.not_met == ("info",)


def test_what_comes_after_a_failed_check_is_shown() -> None:
    check = {
        "step": "check",
        "kind": "screening",
        "questions": [{"type": "single_choice", "name": "x", "text": "?", "options": list("abcdefghij")}],
        "correct_answers": {"x": "a"},
    }
    (arm,) = walked(study_of(consent("Yes?"), check))
    assert {"The end: screened out", "The end: complete"} <= {seen.title for seen in arm.screens}
