"""What `parley check` finds worth a look: each rule of Prolific's, met and not met."""

from __future__ import annotations

from typing import Any

import pytest

from experiments.study.checks.lint import advice
from experiments.study.resolve import resolve
from experiments.study.study import Study
from problems.problem import Problem

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


def test_a_sound_study_needs_no_advice() -> None:
    flow = ({**CONSENT, "decline": "No"}, UNDERSTOOD, {"phase": "One", "flow": [{**ATTENDED, "after_failures": 2}]})
    study = study_of(*flow, outcomes=codes(no_consent="NONE", failed_attention="FAILED"))
    assert advice(study, 20) == []


@pytest.mark.parametrize(("minutes", "told"), [(None, True), (5, True), (20, True), (4.9, False)])
def test_one_failed_attention_check_is_too_few_in_a_long_study(minutes: float | None, told: bool) -> None:
    found = advice(study_of(CONSENT, ATTENDED, outcomes=codes(failed_attention="F")), minutes)
    assert [words.startswith("flow[1]: 'attended' ends the session at the first") for words in found] == [True] * told
    assert not told or "Write `after_failures: 2`" in found[0]
    assert ("takes about 20" in " ".join(found)) == (minutes == 20)
    assert advice(study_of(CONSENT, {**ATTENDED, "policy": "warn"}), minutes) == []


@pytest.mark.parametrize(
    ("flow", "where"),
    [
        ([UNDERSTOOD, {"phase": "One", "flow": [INFO]}], None),
        ([{"phase": "One", "flow": [INFO, UNDERSTOOD]}], "flow[1].flow[1]"),
        ([{"each": "turn", "take": 2, "flow": [INFO]}, UNDERSTOOD], "flow[2]"),
    ],
)
def test_comprehension_is_checked_at_the_start(flow: list[dict[str, Any]], where: str | None) -> None:
    found = advice(study_of(CONSENT, *flow), 20)
    assert len(found) == (where is not None)
    assert where is None or found[0].startswith(f"{where}: Prolific requires comprehension checks at the start")


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
    (found,) = advice(study_of(*flow, **keys), 20)
    assert found.startswith(f"outcomes.{outcome}: has no code.")
    assert f"`outcomes: {{{outcome}: {{code: ...}}}}`" in found
    assert advice(study_of(*flow, **{**keys, "outcomes": codes(**{outcome: "OWN"})}), 20) == []


@pytest.mark.parametrize(("more", "advised"), [({}, True), ({"minimum": 0}, False)])
def test_a_number_in_a_screening_needs_a_range(more: dict[str, Any], advised: bool) -> None:
    age = {"type": "number", "name": "age", "text": "Age?", **more}
    screening = {"step": "check", "kind": "screening", "questions": [age], "correct_answers": {"age": {"minimum": 18}}}
    found = advice(study_of(CONSENT, screening, by="lab"), 20)
    assert [one.startswith("flow[1]: 'age' has no `minimum`") for one in found] == [True] * advised
    assert advice(study_of(CONSENT, {**screening, "kind": "attention"}, by="lab"), 20) == []


def test_two_outcomes_of_one_code_cannot_be_told_apart() -> None:
    (found,) = advice(study_of({**CONSENT, "decline": "No"}, outcomes=codes(no_consent="DONE")), 20)
    assert found.startswith("outcomes: no_consent and complete have the same code, 'DONE'")
    (found,) = advice(study_of(CONSENT, outcomes=codes(withdrawn="SAME", timed_out="SAME")), 20)
    assert "withdrawn and timed_out" in found


@pytest.mark.parametrize(
    ("recruitment", "advised"),
    [
        ({"channels": ["sona"], "repeat_participation": "refuse"}, True),
        ({"channels": ["panel", "lab"], "repeat_participation": "new_session"}, True),
        ({"repeat_participation": "refuse"}, True),
        ({"channels": ["sona"]}, False),
        ({"channels": ["lab"], "repeat_participation": "refuse"}, False),
        ({"channels": ["open"], "repeat_participation": "refuse"}, False),
        ({"channels": ["sona"], "repeat_participation": "refuse", "id_proof": "required"}, False),
    ],
)
def test_a_rule_about_who_comes_again_needs_proofs(recruitment: dict[str, Any], advised: bool) -> None:
    found = advice(study_of(CONSENT, recruitment=recruitment), 20)
    assert [one.partition(":")[0] for one in found] == ["recruitment.repeat_participation"] * advised


@pytest.mark.parametrize(
    ("recruitment", "advised"),
    [
        ({}, True),
        ({"channels": ["panel", "open"]}, True),
        ({"channels": ["panel"]}, False),
        ({"id_proof": "required"}, False),
    ],
)
def test_a_bonus_needs_ids(recruitment: dict[str, Any], advised: bool) -> None:
    pays = {"bonus": [{"per": "completion", "amount": 1}]}
    found = advice(study_of(CONSENT, recruitment=recruitment, **pays), 20)
    assert [one.partition(":")[0] for one in found] == ["bonus"] * advised
    assert advice(study_of(CONSENT, recruitment=recruitment), 20) == []
