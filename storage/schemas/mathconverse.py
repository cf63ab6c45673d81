"""MathConverse's released schema (Collins et al.: CheckMate. PNAS 2024; mathconverse_parsed_interactions.csv).

One row for each problem that was talked about, completed when its conversation is rated. Lists and dictionaries are
Python's `repr`, `MISSING` stands where a participant did not give something, and the blank first column
counts rows from 0 for each participant, all as in the released file. The preference of a set is written into its rows
when it is given.
"""

from __future__ import annotations

from typing import Any

from experiments.core.chance import public_uuid
from experiments.core.events import Event
from experiments.core.history import Unit, answers, ranks, units
from experiments.core.place import State
from experiments.core.resolve import Study
from storage.schemas.base import Column, Released, Row, Schema

MISSING = "MISSING"

COLUMNS = (
    Column("", "integer", "The row's number within its participant, from 0 (pandas' index).", stored="row_index"),
    Column("model", "text", "The model that replied."),
    Column("human_interactions", "text", "repr of the messages in order, each after 'User: '."),
    Column("model_responses", "text", "repr of the replies in order, each after 'AI: '."),
    Column("time_taken", "number", "Seconds from being shown the problem to the last rating."),
    Column("helpfulness_ratings", "text", "repr of a rating from 0 to 6 for each reply."),
    Column("correctness_ratings", "text", "repr of a rating from 0 to 6 for each reply."),
    Column("solo_solve", "text", "0 to 6: could they have solved it alone; MISSING if not said."),
    Column("problem_name", "text", "The problem's file name."),
    Column("final_prefs", "text", "repr of model -> rank (1 the best, ties allowed), or MISSING."),
    Column("interaction_set_idx", "integer", "Which set of problems, from 0."),
    Column("uid", "text", "The participant, a random UUID."),
    Column("mth_bkgrd", "text", "Experience with mathematics, one of six options."),
    Column("ai_play_bkgrd", "text", "Experience with AI systems, one of five options."),
    Column("selected_topic", "text", "The topic they chose."),
    Column("seen_problem_sets", "text", "repr of the numbers of the problem sets they met."),
)
INTERACTIONS = Released("mathconverse_interactions", "mathconverse_parsed_interactions.csv", COLUMNS, ("row_index",))


def rows(study: Study, state: State) -> list[Row]:
    """The rated conversations of a session that belong to no ChatBench answer, in order."""
    said, met = answers(state), units(study, state)
    sets = dict.fromkeys(unit.groups[-1] for unit in met if unit.groups)
    about = {name: _given(said.get(name)) for name in ("mth_bkgrd", "ai_play_bkgrd", "selected_topic")}
    about |= {
        "uid": public_uuid(state.seed, "uid"),
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


def _completed(unit: Unit) -> Event | None:
    """The fact by which a rated conversation is complete; None if it is not, or is none."""
    chat, rating = unit.step("chat"), unit.step("rate_turns")
    if chat is None or chat.submitted is None or "answer" in chat.submitted.data:
        return None
    return rating.submitted if rating else chat.submitted


def _row(study: Study, state: State, unit: Unit, last: Event, known: dict[str, Any]) -> Row:
    turns = unit.spoken()
    given = ranks(state, unit.loop)
    preference = _by_model(study, state, unit.loop, given) if given else None
    values = {
        "model": unit.values.get("model"),
        "human_interactions": repr([f"User: {turn.message.data['text']}" for turn in turns]),
        "model_responses": repr([f"AI: {turn.reply.data['text']}" for turn in turns]),
        "time_taken": (last.at_us - _shown_us(state, unit)) / 1e6,
        "helpfulness_ratings": repr([turn.ratings.get("helpfulness") for turn in turns]),
        "correctness_ratings": repr([turn.ratings.get("correctness") for turn in turns]),
        "solo_solve": _given(unit.answered("solo_solve")),
        "problem_name": unit.problem.id,
        "final_prefs": MISSING if preference is None else repr(preference),
        **known,
    }
    return Row(INTERACTIONS.name, last.seq, values)


def _given(value: Any) -> str:
    return MISSING if value is None else str(value)


def _shown_us(state: State, unit: Unit) -> int:
    """When the problem came on the screen: the time of the fact before its first."""
    first = unit.events()[0]
    return state.events[first.seq - 2].at_us


def _by_model(study: Study, state: State, loop: str, preference: list[int]) -> dict[str, int] | None:
    """Rank by model, in the order of the study's models; None where a model was met twice and so has two ranks."""
    met = [item.get("model", "") for item in state.draws[loop].items]
    given = dict(zip(met, preference, strict=True))
    return {name: given[name] for name in study.file.models if name in given} if len(given) == len(met) else None


SCHEMA = Schema(
    name="mathconverse",
    title="MathConverse",
    source="Collins et al.: Evaluating language models for mathematics through interactions. PNAS 2024.",
    tables=(INTERACTIONS,),
    rows=rows,
)
