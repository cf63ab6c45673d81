"""A designed conversation: what follows from each key, in a chat and side by side, and what is wrong with one."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from experiments.errors import Refused
from experiments.events import Data
from experiments.session.conversation import BEGIN, spent
from experiments.session.conversation_design import ConversationDesign
from experiments.session.engine import pending_tasks
from experiments.study.step import Step
from experiments.study.study import Study
from experiments.views.transcript import transcript_of
from problems.problem import Option
from storage.datasets.tidy.columns import Layout
from storage.datasets.tidy.rows import TidySession, rows
from storage.schemas import arena, chatbench
from tests.fakes.driven import ABOUT, Driven, places, small


def talk(design: Data, **keys: Any) -> Study:
    chat = {"step": "chat", "model": "m", **design}
    return small({"each": "item", "of": "pool", "flow": [chat]}, problems=[ABOUT], models=["m"], **keys)


def side_by_side(design: Data, **keys: Any) -> Study:
    return small({"step": "compare", **design}, models=["m", "n"], **keys)


def task(session: Driven, slot: str = "") -> Data:
    return next(job.data for job in pending_tasks(session.study, session.state) if job.slot == slot)


def messages(session: Driven) -> list[dict[str, Any]]:
    tidy = TidySession(session.study, session.state, {})
    return list(rows("messages", tidy, Layout((session.study,))))


def faults(*steps: Any, **keys: Any) -> list[str]:
    """The paths of what is wrong."""
    loop = {"each": "item", "of": "pool", "flow": list(steps)}
    found = places(small, loop, problems=[ABOUT], models=["m", "n"], **keys)
    return sorted(where.partition("flow[0].flow[")[2] for where in found)


def test_the_assistant_opens_by_its_own_words_and_they_are_neither_a_turn_nor_rated() -> None:
    session = Driven(talk({"opens": "Hello, I am here.", "rate_each": ["helpfulness"]}))
    assert (session.slots, session.actions, session.chat.waiting) == ([""], ("stop",), True)
    assert task(session)["fixed"] == "Hello, I am here."
    session.hear(text="Hello, I am here.", source="scripted")
    assert session.last.kind == "opened"
    assert [(one.role, one.text) for one in session.chat.messages] == [("Bot", "Hello, I am here.")]
    assert "rate" not in session.actions
    session.do("say", text="Hi")
    assert session.prompts == [[BEGIN, "Hello, I am here.", "Hi"]]
    session.hear(text="Yes?").do("rate", helpfulness="5")
    assert [len(one.rated) for one in session.chat.messages] == [0, 0, 1]
    assert session.chat.remaining == 19
    session.do()
    opened, said, replied = messages(session)
    assert [opened[name] for name in ("turn", "role", "model", "source")] == [None, "assistant", None, "opening"]
    assert [(one["turn"], one.get("source")) for one in (said, replied)] == [(1, None), (1, "model")]
    visit = transcript_of(session.study, session.state.events).visits[0]
    lines = [[line.text for line in turn.lines] for talk in visit.pages[0].talks for turn in talk.turns]
    assert lines == [["Hello, I am here."], ["Hi", "Yes?"]]


@pytest.mark.parametrize("mode", ["own", "winner"])
def test_columns_open_each_for_itself_and_the_votes_count_messages(mode: str) -> None:
    session = Driven(side_by_side({"opens": "model", "continue_with": mode}, export_schemas=["arena"]))
    assert session.slots == ["a", "b"]
    session.hear("a", "A opens").fails("unreachable", "b")
    assert session.actions == ("retry",)
    session.do("retry").hear("b", "B opens").do("say", text="Hi")
    assert session.prompts == [[BEGIN, "A opens", "Hi"], [BEGIN, "B opens", "Hi"]]
    session.hear("a").hear("b").do("vote", winner="a").do("say", text="Go on")
    second = "A opens" if mode == "winner" else "B opens"
    assert [one[1] for one in session.prompts] == ["A opens", second]
    assert [one.message for one in session.chat.rounds] == ["", "Hi", "Go on"]
    (vote,) = (row.values for row in arena.rows(session.study, session.state) if row.table == "arena_conversations")
    assert vote["turn"] == 1
    assert "A opens" in vote["conversation_a"]


def test_the_released_history_begins_with_the_opening() -> None:
    design = {"step": "chat", "model": "m", "opens": "Hello.", "answer": True}
    about = replace(ABOUT, options=(Option("A", "One", "One"), Option("B", "Two", "Two")), answer="A")
    loop = {"each": "item", "of": "pool", "flow": [design]}
    session = Driven(small(loop, problems=[about], models=["m"], export_schemas=["chatbench"]))
    session.hear(text="Hello.", source="scripted").do("say", text="Hi").hear(text="Yes").do(answer="A")
    (row,) = (row.values for row in chatbench.rows(session.study, session.state) if row.table == "conversations")
    assert row["chat_history"].startswith('[{"role":"Bot","content":"Hello."},{"role":"You"')


@pytest.mark.parametrize(
    ("ends", "text", "more", "why"),
    [
        ({"after": 1}, "Well", {}, "turns"),
        ({"mark": "[END]"}, "Bye", {"marked": True}, "mark"),
        ({"pattern": r"(?i)\bgood ?bye\b"}, "So goodbye!", {}, "pattern"),
        ({"mark": "[END]", "after": 2, "pattern": "bye"}, "Well", {}, None),
        ({"pattern": "(a|aa)+$"}, "a" * 500 + "b", {}, None),
    ],
)
def test_a_conversation_ends_by_a_rule_or_by_the_assistant(ends: Data, text: str, more: Data, why: str | None) -> None:
    session = Driven(talk({"ends": ends, "rate_each": ["helpfulness"]}))
    session.do("say", text="Hi").hear(text=text, **more)
    assert session.last.data.get("ended_by") == why
    assert ("pattern_missing" in session.last.data) == ("aaa" in text)
    assert "marked" not in session.last.data
    assert session.actions == ("rate",), "the last reply is rated as well"
    session.do("rate", helpfulness="5")
    assert session.actions == (("submit",) if why else ("say", "submit"))
    assert (bool(session.chat.over), session.chat.remaining) == (bool(why), 0 if why else 19)
    assert session.chat.may_end
    assert messages(session)[1].get("ended_by") == why
    both = Driven(side_by_side({"ends": ends})).do("say", text="Hi").hear("a", text, **more).hear("b")
    assert both.do("vote", winner="a").actions == (("submit",) if why else ("say", "submit"))


def test_a_suggested_message_is_recorded_as_it_was_or_edited() -> None:
    session = Driven(talk({"suggestions": {"texts": ["Why?", "Go on with {{item.dataset}}."]}}))
    assert session.chat.suggestions == ("Why?", "Go on with d.")
    session.do("say", text="Go on with d.").hear().do("say", text="Why not?", suggestion=1).hear().do("say", text="So")
    said = [event.data for event in session.state.events if event.kind == "said"]
    assert [one.get("suggestion") for one in said] == [2, 1, None]
    assert [one["suggested"] for one in messages(session) if one["role"] == "user"] == ["verbatim", "edited", None]
    with pytest.raises(Refused):
        session.hear().do("say", text="So", suggestion=3)


def test_what_a_model_wrote_is_kept_until_it_is_shown_and_costs_once() -> None:
    session = Driven(talk({"pace": 10}))
    session.do("say", text="Hi")
    screen = session.screen
    job = task(session)
    assert "written" not in job
    session.acts("write", "", text="All of it", shown=3, cost=1.0)
    assert (session.last.kind, session.screen) == ("written", screen)
    assert task(session)["written"] == {"model": "m", "text": "All of it", "shown": 3, "cost": 1.0, "at_us": 0}
    session.hear(text="All of it", cost=1.0)
    assert spent(session.state) == 1.0
    session.do("say", text="And?")
    assert "written" not in task(session)


def test_errors_come_all_at_once_each_at_its_key() -> None:
    wrong = {
        **{"step": "chat", "model": "m", "max_messages": 3, "min_messages": 2, "max_chars": 10, "max_reply_chars": 5},
        **{"delay_s": {"by": "dela", "pick": {}}, "pace": {"by": "tone", "pick": {"warm": 1, "cool": 2}}},
        **{"opens": {"by": "tone", "pick": {"warm": "Hi", "cool": "Hi"}}},
        **{"scripted": {4: "Too long a text"}, "ends": {"after": 1}, "suggestions": {"texts": ["Why?", "Why?"]}},
        "system_additions": [{"from_turn": 3, "text": "{{nme}}"}],
    }
    good = {"step": "chat", "id": "good", "model": "m", "delay_s": {"by": "delay", "pick": {2: 2, 9: 9, 20: 20}}}
    found = faults(wrong, good, factors={"tone": ["warm", "cold"], "delay": [2, 9, 20]})
    assert found == sorted(
        f"0]{key}"
        for key in (
            *(".pace", ".pace", ".opens", ".opens", ".scripted.4", ".ends.after"),
            *(".suggestions.texts[1]", ".system_additions[0]", ".system_additions[0].text", ".delay_s"),
        )
    )


IMPOSSIBLE: tuple[Data, ...] = (
    *({"ends": {}}, {"ends": {"pattern": "("}}, {"delay_s": 500}, {"ends": {"after": 2.5}}),
    {"system_additions": [{"from_turn": 3, "to_turn": 2, "text": "x"}]},
)


@pytest.mark.parametrize("design", IMPOSSIBLE)
def test_a_design_that_says_nothing_or_cannot_be_is_an_error(design: Data) -> None:
    assert faults({"step": "chat", "model": "m", **design})


def test_a_study_without_a_design_has_the_document_that_it_had() -> None:
    (chat,) = json.loads(talk({}).document)["file"]["flow"][0]["flow"]
    assert not {*ConversationDesign.model_fields.keys() - Step.model_fields, "assistant_picture"} & chat.keys()
