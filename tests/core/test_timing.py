"""The clock's rules: limits of steps and of the whole, more time, least times, who is away; a reload changes none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.errors import Refused
from experiments.events import Action
from experiments.session.conversation import ended
from experiments.session.engine import STALE, TOO_LATE, UNSENT, fold, pending_tasks, screen
from experiments.session.timing import (
    ENDING_US,
    GRACE_US,
    SECOND_US,
    TIME_UP,
    TIME_UP_UNSENT,
    Deadline,
    deadlines,
    overdue,
)
from experiments.study.screen import NoticeBlock, Timing
from experiments.study.study import Study
from experiments.views.quality_flags import flags
from tests.fakes.driven import ABOUT, Driven, small

START_US = 5_000 * SECOND_US
GRACE_S = GRACE_US / SECOND_US
ASK = {"step": "survey", "id": "ask", "questions": [{"type": "long_text", "name": "thought", "text": "A thought?"}]}
READ = {"step": "info", "id": "read", "text": "Read."}


def study_of(*flow: Mapping[str, Any], **times: float) -> Study:
    return small(*flow, session_limits=times)


class Session(Driven):
    """Somebody in a study; times are seconds since they began."""

    def __init__(self, study: Study) -> None:
        super().__init__(study, at_us=START_US)

    def act(self, at_s: float, kind: str = "submit", **values: Any) -> None:
        self.do(kind, at_us=us(at_s), **values)

    def note(self, at_s: float) -> None:
        self.send(Action("noted", "", {}, us(at_s), by="researcher"))

    def expire(self, at_s: float, **told: Any) -> None:
        self.send(Action("expire", self.path, told, us(at_s), by="system"))

    @property
    def timing(self) -> Timing:
        assert self.screen.timing is not None
        return self.screen.timing

    @property
    def recorded(self) -> tuple[str, dict[str, Any]]:
        return self.last.kind, dict(self.last.data)


def us(at_s: float) -> int:
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
    assert session.recorded == ("expired", {"typed": {"thought": "Half a"}})
    assert session.path == "next"
    assert session.timing == Timing()


@pytest.mark.parametrize("at_s", [70, 70 + GRACE_S - 0.001])
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
    assert session.recorded == ("finished", {"outcome": "timed_out", "why": "session"})


def test_who_is_away_too_long_is_timed_out_and_sees_no_countdown() -> None:
    session = Session(study_of(READ, ASK, away_after_s=600))
    session.act(100)
    assert session.timing == Timing()
    with pytest.raises(Refused):
        session.expire(699)
    session.expire(700 + GRACE_S)
    assert session.recorded == ("finished", {"outcome": "timed_out", "why": "away"})


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


SAID = {"text": "Hello"}


class TimedTalk(Session):
    """Somebody at a conversation of a minute, whose replies are given by hand."""

    def __init__(self, step: str = "chat", then: str = "continue", **times: float) -> None:
        item = {"step": step, "id": "talk", "time_limit": {"after_s": 60, "on_expiry": then}}
        item |= {"tools": "desk", **({"model": "one"} if step == "chat" else {})}
        loop = {"each": "item", "of": "pool", "take": 2, "flow": [item]}
        keys = {"tools": {"desk": {"package": "desk", "approve": "always"}}, "session_limits": times}
        super().__init__(small(loop, problems=[ABOUT, replace(ABOUT, id="q")], models=("one", "two"), **keys))

    def end_replies(self, at_s: float, kind: str, **data: Any) -> None:
        for job in pending_tasks(self.study, self.state):
            slot = {"slot": job.slot} if job.slot else {}
            self.send(Action(kind, job.path, {"model": "one", **data, **slot}, us(at_s), by="model"))


@pytest.mark.parametrize("step", ["chat", "compare"])
@pytest.mark.parametrize(
    ("then", "times"),
    [("continue", {}), ("end", {}), ("continue", {"time_limit_s": 50}), ("end", {"away_after_s": 60})],
)
def test_a_reply_on_the_screen_when_time_runs_out_is_recorded_before_it_does(
    step: str, then: str, times: dict[str, float]
) -> None:
    session, late_s = TimedTalk(step, then, **times), 60 + GRACE_S + 1
    session.act(1 if "away_after_s" not in times else 0.5, "say", **SAID)
    talk = session.path
    session.expire(late_s)
    assert (session.state.events[-1].kind, session.state.events[-1].by) == ("stopped", "system")
    assert screen(session.study, session.state).actions == ()
    assert all(job.data["stopped"] for job in pending_tasks(session.study, session.state))
    with pytest.raises(Refused):
        session.expire(late_s + 1)
    session.end_replies(late_s + 1, "reply", text="It was on the scr", finish_reason="stopped")
    session.expire(late_s + 1)
    facts = session.state.facts[talk]
    replies = [event.data for event in facts if event.kind == "replied"]
    assert {(one["text"], one["finish_reason"]) for one in replies} == {("It was on the scr", "expired")}
    assert {ended(event) for event in facts if event.kind == "replied"} == {"expired"}
    assert facts[-1].kind == ("expired" if (then, times) == ("continue", {}) else "finished")
    with pytest.raises(Refused):
        session.send(Action("reply", talk, {"model": "one", "text": "late"}, us(late_s + 2), by="model"))


def test_a_limit_does_not_wait_for_ever_for_a_reply_that_it_stopped() -> None:
    session = TimedTalk()
    session.act(1, "say", **SAID)
    talk = session.path
    session.expire(62)
    with pytest.raises(Refused):
        session.expire(62 + ENDING_US / SECOND_US - 0.1)
    session.expire(62 + ENDING_US / SECOND_US)
    assert session.state.facts[talk][-1].kind == "expired"


def test_what_is_sent_after_the_time_is_refused_as_late_and_not_as_a_second_tab() -> None:
    session = limited()
    seen = screen(session.study, session.state)
    with pytest.raises(Refused) as twice:
        session.send(Action("submit", "read", {}, us(11), seen=0))
    session.expire(70 + GRACE_S)
    with pytest.raises(Refused) as late:
        session.send(Action("submit", seen.path, {"thought": "x"}, us(73), seen=seen.seen))
    assert (late.value.message, twice.value.message) == (TOO_LATE, STALE)


def notices(session: Session) -> list[str]:
    blocks = screen(session.study, session.state).panel.blocks
    return [block.text.pattern for block in blocks if isinstance(block, NoticeBlock)]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("typed", "says"), [({}, TIME_UP), ({"thought": ""}, TIME_UP), ({"thought": "a"}, TIME_UP_UNSENT)]
)
def test_a_screen_that_comes_as_time_was_up_says_so_and_what_became_of_the_text(typed: Any, says: str) -> None:
    session = limited()
    assert notices(session) == []
    session.expire(70 + GRACE_S, typed=typed)
    assert notices(session) == [says]
    session.note(75)
    assert notices(session) == [says]
    session.act(80)
    assert notices(session) == []


@pytest.mark.parametrize(("typed", "says"), [({}, []), ({"thought": "Half a"}, [UNSENT])])
def test_a_session_that_times_out_keeps_what_stood_in_the_form(typed: dict[str, str], says: list[str]) -> None:
    session = limited("end")
    session.expire(70 + GRACE_S, typed=typed)
    assert (session.recorded[1].get("typed", {}), notices(session)) == (typed, says)


def row_of_limits(count: int = 5, **times: Any) -> Session:
    return Session(study_of(*({**READ, "id": f"r{n}", "time_limit": {"after_s": 60}} for n in range(count)), **times))


def run_out(session: Session, *attended: bool, at_s: float = 0) -> float:
    """One screen after the other runs out of time, with somebody there or not."""
    for there in attended:
        at_s += 70
        session.expire(at_s, attended=there)
    return at_s


@pytest.mark.parametrize("most", [1, 2, 3, None])
def test_a_session_that_nobody_attends_times_out_after_as_many_screens_as_the_study_says(most: int | None) -> None:
    session = row_of_limits(5, end_after_unattended=most)
    run_out(session, *[False] * (most or 5))
    assert session.state.outcome == ("timed_out" if most else "complete")
    if most:
        assert session.recorded == ("finished", {"outcome": "timed_out", "why": "unattended"})
    kinds = [event.kind for event in session.state.events]
    assert kinds.count("expired") == (most - 1 if most else 5)
    (flag,) = [flag for flag in flags(session.study, session.state) if flag.what == "unattended"]
    assert flag.path == "r0"


@pytest.mark.parametrize("there", [(True,), (False, True, False), (True, False, True, False, True)])
def test_a_screen_with_somebody_there_begins_the_row_anew(there: tuple[bool, ...]) -> None:
    session = row_of_limits(6)
    run_out(session, *there)
    assert session.state.outcome == ""
    assert any(flag.what == "unattended" for flag in flags(session.study, session.state)) == (False in there)


moments = st.lists(st.integers(0, 400), max_size=8)


@given(moments, moments, st.sampled_from(["continue", "end"]), st.integers(0, 3))
def test_nothing_but_an_answer_or_more_time_turns_a_clock_back(
    notes: list[int], looks: list[int], then: str, extensions: int
) -> None:
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
