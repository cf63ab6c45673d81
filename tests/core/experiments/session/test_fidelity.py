"""What a study's rules find in replies, and what becomes of a reply that breaks one."""

from __future__ import annotations

from typing import Any

import pytest

from experiments.errors import Refused
from experiments.events import Action
from experiments.session.engine import decide, pending_tasks
from experiments.session.fidelity import CHECKED, WITHHELD, may_withhold, recomputed
from experiments.session.state import current_location
from experiments.study.resolve import restore
from experiments.study.study import Study
from experiments.views.fidelity import AdherenceCell, AdherenceCount, adherence, verdicts
from experiments.views.transcript import transcript_of
from problems.problem import Option, Problem
from tests.fakes.driven import Driven, small

KEYS = [("A", "Sydney"), ("B", "Canberra"), ("C", "Perth")]
CAPITAL = Problem("p", "What is the capital?", "", "d", tuple(Option(k, t, t) for k, t in KEYS), "B")
HOLDS_BACK = {"name": "holds-back", "where": {"role": "tutor"}, "must_not": "answer", "before_turn": 3}
ASKS = {"name": "asks", "where": {"role": "tutor"}, "must": "question"}
SHORT = {"name": "short", "must": "words", "maximum": 3}
SCHEMA = {"type": "object", "properties": {"critical": {}}}
TONE = {"prompt": "{{conversation}}", "model": "two", "answer_schema": SCHEMA}
GIVEN, ASKED, LONG = "Canberra.", "What do you think?", "I think that it may be a large city?"


def of(*rules: dict[str, Any], step: str = "chat", **keys: Any) -> Study:
    node: dict[str, Any] = {"step": step, **({"model": "one"} if step == "chat" else {}), **keys}
    return small(
        {"each": "question", "of": "pool", "flow": [node]},
        problems=[CAPITAL],
        models=["one", "two"],
        factors={"role": ["tutor"]},
        fidelity=list(rules),
        annotators={"tone": TONE},
    )


def found(session: Driven) -> list[tuple[str, int, bool, bool | None]]:
    return [(one.rule, one.turn, one.shown, one.kept) for one in verdicts(session.state.events)]


def test_each_reply_has_a_verdict_by_each_rule_of_its_condition_and_turn() -> None:
    session = Driven(of(HOLDS_BACK, ASKS, SHORT, {**SHORT, "name": "not-here", "where": {"model": "two"}}))
    for text in (GIVEN, ASKED, LONG):
        session.do("say", text="Hm").hear(text=text, version="v1")
    assert found(session) == [
        *(("holds-back", 1, True, False), ("asks", 1, True, False), ("short", 1, True, True)),
        *(("holds-back", 2, True, True), ("asks", 2, True, True), ("short", 2, True, False)),
        *(("asks", 3, True, True), ("short", 3, True, False)),
    ]
    assert all(event.by == "system" for event in session.state.events if event.kind == CHECKED)
    count = adherence(verdicts(session.state.events))
    assert count[AdherenceCell((("role", "tutor"),), "holds-back", 1, "one", "v1")] == AdherenceCount(0, 1)
    assert [event.data for event in session.state.events if event.kind == CHECKED] == [
        *recomputed(restore(session.study.document), session.state)
    ]
    assert "holds-back" in str(transcript_of(session.study, session.state.events))


def test_a_reply_that_breaks_a_rule_is_asked_for_again_and_never_shown_until_the_tries_are_used_up() -> None:
    session = Driven(of({**HOLDS_BACK, "ask_again": 2}, SHORT)).do("say", text="Hm")
    seen = session.screen
    place = current_location(session.study, session.state)
    assert place
    assert may_withhold(place, "one", "")
    for text in ("It is B. Canberra.", GIVEN):
        session.hear(text=text)
        assert session.screen == seen
        assert pending_tasks(session.study, session.state)[0].kind == "reply"
    session.hear(text=f"{GIVEN} Yes.")
    assert [one.text for one in session.chat.messages] == ["Hm", f"{GIVEN} Yes."]
    assert found(session)[-2:] == [("holds-back", 1, True, False), ("short", 1, True, True)]
    assert [event.data["text"] for event in session.state.events if event.kind == WITHHELD] == [
        "It is B. Canberra.",
        GIVEN,
    ]
    assert [cell.all for cell in adherence(verdicts(session.state.events), withheld=True).values()] == [3, 3]
    session.do("say", text="And?").hear(text=GIVEN).hear(text=ASKED)
    assert [one.text for one in session.chat.messages][-1] == ASKED


def test_a_reply_that_ends_the_session_is_not_shown_and_nothing_says_why() -> None:
    session = Driven(of({**ASKS, "then": "end", "ask_again": 1})).do("say", text="Hm").hear(text=GIVEN).hear(text=GIVEN)
    assert (session.state.outcome, session.last.by) == ("off_protocol", "system")
    assert session.screen.ended
    assert "asks" not in str(session.screen)
    assert GIVEN not in str(session.screen)


JUDGE = {"name": "critical", "must": "judge", "annotator": "tone", "value": "critical", "one_of": ["true"]}


def judged_by(**more: Any) -> Driven:
    return Driven(of(JUDGE | more)).do("say", text="Hm")


def test_a_judge_for_whom_nobody_waits_is_heard_once_and_later() -> None:
    session = judged_by().hear(text=GIVEN)
    assert found(session) == []
    seen, replied = session.screen, session.last.seq
    finding = {"rule": "critical", "of": replied, "value": False, "judge": "two", "judge_version": "j1"}
    action = Action("judge", session.path, finding, 0, by="model")
    session.send(action)
    (one,) = verdicts(session.state.events)
    assert (one.kept, one.judge, one.judge_version, session.screen) == (False, "two", "j1", seen)
    with pytest.raises(Refused):
        decide(session.study, session.state, action)


@pytest.mark.parametrize(
    ("finding", "shown", "kept"), [({"value": False}, False, False), ({"missing": "budget"}, True, None)]
)
def test_a_reply_that_waits_for_its_judge_is_withheld_by_a_verdict_and_never_by_a_missing_one(
    finding: dict[str, Any], shown: bool, kept: bool | None
) -> None:
    session = judged_by(wait=True, ask_again=1).hear(text=GIVEN, judged={"critical": finding})
    assert found(session) == [("critical", 1, shown, kept)]
    assert "judged" not in str(session.state.events)
