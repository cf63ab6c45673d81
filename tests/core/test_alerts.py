"""Alerts: what is worth one, that each opens once and closes once, and what their messages do not contain."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.alerts.conditions import (
    BudgetLevel,
    Condition,
    Disk,
    InactiveSession,
    LostIds,
    ModelCalls,
    Observations,
    Thresholds,
    conditions,
)
from app.alerts.lifecycle import QUIET_S, notices, updated
from storage.registers.alerts import Alert, AlertKey
from tests.fakes.examples import examples

USUAL = Thresholds(model_failures=3, stuck_s=1800, budget_share=0.9, link_problems=5, disk_free_bytes=5e9)
GB = 10**9


def kinds(thresholds: Thresholds = USUAL, **observed: Any) -> list[AlertKey]:
    return [condition.key for condition in conditions(Observations(**observed), thresholds)]


def calls(number: int, **reasons: int) -> dict[str, Any]:
    return {"models": (ModelCalls("s", "person", "gpt", number, reasons),)}


MODELS = AlertKey("models", "s", "person", "gpt")


@pytest.mark.parametrize(
    ("number", "reasons", "alerted"),
    [
        (2, {"status_503": 2}, False),
        (3, {"status_503": 2, "circuit_open": 1}, True),
        (12, {"connection": 3}, True),
        (13, {"connection": 3}, False),
        (9, {"content_filter": 9}, False),
        (9, {"stopped": 9}, False),
        (9, {"content_filter": 6, "status_401": 3}, True),
    ],
)
def test_failed_calls_count_by_number_and_share_and_not_those_of_a_message(
    number: int, reasons: dict[str, int], alerted: bool
) -> None:
    assert kinds(**calls(number, **reasons)) == ([MODELS] if alerted else [])
    assert kinds(replace(USUAL, model_failures=0), **calls(number, **reasons)) == []


@pytest.mark.parametrize(
    ("inactive_s", "usual_s", "alerted"),
    [(1799, None, False), (1800, None, True), (1800, 700, False), (2100, 700, True)],
)
def test_somebody_is_stuck_who_takes_far_longer_than_others(
    inactive_s: float, usual_s: float | None, alerted: bool
) -> None:
    seen = (InactiveSession("s", "person", 4, inactive_s, usual_s), InactiveSession("s", "person", 5, 20.0, None))
    (*found,) = conditions(Observations(inactive=seen), USUAL)
    assert [(one.key, one.data["sessions"]) for one in found] == ([(AlertKey("stuck", "s", "person"), [4])] * alerted)


def test_budgets_quotas_and_disks() -> None:
    spent = [BudgetLevel("s", "", 10.0, 9.0, "USD"), BudgetLevel("s", "tone: warm", 10.0, 8.9, "USD")]
    assert kinds(budgets=tuple(spent)) == [AlertKey("budget", "s")]
    assert kinds(budgets=(BudgetLevel("s", "", 0.0, 0.0, "USD"),)) == [], "a budget of 0 closes a study on purpose"
    assert kinds(full=("s", "t")) == [AlertKey("quota", "s"), AlertKey("quota", "t")]
    disks = [Disk("/a", 4 * GB, 4_000 * GB), Disk("/b", 30 * GB, 4_000 * GB), Disk("/c", 2 * GB, 10 * GB)]
    assert kinds(disks=tuple(disks)) == [AlertKey("disk", subject="/a")]


@pytest.mark.parametrize(
    ("refused", "started", "sessions", "alerted"),
    [(4, 0, 0, False), (5, 0, 0, True), (0, 5, 5, True), (3, 2, 50, True), (0, 5, 100, True), (0, 5, 101, False)],
)
def test_links_that_lose_ids_count_by_number_and_share(
    refused: int, started: int, sessions: int, alerted: bool
) -> None:
    lost = (LostIds("s", refused, started, sessions),)
    assert kinds(lost=lost) == ([AlertKey("links", "s")] if alerted else [])
    assert kinds(replace(USUAL, link_problems=0), lost=lost) == []


KEYS = [MODELS, AlertKey("quota", "s"), AlertKey("quota", "t")]
looks = st.lists(st.tuples(st.integers(1, 2_000), st.sets(st.sampled_from(KEYS))), max_size=30)


@given(looks, st.integers(600, 4_000))
@examples(200)
def test_each_alert_opens_once_and_closes_once_whatever_is_observed_when(
    seen: list[tuple[int, set[AlertKey]]], remind_s: int
) -> None:
    known: dict[AlertKey, Alert] = {}
    closed: list[Alert] = []
    sent: list[tuple[int, AlertKey, str]] = []
    now_s = 0
    last_held = dict[AlertKey, int]()
    for pause_s, held in seen:
        now_s += pause_s
        for again in (False, True):  # another process looks at the same moment
            changed = updated([*known.values()], [Condition(key) for key in held], now_s * 10**6, remind_s)
            found = notices([*known.values()], changed)
            assert not (again and found)
            sent += [(now_s, notice.alert.key, notice.state) for notice in found]
            assert not again or {one.key: one for one in changed} == {
                key: one for key, one in known.items() if key in held
            }, "nothing new is decided"
            known |= {one.key: one for one in changed if one.closed_us is None}
            for one in changed:
                if one.closed_us is not None:
                    closed.append(known.pop(one.key))
        assert held <= known.keys()
        for key in known:
            assert key in held or now_s - last_held[key] < QUIET_S
        last_held |= dict.fromkeys(held, now_s)
    for key in KEYS:
        states = [(at_s, state) for at_s, of, state in sent if of == key]
        turns = [state for _, state in states if state != "reminder"]
        assert turns == [("opened", "closed")[n % 2] for n in range(len(turns))]
        for (before_s, _), (at_s, state) in pairwise(states):
            assert state != "reminder" or at_s - before_s >= remind_s
    assert len(closed) == sum(state == "closed" for *_, state in sent)


def test_who_has_seen_an_alert_is_not_reminded() -> None:
    (alert,) = updated([], [Condition(MODELS)], 0, 60)
    seen = replace(alert, seen_us=5)
    for known, states in ((alert, ["reminder"]), (seen, [])):
        changed = updated([known], [Condition(MODELS)], 10**9, 60)
        assert [notice.state for notice in notices([known], changed)] == states
    over = updated([seen], [], QUIET_S * 10**6, 60)
    assert [notice.state for notice in notices([seen], over)] == ["closed"]
