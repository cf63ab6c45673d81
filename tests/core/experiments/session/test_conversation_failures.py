"""A conversation whose model gives no reply: what can be done then, what counts, and that the end is in reach."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.errors import Refused
from experiments.session.conversation import REFUSED
from experiments.session.engine import pending_tasks
from problems.problem import Option, Problem
from storage.schemas import arena, arena_2025
from tests.fakes.driven import Driven, small
from tests.fakes.examples import examples

FILTER, DOWN = "content_filter", "status_503"
PROBLEM = Problem(
    id="p", text="1 + 1?", plain="", dataset="d", options=(Option("A", "2", ""), Option("B", "3", "")), answer="A"
)
GIVEN: Mapping[str, Mapping[str, Any]] = {"submit": {"answer": "A"}, "say": {"text": "Again"}}


def talk_in(step: str = "chat", **keys: Any) -> Driven:
    """A session at a conversation."""
    asked = {"step": step, "id": "chat", **({"model": "one"} if step == "chat" else {}), **keys}
    loop = {"each": "item", "of": "pool", "flow": [asked]}
    return Driven(small(loop, problems=[PROBLEM], models=("one", "two")))


def refused(talk: Driven, text: str, reason: str) -> Driven:
    return talk.do("say", text=text).fails(reason)


@pytest.mark.parametrize("reason", sorted(REFUSED))
def test_a_refused_message_is_changed_and_sent_again_and_counts_once(reason: str) -> None:
    talk = refused(talk_in(max_messages=2, min_messages=1), "Something bad", reason)
    assert talk.actions == ("say",)
    assert (talk.chat.refused, talk.chat.remaining, bool(talk.chat.failed)) == ("Something bad", 2, True)
    assert [(said.role, said.ended) for said in talk.chat.messages] == [("You", "unanswered")]
    with pytest.raises(Refused):
        talk.do("retry")
    talk.do("say", text="Something good")
    assert talk.prompts == [["Something good"]]
    talk.hear(text="Well.")
    assert [event.kind for event in talk.state.facts[talk.path]] == ["said", "failed", "said", "replied"], (
        "nothing is overwritten"
    )
    assert (talk.actions, talk.chat.remaining, talk.chat.refused) == (("say", "submit"), 1, "")
    assert [said.ended for said in talk.chat.messages] == ["unanswered", "", ""]
    talk.do("say", text="More")
    assert talk.prompts == [["Something good", "Well.", "More"]]


@pytest.mark.parametrize(
    ("action", "refusal", "server"),
    [
        ("retry", ("say", "submit"), ("retry", "submit")),
        ("skip", ("say", "skip", "submit"), ("retry", "skip", "submit")),
        ("stop", ("say", "submit"), ()),
    ],
)
def test_what_the_study_says_after_the_tries(action: str, refusal: tuple[str, ...], server: tuple[str, ...]) -> None:
    keys = {"min_messages": 1, "on_failure": {"action": action}}
    assert refused(refused(talk_in(**keys), "Bad", FILTER), "Worse", FILTER).actions == refusal
    talk = refused(talk_in(**keys), "Hello", DOWN).do("retry").fails(DOWN)
    assert talk.actions == server
    assert talk.screen.outcome == ("technical_failure" if action == "stop" else "")


@pytest.mark.parametrize("step", ["chat", "compare"])
def test_a_reply_that_was_stopped_is_no_failure_and_gives_its_message_back(step: str) -> None:
    talk, columns = talk_in(step, min_messages=2, max_messages=2), ("a", "b") if step == "compare" else ("",)
    for number in range(3):
        talk.do("say", text=f"Helo {number}").do("stop")
        for slot in columns:
            talk.fails("stopped", slot)
        assert (talk.actions, talk.chat.refused) == (("say",), f"Helo {number}")
        assert (talk.chat.remaining, talk.chat.minimum, talk.chat.way_on) == (2, 2, False)
    talk.do("say", text="Hello")
    assert talk.prompts == [["Hello"]] * len(columns)


def test_in_columns_a_message_that_one_model_refused_is_replaced_in_all() -> None:
    talk = talk_in("compare", max_messages=2, continue_with="winner")
    talk.do("say", text="Bad").hear("a", "Well.").fails(FILTER, "b")
    assert (talk.actions, talk.chat.refused, talk.chat.remaining) == (("say",), "Bad", 2)
    assert "could not be answered" in talk.chat.rounds[-1].replies[1].failed
    talk.do("say", text="Good")
    assert talk.prompts == [["Good"], ["Good"]]
    assert [one.message for one in talk.chat.rounds] == ["Good"]
    for slot in "ab":
        talk.hear(slot, slot)
    assert (talk.actions, talk.chat.remaining) == (("vote",), 1)
    talk.do("vote", winner="b")
    assert talk.state.events[-1].data["turn"] == 0
    talk.do("say", text="More")
    assert talk.prompts == [["Good", "b", "More"]] * 2
    for released in (arena, arena_2025):
        texts = orjson.dumps([row.values for row in released.rows(talk.study, talk.state)]).decode()
        assert ("Good" in texts, "Bad" in texts) == (True, False), released.__name__
    kinds = [event.kind for event in talk.state.events]
    assert (kinds.count("said"), kinds.count("ordered")) == (3, 1)


reasons = st.sampled_from([FILTER, "context_length_exceeded", DOWN, "timeout_first_token", "empty_reply"])


def some_of(talk: Driven, moves: st.DataObject, most: int) -> None:
    for _ in range(moves.draw(st.integers(0, most))):
        if talk.screen.ended:
            return
        jobs = pending_tasks(talk.study, talk.state)
        stops = "stop" in talk.actions and moves.draw(st.booleans())
        if jobs and not stops:
            reason = "stopped" if jobs[0].data.get("stopped") else moves.draw(reasons)
            talk.fails(reason, jobs[0].slot)
        else:
            kind = moves.draw(st.sampled_from(talk.actions))
            talk.do(kind, **GIVEN.get(kind, {}))


def goes_on_to_the_end(talk: Driven, reason: str) -> bool:
    """Whether somebody who tries as long as nothing else can be done comes to the end without any reply."""
    for _ in range(40):
        if talk.screen.ended:
            return "replied" not in [event.kind for event in talk.state.events]
        if jobs := pending_tasks(talk.study, talk.state):
            talk.fails(reason, jobs[0].slot)
        else:
            kind = next(kind for kind in ("submit", "skip", "retry", "say") if kind in talk.actions)
            talk.do(kind, **GIVEN.get(kind, {}))
    return False


@given(st.integers(0, 3), st.sampled_from(["each_turn", "at_end"]), reasons, st.data())
@examples(40)
def test_columns_whose_models_always_fail_can_be_left(least: int, when: str, reason: str, moves: st.DataObject) -> None:
    talk = talk_in("compare", min_messages=least, max_messages=4, vote_when=when)
    some_of(talk, moves, 12)
    assert goes_on_to_the_end(talk, reason)
