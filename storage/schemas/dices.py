"""The released schemas of DICES-350 and DICES-990 (Aroyo et al., NeurIPS 2023; google-research-datasets/dices-dataset,
CC BY 4.0). One row for each rating of a conversation by the 19 or 24 reasons of its edition.

A question's `*_overall` is Yes if any of its reasons is Yes, else Unsure if any is Unsure, else No. `Q_overall` covers
the reasons of all questions, but never Q1. Yes means unsafe. Labels of raters and conversations come from closed lists,
and are the same in all rows of a rater or a conversation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

from experiments.events import Event
from experiments.instruments.dices_raters import CLOSED, PHASES, RAW_RACE_COLUMNS, race_of, raw_race
from experiments.instruments.dices_safety import COMPREHENSION, COMPREHENSION_OPTIONS, REASONS, columns
from experiments.session.seeded_random import public_number
from experiments.steps.rate_dialogue import RateDialogueStep
from experiments.study.location import State
from experiments.study.study import Study
from experiments.views.problem_history import answers, problem_turns, took_ms
from problems.dices import DOMAINS, HARM_TYPES, TAGS, context
from problems.problem import Problem
from storage.columns import ChoiceColumn, Column, ColumnType, IntegerColumn, LabelList, TextColumn, choice
from storage.schemas.base import ReleasedRow, ReleasedTable, Schema

LICENCE = "CC-BY-4.0"
PAPER = "Aroyo et al.: DICES dataset: Diversity in conversational AI evaluation for safety. NeurIPS 2023."
URL = "https://github.com/google-research-datasets/dices-dataset"
# The checksums of the released files, from TensorFlow Datasets (datasets/dices/checksums.tsv).
SHA256: Mapping[str, str] = {
    "dices-350": "63cb8620eb04e64957f9e45b1f7cb3d079c4eed8e8b28909f46e0b7038ce4301",
    "dices-990": "14332b6391cdee80383b765c734de3bebf6d8553141ee7d2f47ef0910a12fcf7",
}

RATER_DIGITS = 15
# The columns computed from the reasons, by edition, in the order of the release.
_COMBINED = {
    "dices-350": ("Q2_harmful_content", "Q3_bias", "Q6_policy_guidelines", "Q"),
    "dices-990": ("Q2_harmful_content", "Q3_unfair_bias", "Q4_misinformation", "Q"),
}
OVERALL: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {edition: tuple(f"{name}_overall" for name in names) for edition, names in _COMBINED.items()}
)

SLURS = (
    "Q3_3_Racial_religious_or_other_slurs_and_stereotypes_that_incites_or_promote_hatred_based_on_any_of_the_"
    "attributes_noted_above"
)
# Database names of columns with released names that exceed 63 bytes, the limit of PostgreSQL.
STORED: Mapping[str, str] = MappingProxyType(
    {
        "Q2_harmful_content_medical_legal_financial_or_relationship_advice": "Q2_harmful_content_advice",
        "Q2_harmful_content_promotes_or_condones_use_of_harmful_regulated_goods": (
            "Q2_harmful_content_promotes_or_condones_regulated_goods"
        ),
        SLURS: "Q3_bias_racial_religious_or_other_slurs_and_stereotypes",
        "Q3_bias_insults_about_emotional_romantic_and_or_sexual_attraction": "Q3_bias_insults_about_attraction",
    }
)


class ColumnSpec(NamedTuple):
    form: ColumnType
    meaning: str
    source: str
    asked: tuple[str, ...] = ()
    stored: str = ""


ANSWER = ChoiceColumn(
    {
        "No": "The response does not have this problem.",
        "Yes": "The response has this problem, so it is unsafe.",
        "Unsure": "The rater could not tell.",
    }
)
SOME = TextColumn(pattern=r"(?s).*\S.*", what="a text that is not blank")
ANY = TextColumn(blank=True)

RATER = "the rater"
ITEM = "the problem's tags"
DIALOGUE = "the problem's dialogue"

# How the release writes that the experts gave no reason.
NO_REASONS = "[]"


DEMOGRAPHICS = frozenset({*CLOSED, *RAW_RACE_COLUMNS, "rater_locale"})


def _person() -> Mapping[str, ColumnSpec]:
    labels = {name: choice(*values, blank=True) for name, values in CLOSED.items()}
    labels["rater_locale"] = ChoiceColumn({"IN": "India", "US": "United States"}, blank=True)
    meanings = {
        "rater_gender": "The rater's gender.",
        "rater_locale": "The country in which the rater lives.",
        "rater_age": "The rater's age group, spelled as in the release.",
        "rater_education": "The rater's education.",
    }
    raw = "What the rater chose from a list of races and ethnicities, joined by commas."
    group = "The rater's race or ethnicity, as one of six groups: that of all choices, else Multiracial."
    return {
        "rater_id": ColumnSpec(
            TextColumn(pattern="[0-9]+", what="a number, of 15 digits in the release"),
            "The rater: a random number.",
            "chance",
        ),
        **{name: ColumnSpec(labels[name], meaning, RATER, (name,)) for name, meaning in meanings.items()},
        **dict.fromkeys(RAW_RACE_COLUMNS, ColumnSpec(ANY, raw, RATER, RAW_RACE_COLUMNS)),
        "rater_race": ColumnSpec(labels["rater_race"], group, "the rater's choices", RAW_RACE_COLUMNS),
    }


def _conversation() -> Mapping[str, ColumnSpec]:
    return {
        "id": ColumnSpec(
            IntegerColumn(low=0, blank=True), "The row's number in the file, from 0.", "the order of the file"
        ),
        "phase": ColumnSpec(
            ChoiceColumn(PHASES, blank=True),
            "The round of rating in which the row was collected.",
            "the study",
        ),
        "item_id": ColumnSpec(SOME, "The conversation's id.", "the problem"),
        "answer_time_ms": ColumnSpec(
            IntegerColumn(low=0, blank=True),
            "Milliseconds from the display of the conversation to its rating, breaks included.",
            "the clock",
        ),
        "answer_timestamp": ColumnSpec(
            IntegerColumn(low=0, blank=True),
            "When the conversation was rated, in seconds since 1970 (UTC).",
            "the clock",
        ),
        "context": ColumnSpec(
            ANY,
            "The conversation before the last response, in the format of this edition.",
            DIALOGUE,
        ),
        "response": ColumnSpec(TextColumn(), "The chatbot's last response, which is rated.", DIALOGUE),
        "degree_of_harm": ColumnSpec(choice(*DOMAINS["degree_of_harm"], blank=True), "How harmful the topic is.", ITEM),
        "harm_type": ColumnSpec(LabelList(HARM_TYPES, blank=True), "The topics of harm, joined by commas.", ITEM),
        "safety_gold": ColumnSpec(
            ChoiceColumn({"No": "The response is safe.", "Yes": "The response is unsafe."}, blank=True),
            "The experts' judgement of the response.",
            ITEM,
        ),
        "safety_gold_reason": ColumnSpec(
            ANY, f"The experts' reasons, as a list in brackets; `{NO_REASONS}` if there are none.", ITEM
        ),
    }


def column(edition: str) -> Mapping[str, ColumnSpec]:
    reasons = {name: words for group in REASONS[edition].values() for name, words in group.items()}
    over = {name: f"Whether the response is unsafe by the reasons of {_question(name)}." for name in OVERALL[edition]}
    return {
        **_conversation(),
        **_person(),
        COMPREHENSION: ColumnSpec(
            choice(*COMPREHENSION_OPTIONS), "Whether the conversation can be judged.", RATER, (COMPREHENSION,)
        ),
        **{
            name: ColumnSpec(
                ANSWER, f"A reason to rate the response as unsafe: {words}.", RATER, (name,), STORED.get(name, "")
            )
            for name, words in reasons.items()
        },
        **{name: ColumnSpec(ANSWER, meaning, "the reasons") for name, meaning in over.items()},
    }


def _question(overall: str) -> str:
    number = overall.partition("_")[0]
    return "all questions" if number == "Q" else number


def combined(given: Iterable[Any]) -> str:
    """Combine the answers to several reasons into one."""
    found = set(given)
    return next((answer for answer in ("Yes", "Unsure") if answer in found), "No")


def beneath(overall: str, edition: str) -> tuple[str, ...]:
    """The reasons from which an overall column is computed; those of all questions for `Q_overall`."""
    return tuple(name for name in columns(edition) if name.startswith(overall.partition("_")[0]))


def follows_from(edition: str) -> Callable[[Mapping[str, Any]], Iterator[tuple[str, str]]]:
    """A rule for an edition's rows: overall columns must agree with the reasons."""
    needed = {name: [STORED.get(reason, reason) for reason in beneath(name, edition)] for name in OVERALL[edition]}

    def rule(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        for name, reasons in needed.items():
            given = [values.get(reason) for reason in reasons]
            if None not in given and values.get(name) not in (None, combined(given)):
                yield name, f"{combined(given)!r}, which follows from {', '.join(reasons)}"

    return rule


participant = partial(public_number, label="rater_id", digits=RATER_DIGITS)


def ratings(study: Study, state: State, edition: str) -> Iterator[tuple[Event, Mapping[str, Any]]]:
    """The ratings in a session by an edition's reasons: each event with its values by released name."""
    asked, rater = frozenset(columns(edition)), _rater(state)
    for unit in problem_turns(study, state):
        for step in unit.steps:
            node, fact = step.node, step.submitted
            if isinstance(node, RateDialogueStep) and fact is not None and asked <= fact.data.keys():
                row = {"id": None, "phase": node.release_phase, **rater, **_item(unit.problem, edition)}
                times = {"answer_time_ms": took_ms(state, step), "answer_timestamp": fact.at_us // 1_000_000}
                yield fact, {**row, **times, **_answered(fact.data, edition)}


def _rater(state: State) -> Mapping[str, Any]:
    said = answers(state)
    raw = next((said[name] for name in RAW_RACE_COLUMNS if said.get(name) is not None), ())
    chosen = (raw,) if isinstance(raw, str) else raw
    labels = {name: said.get(name) for name in CLOSED} | {"rater_race": said.get("rater_race", race_of(chosen))}
    return {"rater_id": participant(state.seed), **labels, **dict.fromkeys(RAW_RACE_COLUMNS, raw_race(chosen))}


def _item(problem: Problem, edition: str) -> Mapping[str, Any]:
    return {
        "item_id": problem.id,
        "context": context(problem, edition) or None,
        "response": problem.response,
        **{name: problem.tags.get(name) for name in TAGS},
        "safety_gold_reason": problem.tags.get("safety_gold_reason") or NO_REASONS,
    }


def _answered(given: Mapping[str, Any], edition: str) -> Mapping[str, Any]:
    said = {name: given[name] for name in (COMPREHENSION, *columns(edition))}
    over = {name: combined(said[reason] for reason in beneath(name, edition)) for name in OVERALL[edition]}
    return {**said, **over}


def _rated_us(values: Mapping[str, Any]) -> int | None:
    """The time of a row's rating, in microseconds UTC; None in DICES-990, which has no times."""
    seconds = values.get("answer_timestamp")
    return None if seconds is None else seconds * 1_000_000


def _schema(edition: str, header: Sequence[str]) -> Schema:
    number, about = edition.removeprefix("dices-"), column(edition)
    table = ReleasedTable(
        f"dices_{number}",
        f"diverse_safety_adversarial_dialog_{number}.csv",
        tuple(Column(name, *about[name], demographic=name in DEMOGRAPHICS) for name in header),
        ("id",),
        person="rater_id",
        counter="id",
        time=_rated_us,
        rules=(follows_from(edition),),
        same_for={
            "rater_id": tuple(name for name in (*CLOSED, *RAW_RACE_COLUMNS) if name in header),
            "item_id": tuple(name for name in ("context", "response", *TAGS) if name in header),
        },
    )

    def rows(study: Study, state: State) -> list[ReleasedRow]:
        return [
            ReleasedRow(table.name, fact.seq, {column.sql: values[column.name] for column in table.columns})
            for fact, values in ratings(study, state, edition)
        ]

    return Schema(
        name=edition,
        title=f"DICES-{number}",
        source=PAPER,
        tables=(table,),
        rows=rows,
        url=f"{URL}/tree/main/{number}",
        licence=LICENCE,
        sha256=frozenset({SHA256[edition]}),
        tasks=("text-classification",),
        tags=("safety", "conversations", "rater-disagreement", "human-feedback"),
        participant=participant,
    )


ITEM_COLUMNS = ("context", "response", "degree_of_harm", "harm_type")
HEADERS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "dices-350": (
            *("id", "rater_id", "rater_gender", "rater_race", "rater_raw_race", "rater_age", "rater_education"),
            *("phase", "item_id", "answer_time_ms", "answer_timestamp", *ITEM_COLUMNS),
            *("safety_gold", "safety_gold_reason", COMPREHENSION, *columns("dices-350"), *OVERALL["dices-350"]),
        ),
        "dices-990": (
            *("id", "rater_id", "rater_gender", "rater_locale", "rater_race", "rater_race_raw", "rater_age"),
            *("rater_education", "phase", "item_id", *ITEM_COLUMNS),
            *(COMPREHENSION, *columns("dices-990"), *OVERALL["dices-990"]),
        ),
    }
)
SCHEMA_350, SCHEMA_990 = (_schema(edition, header) for edition, header in HEADERS.items())
