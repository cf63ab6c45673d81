"""The live desk: who may ask, what a researcher can do, and that neither disturbs what is being filled in."""

from __future__ import annotations

from typing import Any

import pytest

from experiments.errors import NotPossible, Refused
from experiments.events import Action
from experiments.session.desk import MOST_UNANSWERED, Kind, can_end_with, remark
from experiments.session.engine import end_page, screen
from experiments.session.outcomes import ENDED_HERE
from experiments.session.timing import SECOND_US, deadlines, last_acted_us
from experiments.study.screen import CodeBlock
from experiments.views.quality_flags import flags
from experiments.views.transcript import transcript_of
from tests.fakes.driven import ABOUT, Driven, small

ASK = {"step": "survey", "id": "ask", "time_limit": {"after_s": 60},
       "questions": [{"type": "long_text", "name": "thought", "text": "A thought?"}]}  # fmt: skip
STEPS = (ASK, {"step": "info", "id": "read", "text": "Read."})
KEYS: dict[str, Any] = {"outcomes": {"complete": {"code": "DONE"}}, "session_limits": {"time_limit_s": 600}}


class AtDesk(Driven):
    def ask(self, text: str = "Stuck") -> AtDesk:
        return self.send(Action("ask_for_help", self.path, {"help": text}, 0, seen=0, key=None))

    def say(self, kind: Kind, text: str, at_us: int = 0) -> AtDesk:
        return self.send(remark(kind, text, "Ada", at_us))


@pytest.fixture
def session() -> AtDesk:
    return AtDesk(small(*STEPS, help="We answer soon.", **KEYS))


def test_who_waits_for_an_answer_is_flagged_and_cannot_ask_without_end(session: AtDesk) -> None:
    for _ in range(MOST_UNANSWERED):
        session.ask()
    assert [flag.what for flag in flags(session.study, session.state)] == ["waits_for_help"]
    with pytest.raises(Refused) as refused:
        session.ask()
    assert refused.value.reason == "too_fast"
    assert not flags(session.study, AtDesk(session.study).say("helped", "Unasked.").state)
    session.say("helped", "Soon.").ask()
    assert [flag.what for flag in flags(session.study, session.say("helped", "Now.").state)] == ["helped"]


@pytest.mark.parametrize(("text", "reason"), [("  ", "invalid"), ("x" * 1001, "invalid")])
def test_what_cannot_be_asked(session: AtDesk, text: str, reason: str) -> None:
    with pytest.raises(Refused) as refused:
        session.ask(text)
    assert refused.value.reason == reason


def test_given_time_moves_the_limits_of_this_screen_and_of_the_session(session: AtDesk) -> None:
    before = {due.kind: due.at_us for due in deadlines(session.study, session.state)}
    session.say("time_given", "2")
    after = {due.kind: due.at_us for due in deadlines(session.study, session.state)}
    assert {kind: (after[kind] - at_us) // SECOND_US for kind, at_us in before.items()} == {"step": 120, "session": 120}
    session.do(thought="So")
    (last,) = deadlines(session.study, session.state)
    assert (last.kind, last.at_us) == ("session", after["session"])


def test_a_session_that_the_clock_ended_took_until_the_last_that_its_participant_did() -> None:
    limit = {"after_s": 60, "on_expiry": "end"}
    study = small(STEPS[1], {**ASK, "time_limit": limit}, **{**KEYS, "session_limits": {}})
    session = AtDesk(study).do(at_us=3).expire({})
    assert session.screen.outcome == "timed_out"
    assert last_acted_us(session.state.events) == 3


@pytest.mark.parametrize("minutes", ["0", "-1", "1.5", "\u0661", "9999", ""])
def test_time_is_a_whole_number_of_minutes(session: AtDesk, minutes: str) -> None:
    with pytest.raises(NotPossible):
        session.say("time_given", minutes)


def test_a_session_ends_with_the_page_and_code_of_its_outcome_and_what_was_typed() -> None:
    finish = {"step": "finish", "text": "Bye."}
    study = small(ASK, flow=[ASK, {**finish, "code": "THANKS"}], outcomes={"timed_out": {"code": "LATE"}})
    assert can_end_with(study) == ("complete", "timed_out", "technical_failure")
    session = AtDesk(study)
    end = remark("finished", "complete", "Ada", 3)
    session.send(Action(end.kind, "", {**end.data, "typed": {"thought": "Half a"}}, 3, by="researcher"))
    assert (session.last.path, session.last.by, session.last.data["typed"]) == (
        "ask",
        "researcher",
        {"thought": "Half a"},
    )
    assert (end_page(study, session.state).code, session.screen.outcome) == ("THANKS", "complete")
    assert "THANKS" in [block.code for block in session.screen.panel.blocks if isinstance(block, CodeBlock)]
    assert [one.kind for one in transcript_of(study, session.state.events).remarks] == ["finished"]
    with pytest.raises(NotPossible):
        session.say("finished", "complete")
    with pytest.raises(NotPossible):
        AtDesk(study).say("finished", "off_protocol")


def test_a_session_is_not_ended_over_a_reply_that_is_being_written() -> None:
    loop = {"each": "item", "of": "pool", "flow": [{"step": "chat", "model": "m"}]}
    session = AtDesk(small(loop, problems=[ABOUT], models=["m"]))
    session.do("say", text="Hello")
    with pytest.raises(NotPossible):
        session.say("finished", "technical_failure")
    session.hear(text="Hi")
    assert screen(session.study, session.say("finished", "technical_failure").state).ended
    assert end_page(session.study, session.state).text == ENDED_HERE[1], "not that no reply came"
