"""What was decided about a study, folded: how it stands in a word, and whether anybody new can begin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.events import Event
from experiments.session.study_status import KINDS, StudyStatus, fold_operations

DATA: dict[str, dict[str, Any]] = {
    "published": {"hash": "abc", "version": 1},
    "budgeted": {"amount": 5.0, "where": {}},
    "capped": {"most": 3, "where": {}},
    "paused": {"why": "lunch"},
    "closed": {"why": "enough"},
    "archived": {},
    "piloted": {},
    "opened": {},
    "described": {"dataset": {}},
    "preregistered": {"hash": "abc", "version": 1, "files": {}},
    "looked": {"number": 1, "who": "ada", "through": "look", "why": "", "complete": 4, "result": {}},
    "explained": {"deviation": "late", "why": "lunch"},
    "differed": {"hash": "abc", "set": "desk", "tools": ["pay"], "sha256": "1"},
    "offered": {"hash": "abc", "set": "desk", "tools": [], "sha256": "0"},
}
KIND = st.sampled_from(KINDS)


def after(kinds: Sequence[str]) -> StudyStatus:
    return fold_operations(Event(n, n, "researcher", "", kind, DATA[kind]) for n, kind in enumerate(kinds, 1))


@pytest.mark.parametrize(
    ("kinds", "state", "shut"),
    [
        ([], "open", None),
        (["published"], "published", "not opened yet"),
        (["published", "piloted"], "pilot", None),
        (["published", "opened"], "open", None),
        (["opened", "published"], "open", None),
        (["published", "piloted", "paused"], "paused", "lunch"),
        (["closed", "published"], "closed", "enough"),
        (["opened", "closed", "paused"], "closed", "enough"),
        (["paused", "closed", "opened"], "open", None),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, list) else "",
)
def test_a_study_stands_as_was_decided_last(kinds: list[str], state: str, shut: str | None) -> None:
    now = after(kinds)
    assert (now.state, now.closed_reason) == (state, shut)
    assert now.offered == ("published" in kinds and state != "published")


@given(st.lists(KIND))
def test_people_can_begin_in_a_pilot_and_in_an_open_study_and_nowhere_else(kinds: list[str]) -> None:
    assert (after(kinds).closed_reason is None) == (after(kinds).state in ("pilot", "open"))
