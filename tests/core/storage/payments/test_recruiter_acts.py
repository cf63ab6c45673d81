"""Acts, folded: an act is sent until it is done or refused, and of a lost answer nobody knows."""

from __future__ import annotations

import pytest

from experiments.events import Event
from storage.payments.recruiter_acts import Act, acts_of


def act(*events: tuple[str, int, dict[str, object]]) -> Act:
    asked = Event(
        1, 1_000_000, "researcher", "", "asked", {"act": "a", "what": "approve", "who": "ada", "sessions": []}
    )
    rest = [
        Event(number, at_us, "system", "", kind, {"act": "a", **data})
        for number, (kind, at_us, data) in enumerate(events, 2)
    ]
    return acts_of([asked, *rest])["a"]


SENT = ("sent", 2_000_000, {"attempt": 1})
AGAIN = ("sent", 90_000_000, {"attempt": 2})


def settled(attempt: int, result: str) -> tuple[str, int, dict[str, object]]:
    return "settled", 3_000_000, {"attempt": attempt, "result": result, "detail": ""}


@pytest.mark.parametrize(
    ("events", "open_", "uncertain", "due_s"),
    [
        ([], True, False, 1),
        ([SENT], True, True, 32),
        ([SENT, settled(1, "failed")], True, False, 32),
        ([SENT, settled(1, "failed"), AGAIN], True, True, 150),
        ([SENT, AGAIN, settled(1, "failed")], True, True, 150),
        ([SENT, settled(1, "lost")], True, True, 32),
        ([SENT, settled(1, "lost"), settled(1, "done")], False, False, 32),
        ([SENT, settled(1, "done")], False, False, 32),
        ([SENT, settled(1, "refused"), settled(1, "done")], False, False, 32),
    ],
    ids=["asked", "sent", "failed", "again", "late", "lost", "found", "done", "refused"],
)
def test_an_act_is_sent_until_it_is_done_or_refused(
    events: list[tuple[str, int, dict[str, object]]], open_: bool, uncertain: bool, due_s: int
) -> None:
    found = act(*events)
    assert (found.is_open, found.is_uncertain, found.due_us) == (open_, uncertain, due_s * 1_000_000)
