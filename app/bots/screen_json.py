"""Reads a screen from the JSON of the participant API (`view: screen`), for participants who come over HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter

from experiments.study.fields import AnyField, Field
from experiments.study.screen import (
    Block,
    ChatMessage,
    ChatView,
    CodeBlock,
    NoticeBlock,
    Panel,
    ProblemBlock,
    ProgressView,
    ReplyView,
    RoundView,
    Screen,
    TextBlock,
    Timing,
    TranscriptBlock,
)

FIELDS: TypeAdapter[tuple[Field, ...]] = TypeAdapter(tuple[AnyField, ...])


def screen_of(plain: Mapping[str, Any]) -> Screen:
    return Screen(
        **{
            **plain,
            "panel": _panel(plain["panel"]),
            "progress": ProgressView(**plain["progress"]),
            "timing": Timing(**plain["timing"]) if plain["timing"] else None,
            "actions": tuple(plain["actions"]),
        }
    )


def _panel(plain: Mapping[str, Any]) -> Panel:
    chat = plain["chat"]
    return Panel(
        plain["title"],
        tuple(_block(dict(block)) for block in plain["blocks"]),
        FIELDS.validate_python(plain["fields"]),
        ChatView(
            **{
                **chat,
                "messages": tuple(ChatMessage(**message) for message in chat["messages"]),
                "rating": FIELDS.validate_python(chat["rating"]),
                "rounds": tuple(_round(one) for one in chat["rounds"]),
            }
        )
        if chat
        else None,
        plain["button"],
        plain["decline"],
    )


def _round(plain: Mapping[str, Any]) -> RoundView:
    return RoundView(plain["message"], tuple(ReplyView(**reply) for reply in plain["replies"]), plain["voted"])


def _block(plain: dict[str, Any]) -> Block:
    match plain.pop("block"):
        case "text":
            return TextBlock(**plain)
        case "problem":
            return ProblemBlock(**{**plain, "options": tuple((key, text) for key, text in plain["options"])})
        case "transcript":
            ratings = tuple(FIELDS.validate_python(turn) for turn in plain["ratings"])
            return TranscriptBlock(
                **{
                    **plain,
                    "messages": tuple(ChatMessage(**message) for message in plain["messages"]),
                    "ratings": ratings,
                }
            )
        case "notice":
            return NoticeBlock(plain["text"], tuple(plain["about"]))
        case "code":
            return CodeBlock(**plain)
        case other:
            raise ValueError(f"no block is called {other!r}")
