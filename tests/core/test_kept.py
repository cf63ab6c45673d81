"""Which sessions a process has at hand."""

from __future__ import annotations

import pytest

from app import kept
from app.counting import Live
from app.kept import NEW_US, Kept
from experiments.core.place import State
from tests.fakes.sessions import study

SOME = study("demo")


def live(name: int, seq: int = 1, outcome: str = "") -> Live:
    return Live(str(name), SOME, State(seq=seq, outcome=outcome))


def test_the_newest_is_kept_whatever_arrives_last() -> None:
    here = Kept()
    new, old = live(1, seq=7), live(1, seq=6)
    assert here.put(new) is new
    assert here.put(old) is new
    assert here.get("1") is new


def test_what_is_dropped_is_known_no_more() -> None:
    here = Kept()
    here.put(live(1, outcome="complete"))
    here.drop("1")
    here.drop("2")
    assert here.get("1") is None
    assert len(here) == 0


def test_the_one_that_changed_longest_ago_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MOST", 3)
    here = Kept()
    for name in (1, 2, 3, 1, 4):
        here.put(live(name))
    assert [name for name in "1234" if here.get(name)] == ["1", "3", "4"]


def test_of_those_that_have_ended_only_the_last_few_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MOST_ENDED", 2)
    here = Kept()
    for name in range(5):
        here.put(live(name))
    for name in range(4):
        here.put(live(name, seq=2, outcome="complete"))
        assert len(here) == 5 - max(0, name - 1)
    assert [name for name in "01234" if here.get(name)] == ["2", "3", "4"]


def test_one_that_goes_for_age_counts_no_longer_as_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MOST", 2)
    monkeypatch.setattr(kept, "MOST_ENDED", 1)
    here = Kept()
    here.put(live(1, outcome="complete"))
    for name in (2, 3):
        here.put(live(name))
    here.put(live(3, seq=2, outcome="complete"))
    assert [name for name in "123" if here.get(name)] == ["2", "3"]


def test_one_that_was_begun_here_is_new_once_and_not_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MOST_NEW", 3)
    here = Kept()
    for name in range(4):
        assert here.begin(live(name), now_us=0) is here.get(str(name))
    here.put(live(4))
    assert not here.is_new("0", NEW_US - 1), "too many have begun since"
    assert here.is_new("1", NEW_US - 1)
    assert not here.is_new("1", NEW_US - 1)
    assert not here.is_new("2", NEW_US)
    assert not here.is_new("4", 0)
