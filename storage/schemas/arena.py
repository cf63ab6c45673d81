"""The arena's votes (Zheng et al.: NeurIPS 2023; FastChat; dataset lmsys/chatbot_arena_conversations).

`arena_votes` is a plain table with a row for each vote between two to four models. `arena_conversations` has the pairs
format that the arena's analysis reads: each model's conversation up to the vote, ending with that model's reply. It
holds votes between two models only. If each model was scored on a slider, a single best score wins; otherwise the vote
is a tie. A vote names the models that gave the replies that it compares.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

import orjson

from experiments.events import Event
from experiments.session.conversation import SPEAKERS
from experiments.session.seeded_random import public_id
from experiments.session.side_by_side import (
    BAD,
    SLOTS,
    TIE,
    ComparisonRound,
    Pair,
    histories,
    models_by_slot,
    rounds,
    winner,
)
from experiments.study.location import State
from experiments.study.study import Study
from experiments.views.problem_history import comparisons
from storage.columns import MESSAGES, ChoiceColumn, Column, IntegerColumn, JsonColumn, NumberColumn, TextColumn
from storage.schemas.base import UNMARKED, ReleasedRow, ReleasedTable, Schema

CHOSEN, DRAWN, CLOCK, STUDY = "the participant", "random assignment for each conversation", "the clock", "the study"
TALKED = "the participant and the model"
WINNERS = MappingProxyType(
    {
        "model_a": "the model on the left is better",
        "model_b": "the second model is better",
        "tie": "the models are equally good",
        "tie (bothbad)": "no model is good",
    }
)
OF_MORE = MappingProxyType({"model_c": "the third model is better", "model_d": "the fourth model is better"})
TIES = {TIE: "tie", BAD: "tie (bothbad)"}
SCORE = IntegerColumn(0, 100, blank=True)
SECONDS = NumberColumn(low=0)


def _is_talk(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(said, dict) and said.get("role") in SPEAKERS.values() and isinstance(said.get("content"), str)
        for said in value
    )


TALK = JsonColumn(_is_talk, "a list of objects with role (user or assistant) and content (a text)", MESSAGES)
TRUTH = JsonColumn(lambda value: isinstance(value, bool), "true or false", "boolean")

VOTE_COLUMNS = (
    Column("participant", TextColumn(), "The participant: ten random letters and digits.", "chance"),
    Column("conversation", TextColumn(), "The conversation: ten random letters and digits.", "chance"),
    Column("turn", IntegerColumn(low=1), "How many messages the conversation had when the vote was given.", STUDY),
    Column("model_a", TextColumn(), "The model on the left.", DRAWN),
    Column("model_b", TextColumn(), "The second model; of two models, the one on the right.", DRAWN),
    Column("model_c", TextColumn(blank=True), "The third model, if there is one.", DRAWN),
    Column("model_d", TextColumn(blank=True), "The fourth model, if there is one.", DRAWN),
    Column("winner", ChoiceColumn(MappingProxyType({**WINNERS, **OF_MORE})), "The vote.", CHOSEN, ("winner", "score")),
    *(
        Column(f"score_{slot}", SCORE, f"The score of model_{slot}, if votes are given by sliders.", CHOSEN, ("score",))
        for slot in SLOTS
    ),
    Column(
        "language",
        TextColumn(blank=True),
        "The language of the conversation; blank in a study's own data.",
        STUDY,
    ),
    Column("asked_tstamp", SECONDS, "When the last message was sent, in seconds UTC since 1970.", CLOCK),
    Column("tstamp", SECONDS, "When the vote was given, in seconds UTC since 1970.", CLOCK),
)
PAIR_COLUMNS = (
    Column("question_id", TextColumn(), "The vote: 32 random letters and digits.", "chance"),
    Column("model_a", TextColumn(), "The model on the left.", DRAWN),
    Column("model_b", TextColumn(), "The model on the right.", DRAWN),
    Column("winner", ChoiceColumn(WINNERS), "The vote.", CHOSEN, ("winner", "score")),
    Column("judge", TextColumn(), "The participant, as in arena_votes.csv.", "chance"),
    Column(
        "conversation_a",
        TALK,
        f"The conversation of model_a. {UNMARKED}",
        "the participant and the model",
        free_text=True,
    ),
    Column(
        "conversation_b",
        TALK,
        f"The conversation of model_b. {UNMARKED}",
        "the participant and the model",
        free_text=True,
    ),
    Column("turn", IntegerColumn(low=1), "How many messages the conversation had when the vote was given.", STUDY),
    Column("anony", TRUTH, "Whether the models' names were hidden; always true in Parley's data.", STUDY),
    Column(
        "language",
        TextColumn(blank=True),
        "The language of the conversation; null in a study's own data.",
        STUDY,
    ),
    Column("tstamp", SECONDS, "When the vote was given, in seconds UTC since 1970.", CLOCK),
)
VOTES = ReleasedTable("arena_votes", "arena_votes.csv", VOTE_COLUMNS, ("conversation", "turn"), "participant")
PAIRS = ReleasedTable("arena_conversations", "arena_conversations.json", PAIR_COLUMNS, ("question_id",), "judge")


participant = partial(public_id, label="judge")


def rows(study: Study, state: State) -> list[ReleasedRow]:
    """The votes of a session in order, and the pairs among them."""
    return [row for path, facts in comparisons(study, state) for row in _conversation(state, path, facts)]


def _conversation(state: State, path: str, events: Sequence[Event]) -> Iterator[ReleasedRow]:
    found, slots = rounds(events), list(models_by_slot(events))
    for number, one in enumerate(found):
        if one.vote is None:
            continue
        values = _vote(state, path, number + 1, one, one.vote)
        yield ReleasedRow(VOTES.name, one.vote.seq, values)
        if len(slots) == 2:
            talks = histories(found[: number + 1], slots)
            yield ReleasedRow(PAIRS.name, one.vote.seq, _pair(state, f"{path}:{number}", values, talks))


def _vote(state: State, path: str, turn: int, comparison: ComparisonRound, event: Event) -> dict[str, Any]:
    best = winner(event.data)
    replies = {slot: comparison.reply(slot) for slot in SLOTS}
    return {
        "participant": participant(state.seed),
        "conversation": public_id(state.seed, f"conversation:{path}"),
        "turn": turn,
        **{f"model_{slot}": reply.data["model"] if reply else None for slot, reply in replies.items()},
        "winner": TIES.get(best, f"model_{best}"),
        **{f"score_{slot}": event.data.get(f"score_{slot}") for slot in SLOTS},
        "language": None,
        "asked_tstamp": comparison.said.at_us / 1e6,
        "tstamp": event.at_us / 1e6,
    }


def _pair(state: State, label: str, vote: Mapping[str, Any], pairs: Mapping[str, Sequence[Pair]]) -> dict[str, Any]:
    same = ("model_a", "model_b", "winner", "turn", "language", "tstamp")
    return {
        "question_id": public_id(state.seed, f"question:{label}", 32),
        "judge": vote["participant"],
        **{name: vote[name] for name in same},
        **{f"conversation_{slot}": _talk(pairs[slot]) for slot in ("a", "b")},
        "anony": "true",
    }


def _talk(pairs: Sequence[Pair]) -> str:
    said = [event for pair in pairs for event in pair if event is not None]
    return orjson.dumps([{"role": SPEAKERS[e.kind], "content": e.data["text"]} for e in said]).decode()


SCHEMA = Schema(
    name="arena",
    title="Chatbot Arena",
    source="Zheng et al.: Judging LLM-as-a-judge with MT-Bench and Chatbot Arena. NeurIPS 2023.",
    tables=(VOTES, PAIRS),
    rows=rows,
    participant=participant,
    url="https://huggingface.co/datasets/lmsys/chatbot_arena_conversations",
    tasks=("text-generation",),
    tags=("human-feedback", "preference", "conversations"),
)
