"""Out of turn: at every step, each kind of action that it does not offer and each place that is not the present one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from experiments.errors import Refused
from experiments.events import Action
from experiments.session.engine import apply, decide, screen
from experiments.study.location import State
from experiments.study.screen import Screen
from tests.fakes.sessions import NAMES, study, whole

EVERYTHING = NAMES[-1]
# All that a screen can offer; to withdraw is possible at any time.
OFFERED = {"submit", "say", "rate", "retry", "stop", "vote", "skip", "extend", "decline", "edit", "undo"}
KINDS = (*sorted(OFFERED), "reply", "fail", "annotate", "enrol", "assign", "draw", "finish", "expire", "noted",
         "excluded", "paid", "submitted", "")  # fmt: skip
REASONS = {"stale", "not_offered", "ended"}


def moments(name: str, seed: str) -> Iterator[tuple[State, Screen]]:
    """Every state in which a participant has a screen, from before the consent until after the end."""
    state = State()
    for event in whole(name, seed):
        state = apply(state, event)
        yield state, screen(study(name), state)


def refused(name: str, state: State, action: Action) -> str:
    try:
        decide(study(name), state, action)
    except Refused as found:
        return found.reason
    return ""


@pytest.mark.parametrize(
    ("name", "seed"),
    [
        pytest.param(EVERYTHING, "1", id="everything-1"),
        pytest.param("demo", "1", id="demo-1"),
        *(
            pytest.param(name, str(seed), id=f"{name.rpartition('/')[2]}-{seed}", marks=pytest.mark.soak)
            for name in NAMES
            for seed in range(2, 6)
        ),
    ],
)
def test_whatever_is_not_on_offer_is_refused_at_every_step_and_changes_nothing(name: str, seed: str) -> None:
    values = {"agreed": "on", "answer": "A", "text": "Hello", "slot": "", "model": "one", "outcome": "complete"}
    paths = sorted({event.path for event in whole(name, seed)} | {"", "finish", "nowhere", "../consent"})
    met: set[tuple[str, bool]] = set()
    for state, seen in moments(name, seed):
        assert set(seen.actions) <= OFFERED, seen.actions
        before = repr(state)
        for kind in KINDS:
            for path in paths:
                if path == seen.path and kind in seen.actions:
                    continue
                action = Action(kind, path, values, 7, seen=state.changed, key="out-of-turn")
                why = refused(name, state, action)
                assert why in REASONS, (seen.path, action)
                met.add((why, seen.ended))
            if kind in ("stop", "edit") and kind in seen.actions:  # also from a page that has not heard of all
                continue
            late = Action(kind, seen.path, values, 7, seen=state.changed - 1, key="out-of-turn")
            assert refused(name, state, late) in REASONS, (seen.path, late)
        assert repr(state) == before
    assert met >= {("stale", False), ("not_offered", False), ("ended", True)}
