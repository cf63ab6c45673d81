"""The clock's rules: limits of steps and of the whole, more time, least times, who is away; a reload changes none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.errors import Refused
from experiments.events import Action
from experiments.session.engine import decide, fold, pending_tasks, screen
from experiments.session.state import State
from experiments.session.timing import GRACE_US, SECOND_US, Deadline, deadlines, overdue
from experiments.study.resolve import resolve
from experiments.study.screen import Timing
from experiments.study.study import Study
from tests.fakes.sessions import enrolment

START_US = 5_000 * SECOND_US
GRACE_S = GRACE_US / SECOND_US
ASK = {"step": "survey", "id": "ask", "questions": [{"type": "long_text", "name": "thought", "text": "A thought?"}]}
READ = {"step": "info", "id": "read", "text": "Read."}


def study_of(*flow: Mapping[str, Any], **times: float) -> Study:
    """A study of these steps, with these times."""
    raw = {
        "study": "s",
        "title": "S",
        "session_limits": times,
        "flow": [*map(dict, flow), {"step": "finish", "text": "Bye."}],
    }
    return resolve(raw, {}, {})


class Session:
    """Somebody in a study; times are seconds since they began."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self.state = State()
        self._write(enrolment("1", START_US))

    def _write(self, action: Action) -> None:
        self.state = fold(decide(self.study, self.state, action), self.state)
        while jobs := pending_tasks(self.study, self.state):
            job = Action(jobs[0].kind, jobs[0].path, {}, action.at_us, by="system")
            self.state = fold(decide(self.study, self.state, job), self.state)

    def act(self, at_s: float, kind: str = "submit", **values: Any) -> None:
        """A click on the present screen."""
        seen = screen(self.study, self.state)
        self._write(Action(kind, seen.path, values, us(at_s), seen=seen.seen))

    def note(self, at_s: float) -> None:
        """A researcher's note."""
        self._write(Action("noted", "", {}, us(at_s), by="researcher"))

    def expire(self, at_s: float, **told: Any) -> None:
        """The clock acts; raises Refused where nothing is due."""
        self._write(Action("expire", self.path, told, us(at_s), by="system"))

    @property
    def path(self) -> str:
        """Where they are."""
        return screen(self.study, self.state).path

    @property
    def timing(self) -> Timing:
        """The times of the present screen."""
        timing = screen(self.study, self.state).timing
        assert timing is not None
        return timing

    @property
    def last(self) -> tuple[str, dict[str, Any]]:
        """The last fact, and what it says."""
        return self.state.events[-1].kind, dict(self.state.events[-1].data)


def us(at_s: float) -> int:
    """A time as the log has it."""
    return START_US + round(at_s * SECOND_US)


def limited(then: str = "continue", **more: Any) -> Session:
    """Somebody at a step that may take a minute, which they came to after ten seconds."""
    session = Session(
        study_of(READ, {**ASK, "time_limit": {"after_s": 60, "on_expiry": then, **more}}, {**READ, "id": "next"})
    )
    session.act(10)
    return session


def test_a_screen_whose_time_is_over_is_left_with_what_stood_in_its_form() -> None:
    session = limited()
    assert (session.timing.warns_us, session.timing.ends_us) == (us(50), us(70))
    session.expire(70 + GRACE_S, typed={"thought": "Half a"})
    assert session.last == ("expired", {"typed": {"thought": "Half a"}})
    assert session.path == "next"
    assert session.timing == Timing()


def test_or_the_session_ends_as_timed_out() -> None:
    session = limited("end", warn_before_s=45)
    assert session.timing.warns_us == us(25)
    session.expire(70 + GRACE_S)
    assert session.last == ("finished", {"outcome": "timed_out", "why": "step"})
    assert deadlines(session.study, session.state) == ()
    with pytest.raises(Refused):
        session.expire(9_999)


@pytest.mark.parametrize("at_s", [10, 69.9, 70, 70 + GRACE_S - 0.001])
def test_a_click_of_the_last_moment_arrives(at_s: float) -> None:
    session = limited()
    with pytest.raises(Refused, match="nothing is due"):
        session.expire(at_s)
    session.act(at_s, thought="Whole")
    assert session.path == "next"


def test_more_time_is_given_as_often_as_the_study_says() -> None:
    session = limited(extensions=2)
    for number in (1, 2):
        assert session.timing.more
        assert "extend" in screen(session.study, session.state).actions
        session.act(11, "extend")
        assert session.timing.ends_us == us(70 + 60 * number)
    assert not session.timing.more
    assert "extend" not in screen(session.study, session.state).actions
    with pytest.raises(Refused):
        session.act(12, "extend")
    with pytest.raises(Refused):
        session.expire(189)
    session.expire(190 + GRACE_S)
    assert session.path == "next"


def test_where_there_is_no_limit_there_is_nothing_to_extend() -> None:
    with pytest.raises(Refused):
        Session(study_of(READ)).act(1, "extend")


