"""Kinds of users on screens: when they speak, when they must answer, and what they leave to chance."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from app.bots.users.base import UnusableReply, UserAction
from app.bots.users.chat_user import MAX_TURNS
from app.bots.users.registry import USERS
from experiments.study.fields import Checkbox, Number, SingleChoice, Slider
from experiments.study.screen import (
    Approval,
    ChatMessage,
    ChatView,
    Panel,
    ProblemBlock,
    ProgressView,
    Screen,
    TextBlock,
    ToolStep,
)

OPTIONS = SingleChoice(name="answer", options={"A": "three", "B": "two"})
SCREEN = Screen(
    path="with_ai",
    seen=7,
    panel=Panel(
        blocks=(TextBlock("Read."), ProblemBlock("What is 1 + 1?")),
        fields=(OPTIONS,),
        chat=ChatView("Bot", (), 20, 100),
    ),
    progress=ProgressView("", 0),
    actions=("say",),
)
TALKERS = ("two_step", "two_step_problem", "two_step_help", "iqa_eval")


class Scripted:
    """A user's model that says what it is told to, and keeps what it was asked."""

    def __init__(self, *replies: str) -> None:
        self.replies, self.asked = list(replies), list[Sequence[Mapping[str, str]]]()

    async def __call__(self, messages: Sequence[Mapping[str, str]], read: Callable[[str], Any]) -> Any:
        self.asked.append(messages)
        return read(self.replies.pop(0))


def after(turns: int, *actions: str) -> Screen:
    said = tuple(ChatMessage(role, f"{role} {n}") for n in range(turns) for role in ("You", "Bot"))
    chat = replace(SCREEN.panel.chat, messages=said, remaining=20 - turns)
    return replace(SCREEN, panel=replace(SCREEN.panel, chat=chat), actions=actions or ("say", "submit"))


def act(kind: str, screen: Screen, *replies: str) -> tuple[UserAction, Scripted]:
    ask = Scripted(*replies)
    user = USERS.find(kind).made("seed")
    return asyncio.run(user.act(screen, ask)), ask


@pytest.mark.parametrize("kind", TALKERS)
def test_nobody_answers_before_the_first_message(kind: str) -> None:
    deed, ask = act(kind, SCREEN, '"YOU: help me with this"')
    assert deed.kind == "say"
    if kind == "two_step_help":
        assert "first step" in deed.values["text"]
        assert ask.asked == [], "its first message is fixed"
    else:
        assert deed == UserAction("say", {"text": "help me with this"})
        (messages,) = ask.asked
        assert "What is 1 + 1?\nA. three\nB. two" in messages[0]["text"]


@pytest.mark.parametrize("kind", TALKERS)
def test_after_ten_messages_there_must_be_an_answer(kind: str) -> None:
    assert act(kind, after(MAX_TURNS - 1), "and why?")[0] == UserAction("say", {"text": "and why?"})
    with pytest.raises(UnusableReply, match="The conversation is over"):
        act(kind, after(MAX_TURNS), "and why?")
    with pytest.raises(UnusableReply, match="The conversation is over"):
        act(kind, after(3, "submit"), "and why?")


@pytest.mark.parametrize("kind", TALKERS)
def test_what_is_no_conversation_about_a_problem_is_left_to_chance(kind: str) -> None:
    consent = Panel(blocks=(TextBlock("Do you agree?"),), fields=(Checkbox(type="checkbox", name="agreed"),))
    deed, ask = act(kind, replace(SCREEN, panel=consent, actions=("submit",)))
    assert deed == UserAction("submit", {"agreed": "on"}, by_chance=True)
    retry, _ = act(kind, after(1, "retry", "submit"))
    assert retry == UserAction("retry", {}, by_chance=True)
    assert ask.asked == []


@pytest.mark.parametrize("said", ["4200 kg", "4200", "-4200.5"])
def test_a_number_is_given_where_one_is_asked_and_confidence_by_chance(said: str) -> None:
    fields = (Number(name="answer", unit="kg", integer=False), Slider(name="answer_confidence"))
    heavy = after(2)
    deed, _ = act("two_step", replace(heavy, panel=replace(heavy.panel, fields=fields)), f"Answer: {said}")
    assert deed.values["answer"] == said.removesuffix(" kg")
    assert 0 <= deed.values["answer_confidence"] <= 100
    assert not deed.by_chance


@pytest.mark.parametrize("kind", TALKERS)
def test_a_user_allows_calls_of_tools_and_reads_what_was_shown_of_them(kind: str) -> None:
    step = ToolStep("Find an order", "done", (("order", "7"),), "```\n<b>On its way.</b>")
    used = ChatMessage("Bot", "I look.", steps=(step,), interim=True)
    said = (ChatMessage("You", "Where?"), used, ChatMessage("Bot", "There."))
    chat = replace(SCREEN.panel.chat, messages=said, approval=Approval("c1", step))
    asked = replace(SCREEN, panel=replace(SCREEN.panel, chat=chat), actions=("allow", "deny", "stop"))
    assert act(kind, asked)[0] == UserAction("allow", {"call": "c1"})
    going_on = replace(SCREEN, panel=replace(SCREEN.panel, chat=replace(chat, approval=None)))
    _, ask = act(kind, going_on, "And now?")
    assert f"I look.\n\n{step.as_text}\n\nThere." in "".join(one["text"] for one in ask.asked[0])
