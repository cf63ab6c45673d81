"""Which sessions a process has at hand."""

from __future__ import annotations

from app.session.service import SessionCache
from app.session.transitions import LoadedSession
from experiments.study.location import State
from tests.fakes.sessions import study


def test_the_session_that_was_asked_for_longest_ago_goes_first_and_the_newest_of_one_stays() -> None:
    here = SessionCache(3)
    for name, seq in ((1, 7), (2, 1), (3, 1), (1, 6), (4, 1)):
        here.put(LoadedSession(str(name), study("demo"), State(seq=seq)))
    assert {name: one.state.seq for name in "1234" if (one := here.get(name))} == {"1": 7, "3": 1, "4": 1}