def test_each_turn_of_a_loop_has_a_time_of_its_own() -> None:
    loop = {"each": "turn", "take": 2, "flow": [{**ASK, "time_limit": {"after_s": 60}}]}
    session = Session(study_of(loop))
    session.act(50, thought="One")
    assert (session.path, session.timing.ends_us) == ("turn[1]/ask", us(110))


def test_a_screen_is_not_left_before_its_least_time() -> None:
    session = Session(study_of({**READ, "min_time_s": 5}, {**READ, "id": "next"}))
    assert session.timing == Timing(opens_us=us(5))
    with pytest.raises(Refused, match="in 3 s") as refused:
        session.act(2.5)
    assert refused.value.reason == "too_early"
    session.act(5)
    assert session.path == "next"


def test_the_whole_has_a_limit_wherever_one_is() -> None:
    session = Session(study_of(READ, {**ASK, "time_limit": {"after_s": 60}}, time_limit_s=100, warn_before_s=30))
    assert (session.timing.warns_us, session.timing.ends_us) == (us(70), us(100))
    session.act(50)
    step, whole = deadlines(session.study, session.state)[::-1]
    assert (step, whole) == (Deadline("step", us(110)), Deadline("session", us(100)))
    assert (session.timing.warns_us, session.timing.ends_us, session.timing.more) == (us(70), us(100), False)
    session.expire(100 + GRACE_S)
    assert session.last == ("finished", {"outcome": "timed_out", "why": "session"})


def test_more_time_for_a_step_is_no_more_for_the_whole() -> None:
    session = Session(study_of({**ASK, "time_limit": {"after_s": 60, "extensions": 5}}, time_limit_s=100))
    session.act(1, "extend")
    assert (session.timing.ends_us, session.timing.more) == (us(100), False)


def test_who_is_away_too_long_is_timed_out_and_sees_no_countdown() -> None:
    session = Session(study_of(READ, ASK, away_after_s=600))
    session.act(100)
    assert session.timing == Timing()
    with pytest.raises(Refused):
        session.expire(699)
    session.expire(700 + GRACE_S)
    assert session.last == ("finished", {"outcome": "timed_out", "why": "away"})


def test_a_researchers_note_is_no_sign_of_life() -> None:
    session = Session(study_of(ASK, away_after_s=600))
    session.note(500)
    assert deadlines(session.study, session.state) == (Deadline("away", us(600)),)


@pytest.mark.parametrize(("seen_s", "ends"), [(0, True), (101, True), (103, False), (650, False)])
def test_who_types_is_not_away(seen_s: float, ends: bool) -> None:
    session = Session(study_of(ASK, away_after_s=600))
    now_us = us(702)
    assert (overdue(session.study, session.state, now_us, us(seen_s)) is not None) == ends
    if ends:
        session.expire(702, seen_us=us(seen_s))
    else:
        with pytest.raises(Refused):
            session.expire(702, seen_us=us(seen_s))


def test_typing_does_not_prolong_a_limit() -> None:
    session = limited()
    session.expire(72, seen_us=us(71))
    assert session.last[0] == "expired"


moments = st.lists(st.integers(0, 400), max_size=8)


@given(moments, moments, st.sampled_from(["continue", "end"]), st.integers(0, 3))
def test_nothing_but_an_answer_or_more_time_turns_a_clock_back(
    notes: list[int], looks: list[int], then: str, extensions: int
) -> None:
    """Looking, a note, a restart that folds the log again: the times of the screen stay as they are."""
    plain, noted = limited(then, extensions=extensions), limited(then, extensions=extensions)
    for at_s in sorted(notes):
        noted.note(10 + at_s)
    assert noted.timing == plain.timing
    for at_s in looks:
        again = fold(noted.state.events)
        assert screen(noted.study, again).timing == plain.timing
        found = overdue(noted.study, again, us(at_s))
        assert (found is None) == (us(at_s) < us(70) + GRACE_US)


@given(st.lists(st.tuples(st.integers(1, 50), st.booleans()), max_size=20))
def test_the_clock_acts_at_what_the_screen_has_told_and_never_before(clicks: list[tuple[int, bool]]) -> None:
    """Answers and more time in any order: what ends is the soonest of what is due, and its time was on the screen."""
    loop = {"each": "turn", "take": 30, "flow": [{**ASK, "time_limit": {"after_s": 60, "extensions": 2}}]}
    session, now_s = Session(study_of(loop, time_limit_s=500)), 0
    for after_s, more in clicks:
        now_s += after_s
        ends_us = session.timing.ends_us
        if ends_us is None or us(now_s) >= ends_us + GRACE_US:
            break
        assert overdue(session.study, session.state, us(now_s)) is None
        if more and session.timing.more:
            session.act(now_s, "extend")
            assert session.timing.ends_us >= ends_us
        else:
            session.act(now_s, thought="Yes")
    ends_us = session.timing.ends_us
    assert ends_us is not None
    first = deadlines(session.study, session.state)[0]
    assert first.at_us == ends_us
    assert overdue(session.study, session.state, ends_us + GRACE_US - 1) is None
    assert overdue(session.study, session.state, ends_us + GRACE_US) == first
