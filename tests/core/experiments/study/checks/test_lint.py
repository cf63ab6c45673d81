"""What `parley check` finds worth a look: each rule of Prolific's, met and not met."""

from __future__ import annotations

from typing import Any

import pytest

from experiments.study.checks.lint import advice
from experiments.study.resolve import resolve
from experiments.study.study import Study
from problems.problem import Problem
from tests.fakes import waves

CONSENT = {"step": "consent", "text": "Please agree.", "decline": ""}
ASKED = {
    "questions": [{"type": "single_choice", "name": "a", "text": "A?", "options": ["x", "y"]}],
    "correct_answers": {"a": "x"},
}
UNDERSTOOD = {"step": "check", "id": "understood", "kind": "comprehension", "policy": "record", **ASKED}
ATTENDED = {"step": "check", "id": "attended", "kind": "attention", "policy": "screen_out", **ASKED}
FINISH = {"step": "finish", "code": "DONE"}
INFO = {"step": "info", "text": "Read."}


def study_of(*flow: dict[str, Any], by: str = "prolific", **keys: Any) -> Study:
    raw = {"study": "small", "title": "Small", "recruitment": {"channels": [by]}, "flow": [*flow, FINISH], **keys}
    raw["outcomes"] = {**codes(withdrawn="GONE"), **keys.get("outcomes", {})}
    return resolve(raw, {}, {"questions": [Problem("p", "What?", "What?", "d")]})


def codes(**outcomes: str) -> dict[str, Any]:
    return {name: {"code": code} for name, code in outcomes.items()}


def places(study: Study, minutes: float | None = 20) -> list[str]:
    return [words.partition(":")[0] for words in advice(study, minutes)]


@pytest.mark.parametrize(("minutes", "advised"), [(None, True), (5, True), (4.9, False)])
def test_one_failed_attention_check_is_too_few_in_a_long_study(minutes: float | None, advised: bool) -> None:
    study = study_of(CONSENT, ATTENDED, outcomes=codes(failed_attention="F"))
    assert places(study, minutes) == ["flow[1]"] * advised
    assert places(study_of(CONSENT, {**ATTENDED, "policy": "warn"}), minutes) == []


@pytest.mark.parametrize(
    ("flow", "keys", "outcome"),
    [
        ([{**CONSENT, "decline": "No"}], {}, "no_consent"),
        ([CONSENT, {**UNDERSTOOD, "policy": "screen_out"}], {}, "screened_out"),
        ([CONSENT, {**ATTENDED, "after_failures": 2}], {}, "failed_attention"),
        ([CONSENT], {"session_limits": {"time_limit_s": 600}}, "timed_out"),
        ([CONSENT], {"session_limits": {"away_after_s": 600}}, "timed_out"),
        ([CONSENT, {**INFO, "time_limit": {"after_s": 60, "on_expiry": "end"}}], {}, "timed_out"),
        ([CONSENT], {"outcomes": {"withdrawn": {}}}, "withdrawn"),
        ([CONSENT, *({**INFO, "id": name, "time_limit": {"after_s": 60}} for name in "ab")], {}, "timed_out"),
        ([CONSENT, {"step": "finish", "id": "other", "when": {"consent.agreed": True}}], {}, "complete"),
    ],
)
def test_an_outcome_that_can_be_needs_a_code(flow: list[dict[str, Any]], keys: dict[str, Any], outcome: str) -> None:
    assert places(study_of(*flow, **keys)) == [f"outcomes.{outcome}"]
    assert places(study_of(*flow, **{**keys, "outcomes": codes(**{outcome: "OWN"})})) == []


REFUSED = {"channels": ["sona"], "repeat_participation": "refuse"}
AGAIN = "recruitment.repeat_participation"
PAYS = {"bonus": [{"per": "completion", "amount": 1}]}


@pytest.mark.parametrize(
    ("flow", "keys", "where"),
    [
        ([UNDERSTOOD, {"phase": "One", "flow": [INFO]}], {}, []),
        ([{"phase": "One", "flow": [INFO, UNDERSTOOD]}], {}, ["flow[1].flow[1]"]),
        ([{"each": "turn", "take": 2, "flow": [INFO]}, UNDERSTOOD], {}, ["flow[2]"]),
        ([], {"outcomes": codes(withdrawn="SAME", timed_out="SAME")}, ["outcomes"]),
        ([], {"recruitment": REFUSED}, [AGAIN]),
        ([], {"recruitment": {"channels": ["panel", "lab"], "repeat_participation": "new_session"}}, [AGAIN]),
        ([], {"recruitment": {"channels": ["sona"]}}, []),
        ([], {"recruitment": REFUSED | {"channels": ["lab"]}}, []),
        ([], {"recruitment": REFUSED | {"id_proof": "required"}}, []),
        ([], {"recruitment": {"channels": ["panel", "open"]}, **PAYS}, ["bonus"]),
        ([], {"recruitment": {"channels": ["panel", "open"]}}, []),
        ([], {"recruitment": {"channels": ["panel"]}, **PAYS}, []),
        ([], {"recruitment": {"id_proof": "required"}, **PAYS}, []),
    ],
)
def test_each_rule_advises_at_its_place(flow: list[dict[str, Any]], keys: dict[str, Any], where: list[str]) -> None:
    assert places(study_of(CONSENT, *flow, **keys)) == where


@pytest.mark.parametrize(
    ("when", "advised"),
    [
        ("opening", []),
        ("47 hours after opening", ["Evening"]),
        ("2 days after opening", ["Week 2", "Evening"]),
        ("6 hours before closing", []),
        ("7 hours before closing", ["Evening"]),
        ("1 week before closing", ["Week 2", "Evening"]),
    ],
)
def test_a_reminder_that_never_comes_in_a_wave_is_named_with_it(when: str, advised: list[str]) -> None:
    found = waves.study(reminders={"channels": ["mail"], "send": [{"when": when}]})
    words = [one for one in advice(found, None) if one.startswith("reminders.send[0].when: ")]
    assert [wave.wave for wave in found.waves if any(wave.wave in one for one in words)] == advised
