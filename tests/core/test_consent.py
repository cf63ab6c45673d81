"""Consent: who agrees goes on, who does not is let go with the outcome's own page, and nothing of theirs is kept."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.errors import Refused, StudyError
from experiments.session.engine import fold
from experiments.study.resolve import resolve
from experiments.study.screen import CodeBlock
from storage.schemas.registry import rows_of
from tests.fakes.driven import Driven, small
from tests.fakes.examples import SEEDS, examples
from tests.fakes.sessions import NAMES, study, whole

CONSENT = {"step": "consent", "text": "Please agree.", "checkbox": "I do."}
INFO = {"step": "info", "text": "Read."}


def test_who_declines_is_let_go_and_nothing_more_is_recorded() -> None:
    session = Driven(small({**CONSENT, "min_time_s": 60}, INFO)).do("decline", agreed="on")
    told = [(event.kind, dict(event.data)) for event in session.state.events[1:]]
    assert told == [("declined", {}), ("finished", {"outcome": "no_consent"})]
    last = session.screen
    assert (last.ended, last.outcome, last.panel.title) == (True, "no_consent", "You are not taking part")
    assert not [block for block in last.panel.blocks if isinstance(block, CodeBlock)]
    for kind in ("submit", "decline"):
        with pytest.raises(Refused):
            session.do(kind, agreed="on")


# There one agrees by going on from the first page, as CheckMate's participants did.
ASKS = [name for name in NAMES if name != "mathconverse"]


@given(st.sampled_from(ASKS), st.integers(0, SEEDS).map(str))
@examples(12)
def test_the_consent_precedes_everything_else_that_is_kept(name: str, seed: str) -> None:
    log = whole(name, seed)
    number = next(number for number, event in enumerate(log) if event.kind == "submitted")
    assert (log[number].path, dict(log[number].data), log[number].by) == ("consent", {"agreed": True}, "participant")
    assert {event.kind for event in log[:number]} <= {"enrolled", "assigned"}
    before = rows_of(study(name), fold(log[:number]))
    assert not any(before.values()), before
    assert any(rows_of(study(name), fold(log)).values()) or not study(name).file.export_schemas


def test_the_words_that_one_agrees_to_are_in_the_hash_that_the_session_begins_with() -> None:
    words = [small({**CONSENT, "text": text}, INFO).hash for text in ("Please agree.", "Please agree!")]
    assert len({*words, small(CONSENT, INFO).hash}) == 2


@pytest.mark.parametrize(
    "step",
    [
        {"step": "consent", "text": "Do you agree?"},
        {
            "step": "check",
            "kind": "screening",
            "questions": [{"type": "single_choice", "name": "x", "text": "?", "options": ["a", "b"]}],
            "correct_answers": {"x": "a"},
        },
    ],
)
def test_nobody_passes_a_gate_by_waiting(step: dict[str, Any]) -> None:
    def gate(then: str) -> dict[str, Any]:
        flow = [step | {"time_limit": {"after_s": 60, "on_expiry": then}}, {"step": "finish"}]
        return {"study": "gate", "title": "Gate", "flow": flow}

    resolve(gate("end"), {}, {})
    with pytest.raises(StudyError) as error:
        resolve(gate("continue"), {}, {})
    assert ["who waits" in fault.what for fault in error.value.found] == [True]


def test_whoever_has_not_ticked_the_box_has_not_agreed() -> None:
    with pytest.raises(Refused):
        Driven(small(CONSENT, INFO)).do()
