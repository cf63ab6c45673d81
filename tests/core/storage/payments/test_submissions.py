"""Submissions, folded: whatever order observations come in, and however often, the end is that of the true order."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from hypothesis import given
from hypothesis import strategies as st

from storage.payments.prolific import STATUSES
from storage.payments.submissions import LIFE, Observation, latest

# What can follow at Prolific.
NEXT: Mapping[str, Sequence[str]] = {
    "RESERVED": ("ACTIVE", "RETURNED"),
    "ACTIVE": ("AWAITING REVIEW", "RETURNED", "TIMED OUT", "SCREENED OUT", "APPROVED"),
    "TIMED OUT": ("AWAITING REVIEW", "RETURNED", "APPROVED"),
    "AWAITING REVIEW": ("APPROVED", "REJECTED", "RETURNED", "PARTIALLY APPROVED"),
    "REJECTED": ("APPROVED",),
}


@st.composite
def lives(draw: st.DrawFn) -> list[tuple[int, str]]:
    """The statuses of a submission with their times, no two later ones at one time."""
    life, at = [(10, "RESERVED")], 10
    while (after := NEXT.get(life[-1][1])) and draw(st.booleans()):
        at += draw(st.integers(0 if life[-1][1] in ("RESERVED", "ACTIVE", "AWAITING REVIEW") else 1, 5))
        life.append((at, draw(st.sampled_from(after))))
    return life


@given(st.lists(lives(), min_size=1, max_size=4), st.integers(0, 2**32), st.data())
def test_the_end_is_that_of_the_true_order(paths: list[list[tuple[int, str]]], seed: int, data: st.DataObject) -> None:
    seen = []
    for number, life in enumerate(paths):
        name = f"s{number}"
        seen += [Observation(name, status, at, "webhook", f"{name}{at}{status}") for at, status in life]
        for moment in data.draw(st.lists(st.integers(10, life[-1][0] + 9), max_size=4)):  # it may read the list
            seen.append(Observation(name, [status for at, status in life if at <= moment][-1], moment, "list"))
    shuffled = random.Random(seed).choices(seen, k=9) + random.Random(seed).sample(seen, len(seen))
    found = latest(shuffled)
    assert {name: one.status for name, one in found.items()} == {
        f"s{number}": life[-1][1] for number, life in enumerate(paths)
    }
    assert found == latest([*found.values(), *shuffled]), "what is known already changes nothing"


def test_a_submission_does_not_begin_again_whatever_time_a_webhook_names() -> None:
    end = Observation("s", "AWAITING REVIEW", 5, "webhook")
    assert latest([end, Observation("s", "ACTIVE", 9, "webhook")])["s"] == end


def test_every_status_of_the_export_has_its_place_in_a_life() -> None:
    assert sorted(LIFE) == sorted(STATUSES)
