"""MathConverse's released schema (Collins et al.: CheckMate. PNAS 2024; mathconverse_parsed_interactions.csv).

One row for each problem with a conversation; it is complete when the conversation is rated, or its time has run out. As
in the released file, lists and dictionaries are Python's `repr`, `MISSING` marks values that the participant did not
give, and the first column, which has no name, counts each participant's rows from 0. The preference of a set is written
into its rows when the participant gives it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

from experiments.events import Event
from experiments.instruments.scales import CORRECTNESS, HELPFULNESS, SOLO_SOLVE
from experiments.session.conversation import messages
from experiments.session.seeded_random import public_uuid
from experiments.study.location import State
from experiments.study.study import Study
from experiments.views.problem_history import ProblemTurn, answers, model_at, problem_turns, ranks
from storage.columns import (
    ChoiceColumn,
    Column,
    IntegerColumn,
    NumberColumn,
    PythonLiteral,
    TextColumn,
    all_texts,
    choice,
    literal,
)
from storage.schemas.base import UNMARKED, ReleasedRow, ReleasedTable, Schema

MISSING = "MISSING"
UUID = "[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"

CHOSEN = "the participant"
STUDY = "the study"
EXPERTISE = (
    "Current undergraduate studying mathematics",
    "Undegraduate degree in mathematics",
    "Masters degree in mathematics",
    "PhD in mathematics",
    "Professor in mathematics",
    "Never studied for a math degree / not enrolled in math degree",
)
EXPERIENCE = ("Never", "A few times total", "A couple of times a month", "Weekly", "Daily")
TOPICS = ("Algebra", "Group Theory", "Number Theory", "Probability Theory", "Topology", "Linear Algebra")


def _are_ratings(value: Any) -> bool:
    return isinstance(value, list) and all(item is None or (type(item) is int and 0 <= item <= 6) for item in value)


def _are_ranks(value: Any) -> bool:
    return isinstance(value, dict) and all(type(rank) is int and 1 <= rank <= len(value) for rank in value.values())


def _are_sets(value: Any) -> bool:
    return isinstance(value, list) and all(type(item) in (int, str) for item in value)


def _ratings(scale: Mapping[str, str]) -> PythonLiteral:
    return PythonLiteral(_are_ratings, "a list of ratings from 0 to 6, in Python syntax", named=scale)


COLUMNS = (
    Column(
        "",
        IntegerColumn(low=0),
        "The row's number among its participant's rows, from 0 (pandas' index).",
        STUDY,
        stored="row_index",
    ),
    Column("model", TextColumn(), "The model that replied.", "random assignment"),
    Column(
        "human_interactions",
        PythonLiteral(all_texts, "a list of texts, in Python syntax"),
        "The messages in order, each after `User: `.",
        CHOSEN,
        free_text=True,
    ),
    Column(
        "model_responses",
        PythonLiteral(all_texts, "a list of texts, in Python syntax"),
        f"The replies in order, each after `AI: `. {UNMARKED}",
        "the model",
        free_text=True,
    ),
    Column(
        "time_taken",
        NumberColumn(low=0),
        "Seconds from the display of the problem to the last page about it (the last rating, or Done).",
        "the clock",
    ),
    Column("helpfulness_ratings", _ratings(HELPFULNESS), "A rating for each reply.", CHOSEN, ("helpfulness",)),
    Column("correctness_ratings", _ratings(CORRECTNESS), "A rating for each reply.", CHOSEN, ("correctness",)),
    Column(
        "solo_solve",
        ChoiceColumn(MappingProxyType({**SOLO_SOLVE, MISSING: "not answered"})),
        "Whether the participant could have solved the problem alone.",
        CHOSEN,
        ("solo_solve",),
    ),
    Column("problem_name", TextColumn(), "The problem's file name.", "the problem"),
    Column(
        "final_prefs",
        PythonLiteral(_are_ranks, "a dictionary of ranks from 1, in Python syntax", (MISSING,)),
        "The rank of each model; 1 is best, ties are allowed.",
        CHOSEN,
        ("rank",),
    ),
    Column("interaction_set_idx", IntegerColumn(low=0), "The number of the set of problems, from 0.", STUDY),
    Column("uid", TextColumn(UUID, "a UUID"), "The participant: a random UUID.", "chance"),
    Column(
        "mth_bkgrd",
        choice(*EXPERTISE, MISSING),
        "Experience with mathematics.",
        CHOSEN,
        ("mth_bkgrd",),
        demographic=True,
    ),
    Column(
        "ai_play_bkgrd",
        choice(*EXPERIENCE, MISSING),
        "Experience with AI systems.",
        CHOSEN,
        ("ai_play_bkgrd",),
        demographic=True,
    ),
    Column(
        "selected_topic", choice(*TOPICS, MISSING), "The topic that the participant chose.", CHOSEN, ("selected_topic",)
    ),
    Column(
        "seen_problem_sets",
        PythonLiteral(_are_sets, "a list of the numbers of sets, in Python syntax"),
        "The problem sets that the participant was given.",
        "random assignment",
    ),
)
TURNS = ("human_interactions", "model_responses", "helpfulness_ratings", "correctness_ratings")


def _as_many(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """There must be as many replies and ratings as messages."""
    wanted = len(literal(values[TURNS[0]]))
    for name in TURNS[1:]:
        if len(literal(values[name])) != wanted:
            yield name, f"{wanted} items, as many as human_interactions has"


INTERACTIONS = ReleasedTable(
    "mathconverse_interactions",
    "mathconverse_parsed_interactions.csv",
    COLUMNS,
    identity=("row_index",),
    person="uid",
    rules=(_as_many,),
)


participant = partial(public_uuid, label="uid")


def rows(study: Study, state: State) -> list[ReleasedRow]:
    """The rated conversations of a session, in order, without those that belong to a ChatBench answer."""
    said, met = answers(state), problem_turns(study, state)
    sets = dict.fromkeys(unit.groups[-1] for unit in met if unit.groups)
    about = {name: _or_missing(said.get(name)) for name in ("mth_bkgrd", "ai_play_bkgrd", "selected_topic")}
    about |= {
        "uid": participant(state.seed),
        "seen_problem_sets": repr([int(name) if name.isdecimal() else name for name in sets]),
    }
    rated = [(unit, last) for unit in met if (last := _completed(unit)) is not None]
    loops = list(dict.fromkeys(unit.loop for unit, _ in rated))
    return [
        _row(
            study,
            state,
            unit,
            last,
            {"row_index": number, "interaction_set_idx": loops.index(unit.loop), **about},
        )
        for number, (unit, last) in enumerate(rated)
    ]


def _completed(turn: ProblemTurn) -> Event | None:
    """The event that completes a rated conversation; None if it is incomplete or not a rated conversation."""
    chat, rating = turn.step("chat"), turn.step("rate_turns")
    if chat is None or chat.ended is None or chat.asks_answer:
        return None
    if chat.submitted is None and not messages(chat.events):
        return None
    return rating.ended if rating else chat.ended


def _row(study: Study, state: State, turn: ProblemTurn, event: Event, known: dict[str, Any]) -> ReleasedRow:
    turns = turn.spoken()
    given = ranks(state, turn.loop)
    preference = _by_model(study, state, turn.loop, given) if given else None
    values = {
        "model": model_at(turn.steps[0].node, turn.scope),
        "human_interactions": repr([f"User: {turn.message.data['text']}" for turn in turns]),
        "model_responses": repr([f"AI: {turn.reply.data['text']}" for turn in turns]),
        "time_taken": (event.at_us - _shown_us(state, turn)) / 1e6,
        "helpfulness_ratings": repr([turn.ratings.get("helpfulness") for turn in turns]),
        "correctness_ratings": repr([turn.ratings.get("correctness") for turn in turns]),
        "solo_solve": _or_missing(turn.answered("solo_solve")),
        "problem_name": turn.problem.id,
        "final_prefs": MISSING if preference is None else repr(preference),
        **known,
    }
    return ReleasedRow(INTERACTIONS.name, event.seq, values)


def _or_missing(value: Any) -> str:
    return MISSING if value is None else str(value)


def _shown_us(state: State, turn: ProblemTurn) -> int:
    """The time when the problem was displayed: that of the event before its first one."""
    first = turn.events()[0]
    return state.events[first.seq - 2].at_us


def _by_model(study: Study, state: State, loop: str, preference: list[int]) -> dict[str, int] | None:
    """Rank by model, in the order of the study's models; None if a model occurred twice and so has two ranks."""
    met = [item.get("model", "") for item in state.draws[loop].items]
    given = dict(zip(met, preference, strict=True))
    return {name: given[name] for name in study.file.models if name in given} if len(given) == len(met) else None


SCHEMA = Schema(
    name="mathconverse",
    title="MathConverse",
    source="Collins et al.: Evaluating language models for mathematics through interactions. PNAS 2024.",
    tables=(INTERACTIONS,),
    rows=rows,
    participant=participant,
    url="https://github.com/collinskatie/checkmate",
    sha256=frozenset({"90f9621f7ccaaa3dcec8954c74a8442138da417585184531349b04615fb1b8f9"}),  # at commit 03bc242
    tasks=("question-answering",),
    tags=("human-ai-interaction", "mathematics", "conversations", "human-feedback"),
)
