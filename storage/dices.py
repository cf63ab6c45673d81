"""What the schemas of DICES's two editions share: what each column is, and how a rating becomes a row's values.

A schema lists its columns in the order of its release and looks each up here. Any Yes among the reasons of a question
makes its `*_overall` Yes, else any Unsure makes it Unsure, else it is No; `Q_overall` is over the reasons of all
questions, never over Q1. Yes means unsafe. What a live study cannot know (`id` and `phase`) stays blank.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from experiments.events import Event
from experiments.instruments.dices_safety import COMPREHENSION, COMPREHENSION_OPTIONS, REASONS, columns
from experiments.session.seeded_random import public_number
from experiments.session.state import State
from experiments.study.resolve import Study
from experiments.views.problem_history import answers, problem_turns, took_ms
from problems.dices import DOMAINS, TAGS, context
from problems.problem import Problem
from storage.column_types import ChoiceColumn, ColumnType, IntegerColumn, TextColumn, choice

LICENCE = "CC BY 4.0"
PAPER = "Aroyo et al.: DICES dataset: Diversity in conversational AI evaluation for safety. NeurIPS 2023."
URL = "https://github.com/google-research-datasets/dices-dataset"

RATER_DIGITS = 15
OVERALL: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "dices-350": (
            "Q2_harmful_content_overall",
            "Q3_bias_overall",
            "Q6_policy_guidelines_overall",
            "Q_overall",
        ),
        "dices-990": (
            "Q2_harmful_content_overall",
            "Q3_unfair_bias_overall",
            "Q4_misinformation_overall",
            "Q_overall",
        ),
    }
)
"""The columns that follow from the reasons, by edition, in the order of the release."""

SLURS = (
    "Q3_3_Racial_religious_or_other_slurs_and_stereotypes_that_incites_or_promote_hatred_based_on_any_of_the_"
    "attributes_noted_above"
)
README_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "Q6_policy_guidelines_other_type": "Q6_policy_guidelines_other",
        "Q3_bias_racial_religious_or_other_slurs_and_stereotypes": SLURS,
        "Q3_bias_overall": "Q3_unfair_bias_overall",
        "rater_raw_race": "rater_race_raw",
    }
)
"""Columns as the release's READMEs name them, with their names in its files. The last two are DICES-990's."""

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
"""Names in the database of columns whose own are longer than the 63 bytes that PostgreSQL keeps."""


class ColumnSpec(NamedTuple):
    """All about a column but its name, in the order in which a Column takes it."""

    form: ColumnType
    meaning: str
    source: str
    asked: tuple[str, ...] = ()
    stored: str = ""


ANSWER = ChoiceColumn(
    {
        "No": "The response does not have this problem.",
        "Yes": "It has, so it is unsafe.",
        "Unsure": "The rater could not tell.",
    }
)
SOME = TextColumn(pattern=r"(?s).*\S.*", what="a text that is not blank")
ANY = TextColumn(blank=True)

RATER = "the rater"
ITEM = "the problem's tags"
DIALOGUE = "the problem's dialogue"

RACES = (
    "Asian/Asian subcontinent",
    "Black/African American",
    "LatinX, Latino, Hispanic or Spanish Origin",
    "Multiracial",
    "Other",
    "White",
)


def _person() -> Mapping[str, ColumnSpec]:
    """The columns on the rater."""
    raw, own_words = ("rater_race_raw", "rater_raw_race"), "Race or ethnicity in the rater's own words."
    asked: Mapping[str, tuple[ColumnType, str]] = {
        "rater_gender": (choice("Man", "Woman", "Nonbinary", "Self-describe (below)", blank=True), "Gender."),
        "rater_locale": (ChoiceColumn({"IN": "India", "US": "United States"}, blank=True), "Where the rater lives."),
        "rater_race": (choice(*RACES, blank=True), "Race or ethnicity, one of six groups."),
        "rater_age": (choice("gen z", "millenial", "gen x+", blank=True), "Age group, as the release spells it."),
        "rater_education": (
            choice("High school or below", "College degree or higher", "Other", blank=True),
            "Education.",
        ),
    }
    return {
        "rater_id": ColumnSpec(
            TextColumn(pattern="[0-9]+", what="a number, of 15 digits in the release"),
            "The rater.",
            "chance",
        ),
        **{name: ColumnSpec(form, meaning, RATER, (name,)) for name, (form, meaning) in asked.items()},
        **dict.fromkeys(raw, ColumnSpec(ANY, own_words, RATER, raw)),
    }


def _conversation() -> Mapping[str, ColumnSpec]:
    """The columns on the conversation that is rated, and on the row."""
    return {
        "id": ColumnSpec(
            IntegerColumn(low=0, blank=True), "The row's number in the file, from 0.", "the order of the file"
        ),
        "phase": ColumnSpec(
            choice("Phase1", "Phase2", "Phase3", blank=True),
            "The round of rating that the row is from; blank in a study's own data.",
            "the release",
        ),
        "item_id": ColumnSpec(SOME, "The conversation.", "the problem"),
        "answer_time_ms": ColumnSpec(
            IntegerColumn(low=0, blank=True),
            "Milliseconds from seeing the conversation to rating it, breaks included.",
            "the clock",
        ),
        "answer_timestamp": ColumnSpec(
            IntegerColumn(low=0, blank=True), "When it was rated, in seconds since 1970 (UTC).", "the clock"
        ),
        "context": ColumnSpec(
            ANY,
            "The conversation before the last response, written as this edition writes it.",
            DIALOGUE,
        ),
        "response": ColumnSpec(TextColumn(), "The chatbot's last response, which is judged.", DIALOGUE),
        "degree_of_harm": ColumnSpec(choice(*DOMAINS["degree_of_harm"], blank=True), "How harmful the topic is.", ITEM),
        "harm_type": ColumnSpec(ANY, "Its topics, joined by commas.", ITEM),
        "safety_gold": ColumnSpec(
            ChoiceColumn({"No": "The response is safe.", "Yes": "It is unsafe."}, blank=True),
            "The experts' judgement.",
            ITEM,
        ),
        "safety_gold_reason": ColumnSpec(ANY, "The experts' reasons, a list in brackets.", ITEM),
    }


def column(edition: str) -> Mapping[str, ColumnSpec]:
    """What is to be told of every column that an edition has, by its released name."""
    reasons = {name: words for group in REASONS[edition].values() for name, words in group.items()}
    over = {name: f"Whether it is unsafe by the reasons of {_question(name)}." for name in OVERALL[edition]}
    return {
        **_conversation(),
        **_person(),
        COMPREHENSION: ColumnSpec(
            choice(*COMPREHENSION_OPTIONS), "Whether the conversation can be judged.", RATER, (COMPREHENSION,)
        ),
        **{
            name: ColumnSpec(ANSWER, f"A reason to call it unsafe: {words}.", RATER, (name,), STORED.get(name, ""))
            for name, words in reasons.items()
        },
        **{name: ColumnSpec(ANSWER, meaning, "the reasons") for name, meaning in over.items()},
    }


def _question(overall: str) -> str:
    number = overall.partition("_")[0]
    return "all questions" if number == "Q" else number


def combined(given: Iterable[Any]) -> str:
    """What the answers to several reasons come to."""
    found = set(given)
    return next((answer for answer in ("Yes", "Unsure") if answer in found), "No")


def beneath(overall: str, edition: str) -> tuple[str, ...]:
    """The reasons that a column follows from; those of every question for `Q_overall`."""
    return tuple(name for name in columns(edition) if name.startswith(overall.partition("_")[0]))


def follows_from(edition: str) -> Callable[[Mapping[str, Any]], Iterator[tuple[str, str]]]:
    """The rule of an edition's rows: what follows from the reasons is what the row says."""
    needed = {name: [STORED.get(reason, reason) for reason in beneath(name, edition)] for name in OVERALL[edition]}

    def rule(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        for name, reasons in needed.items():
            given = [values.get(reason) for reason in reasons]
            if None not in given and values.get(name) not in (None, combined(given)):
                yield name, f"{combined(given)!r}, which follows from {', '.join(reasons)}"

    return rule


def ratings(study: Study, state: State, edition: str) -> Iterator[tuple[Event, Mapping[str, Any]]]:
    """Each rating that a session made by an edition's reasons: its fact, and the values by released name."""
    asked, rater = frozenset(columns(edition)), _rater(state)
    for unit in problem_turns(study, state):
        for step in unit.steps:
            fact = step.submitted
            if step.kind == "rate_dialogue" and fact is not None and asked <= fact.data.keys():
                times = {"answer_time_ms": took_ms(state, step), "answer_timestamp": fact.at_us // 1_000_000}
                yield fact, {**rater, **_item(unit.problem, edition), **times, **_answered(fact.data, edition)}


def _rater(state: State) -> Mapping[str, Any]:
    said = answers(state)
    names = ("rater_gender", "rater_locale", "rater_race", "rater_age", "rater_education")
    raw = said.get("rater_race_raw", said.get("rater_raw_race"))
    given = {**{name: said.get(name) for name in names}, "rater_race_raw": raw, "rater_raw_race": raw}
    texts = {name: None if value is None else str(value) for name, value in given.items()}
    return {**texts, "id": None, "phase": None, "rater_id": public_number(state.seed, "rater_id", RATER_DIGITS)}


def _item(problem: Problem, edition: str) -> Mapping[str, Any]:
    return {
        "item_id": problem.id,
        "context": context(problem, edition) or None,
        "response": problem.response,
        **{name: problem.tags.get(name) for name in TAGS},
    }


def _answered(given: Mapping[str, Any], edition: str) -> Mapping[str, Any]:
    said = {name: given[name] for name in (COMPREHENSION, *columns(edition))}
    over = {name: combined(said[reason] for reason in beneath(name, edition)) for name in OVERALL[edition]}
    return {**said, **over}
