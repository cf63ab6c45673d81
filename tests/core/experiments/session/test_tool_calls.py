"""Calls of tools as participants see and decide on them, without a server."""

from __future__ import annotations

from typing import Any

import pytest

from experiments.events import Action
from experiments.study.screen import typed
from experiments.study.sections.tools import ToolSet
from tests.fakes.driven import Driven, small

MODELS = ("one", "two")


def asked(*calls: str, arguments: str = "{}", **tools: Any) -> Driven:
    """Somebody whose message was answered in both columns by calls of these ids."""
    sets = {"desk": {"package": "desk", "approve": "always", **tools}}
    play = Driven(small({"step": "compare", "tools": "desk"}, models=MODELS, tools=sets))
    play.do("say", text="Hello")
    for slot in "ab":
        play.acts("call", slot, text="", calls=[{"id": one, "tool": "find", "arguments": arguments} for one in calls])
    return play


def decide(play: Driven, call: str, seen: int | None) -> Driven:
    return play.send(Action("allow", play.path, {"call": call}, 0, seen=seen))


def test_marks_that_show_a_text_in_another_order_are_shown_themselves() -> None:
    play = asked("c", arguments='{"to\u202e": "\u202d001", "names": ["\u202eÄda"]}')
    (one, _) = play.chat.approvals
    assert one.step.arguments == (("To\ufffd", "\ufffd001"), ("Names", '["\ufffdÄda"]'))


@pytest.mark.parametrize(
    ("name", "read"),
    [("get_order", "Get order"), ("getOrder", "Get Order"), ("a.b-c", "A b c"), ("__", "__"), ("pay", "Pay an order")],
)
def test_a_name_for_programs_is_read_by_its_label_or_else_by_its_words(name: str, read: str) -> None:
    assert ToolSet(package="desk", labels={"pay": "Pay an order"}).label(name) == read


def test_a_call_that_was_never_begun_is_not_said_to_have_failed() -> None:
    play = asked("c")
    decide(play, "a:c", play.screen.seen).acts("begin", "a").acts("interrupt", "a").do("stop")
    play.acts("fail", "a", reason="stopped").acts("fail", "b", reason="stopped")
    assert [reply.used[0].steps[0].state for reply in play.chat.rounds[-1].replies] == ["failed", "not_made"]


def test_a_reason_is_kept_while_it_is_typed_for_the_call_it_is_about_and_stands_with_it_once_it_is_given() -> None:
    play = asked("c")
    names = [one.draft for one in play.chat.approvals]
    assert len({*names}) == 2
    assert typed(play.screen, dict.fromkeys((*names, "call"), "No.")) == dict.fromkeys(names, "No.")
    play.send(Action("deny", play.path, {"call": "a:c", "why": "**No.**"}, 0, seen=play.screen.seen))
    assert [reply.used[0].steps[0].why for reply in play.chat.rounds[-1].replies] == ["**No.**", ""]
    assert typed(play.screen, {names[0]: "No."}) == {}
