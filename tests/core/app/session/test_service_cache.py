"""Which sessions a process has at hand."""

from __future__ import annotations

from app.session.service import SessionCache
from app.session.transitions import LoadedSession
from experiments.study.location import State
from tests.fakes.sessions import study

SOME = study("demo")


def live(name: int, seq: int = 1) -> LoadedSession:
    return LoadedSession(str(name), SOME, State(seq=seq))


def test_the_newest_is_kept_whatever_arrives_last() -> None:
    here = SessionCache()
    new, old = live(1, seq=7), live(1, seq=6)
    assert here.put(new) is new
    assert here.put(old) is new
    assert here.get("1") is new


def test_the_one_that_was_asked_for_longest_ago_goes_first() -> None:
    here = SessionCache(3)
    for name in (1, 2, 3, 1, 4):
        here.put(live(name))
    assert [name for name in "1234" if here.get(name)] == ["1", "3", "4"]
