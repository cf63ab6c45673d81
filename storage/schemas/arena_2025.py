"""The arena's votes as released in 2025 (dataset lmarena-ai/arena-human-preference-140k), which `arena-rank` reads.

One row for each vote between two models. A conversation side by side is an evaluation session; its votes are numbered
from 1. `conversation_a` and `conversation_b` have what was said since the vote before, `full_conversation` everything
up to the vote. Messages are lists of parts, as in the release; Parley's are one text each. Names, order and types of
the columns: the dataset's card. The release also has annotations and counts of tokens, which Parley does not make.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import orjson

from experiments.events import Event
from experiments.session.conversation import SPEAKERS
from experiments.session.seeded_random import public_uuid
from experiments.session.side_by_side import BAD, TIE, ComparisonRound, models_by_slot, rounds, winner
from experiments.study.location import State
from experiments.study.study import Study
from experiments.views.problem_history import comparisons
from storage.columns import ChoiceColumn, Column, IntegerColumn, JsonColumn, Shape, TextColumn
from storage.schemas.base import UNMARKED, ReleasedRow, ReleasedTable, Schema

CHOSEN, DRAWN, CLOCK, STUDY = "the participant", "random assignment for each conversation", "the clock", "the study"
TALKED = "the participant and the model"
ANNOTATED = "the release"
WINNERS = MappingProxyType(
    {
        "model_a": "the model on the left is better",
        "model_b": "the model on the right is better",
        "tie": "the models are equally good",
        "both_bad": "no model is good",
    }
)
TIES = {TIE: "tie", BAD: "both_bad"}
SIDES = ("a", "b")

PART: Shape = MappingProxyType({"type": "text", "text": "text", "image": "text", "mimeType": "text"})
MESSAGE: Shape = MappingProxyType({"role": "text", "content": (PART,)})
TALK: Shape = (MESSAGE,)
ROUND: Shape = MappingProxyType({"user": MESSAGE, "model_side_a": MESSAGE, "model_side_b": MESSAGE})


def _is_message(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("role"), str)
        and isinstance(value.get("content"), list)
        and all(isinstance(part, dict) and isinstance(part.get("type"), str) for part in value["content"])
    )


def _is_talk(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_message, value))


def _is_whole(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(one, dict)
        and _is_message(one.get("user"))
        and all(one.get(f"model_side_{side}") is None or _is_message(one[f"model_side_{side}"]) for side in SIDES)
        for one in value
    )


TIME = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?"
WHAT = "a list of objects with role and content (a list of parts with type and text)"
OBJECT = JsonColumn(lambda value: isinstance(value, dict), "an object", blank=True)
TRUTH = JsonColumn(lambda value: isinstance(value, bool), "true or false", "boolean", blank=True)
NULL = "null in a study's own data"

COLUMNS = (
    Column("id", TextColumn(), "The vote: a random UUID.", "chance"),
    Column("model_a", TextColumn(), "The model on the left.", DRAWN),
    Column("model_b", TextColumn(), "The model on the right.", DRAWN),
    Column("winner", ChoiceColumn(WINNERS), "The vote.", CHOSEN, ("winner", "score")),
    Column("evaluation_session_id", TextColumn(), "The conversation: a random UUID.", "chance"),
    Column("evaluation_order", IntegerColumn(low=1), "The number of the vote in its conversation, from 1.", STUDY),
    Column(
        "conversation_a",
        JsonColumn(_is_talk, WHAT, TALK),
        "The messages of model_a since the vote before.",
        TALKED,
        free_text=True,
    ),
    Column(
        "conversation_b",
        JsonColumn(_is_talk, WHAT, TALK),
        "The messages of model_b since the vote before.",
        TALKED,
        free_text=True,
    ),
    Column(
        "full_conversation",
        JsonColumn(
            _is_whole, "a list of objects with user, model_side_a and model_side_b (a message; null if none)", (ROUND,)
        ),
        f"All messages up to the vote, with the replies of both models to each. {UNMARKED}",
        TALKED,
        free_text=True,
    ),
    Column("conv_metadata", OBJECT, f"Counts of tokens and of Markdown; {NULL}.", ANNOTATED),
    Column("category_tag", OBJECT, f"Categories of the conversation; {NULL}.", ANNOTATED),
    Column("language", TextColumn(blank=True), f"The language of the conversation; {NULL}.", ANNOTATED),
    Column("is_code", TRUTH, f"Whether the conversation has code; {NULL}.", ANNOTATED),
    Column(
        "timestamp",
        TextColumn(TIME, "a date and time as in 2025-05-29T14:48:41"),
        "When the vote was given (UTC).",
        CLOCK,
    ),
)
VOTES = ReleasedTable(
    "arena_human_preference", "arena_human_preference.json", COLUMNS, ("id",), "evaluation_session_id"
)


def rows(study: Study, state: State) -> list[ReleasedRow]:
    """The votes of a session between two models, in order."""
    return [row for path, facts in comparisons(study, state) for row in _conversation(state, path, facts)]


def _conversation(state: State, path: str, events: Sequence[Event]) -> Iterator[ReleasedRow]:
    found = rounds(events)
    if tuple(models_by_slot(events)) != SIDES:
        return
    votes = {number: one.vote for number, one in enumerate(found) if one.vote is not None}
    for order, (before, last) in enumerate(pairwise([-1, *votes]), 1):
        vote = votes[last]
        values = {
            "id": public_uuid(state.seed, f"vote:{path}:{last}"),
            "evaluation_session_id": public_uuid(state.seed, f"conversation:{path}"),
            "evaluation_order": order,
            **_result(found[last], vote),
            **{f"conversation_{side}": _talk(found[before + 1 : last + 1], side) for side in SIDES},
            "full_conversation": orjson.dumps([_round(one) for one in found[: last + 1]]).decode(),
            **dict.fromkeys(("conv_metadata", "category_tag", "language", "is_code")),
        }
        yield ReleasedRow(VOTES.name, vote.seq, values)


def _result(comparison: ComparisonRound, event: Event) -> Mapping[str, Any]:
    replies = {side: comparison.reply(side) for side in SIDES}
    best = winner(event.data)
    at = datetime.fromtimestamp(event.at_us // 1_000_000, UTC).replace(microsecond=event.at_us % 1_000_000, tzinfo=None)
    return {
        **{f"model_{side}": reply.data["model"] if reply else None for side, reply in replies.items()},
        "winner": TIES.get(best, f"model_{best}"),
        "timestamp": at.isoformat(timespec="microseconds"),
    }


def _talk(rounds: Sequence[ComparisonRound], side: str) -> str:
    said = [event for one in rounds for event in (one.said, one.reply(side)) if event is not None]
    return orjson.dumps([_message(event) for event in said]).decode()


def _round(comparison: ComparisonRound) -> Mapping[str, Any]:
    replies = {side: comparison.reply(side) for side in SIDES}
    return {
        "user": _message(comparison.said),
        **{f"model_side_{side}": _message(reply) if reply else None for side, reply in replies.items()},
    }


def _message(event: Event) -> Mapping[str, Any]:
    part = {"type": "text", "text": event.data["text"], "image": None, "mimeType": None}
    return {"role": SPEAKERS[event.kind], "content": [part]}


SCHEMA = Schema(
    name="arena-2025",
    title="Arena human preferences",
    source="LMArena: arena-human-preference-140k. 2025. Chiang et al.: Chatbot Arena. ICML 2024.",
    tables=(VOTES,),
    rows=rows,
    url="https://huggingface.co/datasets/lmarena-ai/arena-human-preference-140k",
    tasks=("text-generation",),
    tags=("human-feedback", "preference", "conversations"),
)
