"""Calls of tools, whatever was asked for, decided and returned: each is there once, where it belongs."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import count
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from experiments.events import Action
from experiments.session.conversation import messages_of, spent
from experiments.session.engine import pending_tasks
from experiments.session.state import visited
from experiments.session.tool_calls import TOOL_ACTIONS
from experiments.study.screen import TranscriptBlock
from experiments.views.tool_use import seen_before, tool_uses
from experiments.views.transcript import transcript_of
from storage.datasets.tidy.columns import Layout, tables
from storage.datasets.tidy.rows import TidySession, rows
from storage.reports.conversations import conversation_at
from tests.fakes.driven import ABOUT, Driven, small
from tests.fakes.examples import examples
from tests.fakes.sessions import world

CHAT = {"step": "chat", "id": "chat", "model": "one", "tools": "desk", "max_messages": 99}
STUDY = small(
    {"each": "item", "of": "pool", "flow": [CHAT, {"step": "rate_turns"}]},
    problems=[ABOUT],
    models=["one"],
    tools={"desk": {"package": "desk", "writes": ["pay"], "max_calls": 100}},
)
PATH = "item[0]/chat"
# What the model does when a reply is due, and the participant when a decision is.
MOVES = st.lists(st.sampled_from(["find", "pay", "find pay", "odd", "reply", "fail", "deny", "allow"]), max_size=25)


def played(moves: list[str]) -> tuple[Driven, list[tuple[str, str]]]:
    """A session in which that happened, and each call as (id, decision)."""
    session, ids, decided = Driven(STUDY), count(1), dict[str, str]()
    for at_us, move in enumerate(moves, 1):
        _until_due(session, at_us)
        approval = session.chat.approval
        if approval is not None:
            decided[approval.call] = "refused" if move == "deny" else "allowed"
            session.do(*(("deny",) if move == "deny" else ("allow",)), at_us=at_us, call=approval.call)
        elif move in ("reply", "allow", "deny"):
            session.hear(text=f"Reply {at_us}.", version="v1")
        elif move == "fail":
            session.fails("status_500")
        else:
            calls: list[dict[str, Any]] = [
                {"id": f"c{number}", "tool": tool, "arguments": json.dumps({"order": f"<b>{number}</b>"})}
                for number, tool in zip(ids, move.split(), strict=False)
            ]
            for call in calls:
                call |= {"invalid": "No such tool."} if call["tool"] == "odd" else {}
                decided[call["id"]] = "undecided" if call["tool"] == "pay" else "not_asked"
            data = {"model": "one", "version": "v1", "text": f"I look {at_us}.", "calls": calls, "cost": 0.5}
            session.send(Action("call", PATH, data, at_us, by="model"))
    _calls(session, len(moves) + 1)
    return session, [*decided.items()]


def _until_due(session: Driven, at_us: int) -> None:
    """Make calls until the model or the participant is at turn, and say something if a reply is not due."""
    _calls(session, at_us)
    if session.chat.approval is None and not any(task.kind == "reply" for task in pending_tasks(STUDY, session.state)):
        session.do("retry" if "retry" in session.actions else "say", text="Where is it?", at_us=at_us)


def _calls(session: Driven, at_us: int) -> None:
    while (due := world(STUDY, session.state, at_us)) is not None and due.kind in TOOL_ACTIONS:
        session.send(replace(due, at_us=at_us + (due.kind == "return")))


@given(MOVES)
@examples(60)
def test_each_call_is_there_once_with_who_decided_and_in_the_reply_that_it_is_for(moves: list[str]) -> None:
    session, expected = played(moves)
    uses = tool_uses(session.state.facts.get(PATH, ()))
    assert [(use.call.id, use.decision) for use in uses] == expected
    layout = Layout((STUDY,))
    record = TidySession(STUDY, session.state, {})
    calls = [*rows("tool_calls", record, layout)]
    (table,) = [one for one in tables([STUDY]) if one.name == "tool_calls"]
    for row, use in zip(calls, uses, strict=True):
        assert {*row} <= {column.name for column in table.columns} | {"person", "wave"}
        assert (row["model"], row["version"], row["set"]) == ("one", "v1", "desk")
        assert (row["seconds"] == 1e-6) == (row["result"] == f"Result of {use.call.tool}.")
    told = {row["seq"]: row["tool_calls"] for row in rows("messages", record, layout) if row["role"] == "assistant"}
    assert told == {seq: sum(row["reply"] == seq for row in calls) for seq in told}
    assert spent(session.state) == 0.5 * len({row["seq"] for row in calls})
    said = [
        line
        for visit in transcript_of(STUDY, session.state.events).visits
        for page in visit.pages
        for talk in page.talks
        for turn in talk.turns
        for line in turn.lines
    ]
    assert [line.use for line in said if line.use] == [*uses]
    times_us = [line.at_us for line in said if line.at_us is not None]
    assert times_us == sorted(times_us)


@given(MOVES)
@examples(40)
def test_who_judges_a_conversation_reads_what_was_shown_of_its_calls(moves: list[str]) -> None:
    session, _ = played(moves)
    place = next((one for one in visited(STUDY, session.state) if one.path == PATH), None)
    assert place
    seen = [*seen_before(place).values()]
    answered = [use for use in tool_uses(place.facts) if use.reply]
    shown = [step for message in session.chat.messages for step in message.steps]
    assert all(f"{use.call.tool.capitalize()} (" in "".join(seen) for use in answered)
    assert len(re.findall(r" \((?:done|refused|failed)\)\n", "".join(seen))) == len(answered)
    told = "".join(message.text for message in conversation_at(place, "", "s").said) if messages_of(place.facts) else ""
    assert all(text in told for text in seen)
    if "submit" in session.actions:
        session.do(at_us=99)
        (block,) = [one for one in session.screen.panel.blocks if isinstance(one, TranscriptBlock)]
        rated = [step for message in block.messages for step in message.steps]
        assert rated == [step for step in shown if step in rated]
        assert len(rated) >= len(answered)
        assert len(block.ratings) == sum(message.role == "You" for message in block.messages)
