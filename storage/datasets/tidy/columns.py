"""The tables of the tidy export: their files and columns.

Each table has one kind of thing a row (Wickham: Tidy Data. Journal of Statistical Software 59(10), 2014). All have
`participant` and `session`, and most have the columns of a place: where in the study it was, and about which problem.
File names follow Psych-DS 1.0: pairs of keyword and value, then `_data`.

Three things depend on the study, so tables are made for its frozen versions: which id `participant` is, a column for
each factor in `sessions`, and the columns of `answers_wide`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

from experiments.session.outcomes import OUTCOMES, status_label
from experiments.session.seeded_random import public_id
from experiments.study.cells import factor_values
from experiments.study.fields import Checkbox, ChoiceField, Field, MultipleChoiceField, Number, Scale, Slider
from experiments.study.step import kinds
from experiments.study.study import Study
from experiments.views.transcript import WORDS
from storage.column_types import ChoiceColumn, ColumnType, IntegerColumn, NumberColumn, TextColumn, choice
from storage.schemas.base import Column, ReleasedTable, Schema
from storage.schemas.registry import schemas

NAME = "tidy"
CHANCE, PARTICIPANT, CLOCK, STUDY, PAGE, MODEL = (
    "chance",
    "the participant",
    "the clock",
    "the study",
    "the page",
    "the model",
)
RESEARCHER, PARLEY = "a researcher", "Parley"
ANY, SOME = TextColumn(blank=True), TextColumn()
TIME = TextColumn(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00", "a time in UTC, such as 2026-01-31T14:00:00.000+00:00", blank=True
)
COUNT, SECONDS, NUMBER = IntegerColumn(low=0, blank=True), NumberColumn(low=0, blank=True), NumberColumn(blank=True)
TURN = IntegerColumn(low=1, blank=True)
GIVEN = MappingProxyType(
    {
        "submitted": "sent with its form",
        "missed": "sent in an attempt at a check that did not pass",
        "expired": "entered, but not sent before the time limit",
        "rated": "sent beside a reply",
        "voted": "sent as a vote",
    }
)
ENDS = MappingProxyType(
    {
        "complete": "complete",
        "cut_off": "cut off at the longest length",
        "stopped": "stopped by the participant",
        "expired": "stopped by a time limit",
    }
)
MEASURES = MappingProxyType(
    {
        "paste_share": "the share of the written characters that was pasted",
        "typing_speed": "characters a second while keys were pressed, without pasted ones",
        "writing_speed": "characters a second of the time for which the screen was shown",
        "ai_likeness": "the share of a text that is in a reply of a model asked the same question alone",
        "hidden_word": "whether a text has the word of the hidden instruction (0 or 1)",
        "honeypot": "screens on which something was written in the hidden box",
        "duplicate": "how alike a text is to another session's in the same box, from 0 to 1",
    }
)
TRUTH = MappingProxyType({"0": "no", "1": "yes"})
YES_NO = IntegerColumn(0, 1, TRUTH, blank=True)


def participant_schemas(studies: Sequence[Study]) -> tuple[Schema, ...]:
    """The released schemas of a study that name people, in the order of its file."""
    named = dict.fromkeys(name for study in studies for name in study.file.export_schemas)
    return tuple(schemas()[name] for name in named if schemas()[name].participant is not None)


def participant_ids(studies: Sequence[Study]) -> Mapping[str, Callable[[str], str]]:
    """The columns of `sessions` with a person's ids, as functions of the session's seed. `participant` is the id in
    the files of the study's first schema; each further schema has a column of its own."""
    ids = {_id_column(one): one.participant for one in participant_schemas(studies) if one.participant}
    first = next(iter(ids), "")
    return {"participant": ids.pop(first, own_id), **ids}


def session_id(seed: str) -> str:
    """A session's id in the tidy export, from which neither the seed nor the participant's link can be derived."""
    return public_id(seed, "session")


def own_id(seed: str) -> str:
    """A participant's id in the tidy export of a study whose released schemas name nobody."""
    return public_id(seed, "participant")


def _id_column(schema: Schema) -> str:
    return f"{schema.name}_{_person(schema)}".replace("-", "_")


def _person(schema: Schema) -> str:
    return next(table.person for table in schema.tables if table.person)


def _keys(studies: Sequence[Study]) -> tuple[Column, ...]:
    named = participant_schemas(studies)
    same = f", as `{_person(named[0])}` in the files of the schema {named[0].name}" if named else ""
    return (
        Column("participant", SOME, f"The participant{same}: random letters or digits.", CHANCE),
        Column("session", SOME, "The session: ten random letters and digits, the same in all tables.", CHANCE),
    )


def _place() -> tuple[Column, ...]:
    return (
        Column(
            "path",
            ANY,
            "The place in the study: ids of phases, loops with the number of the turn from 0, and the step.",
            STUDY,
        ),
        Column("step", choice(*kinds(), blank=True), "The kind of the step.", STUDY),
        Column("phase", ANY, "The phase of the study, by its id.", STUDY),
        Column("position", COUNT, "The position of the problem in the session, from 0; as in released files.", STUDY),
        Column("dataset", ANY, "The dataset that the problem is from.", STUDY),
        Column("problem", ANY, "The problem, by its id.", STUDY),
    )


SEQ = Column("seq", IntegerColumn(low=1), "The number of the event in the session, from 1; orders the rows.", PARLEY)
AT = Column("time", TIME, "When it was recorded, in UTC.", CLOCK)
SCOPE_MODEL = Column("model", ANY, "The model that replies at this place, if one is assigned or drawn.", STUDY)
REPLY_TURN = Column(
    "turn", TURN, "The turn of the conversation: the participant's messages so far, from 1.", PARTICIPANT
)
SLOT = Column(
    "slot",
    choice(*"abcd", blank=True),
    "The column of a comparison, in the order in which they were shown: a first.",
    CHANCE,
)
VALUES = (
    Column(
        "value",
        ANY,
        "The answer as stored; several chosen options as a JSON list. Blank if there is none.",
        PARTICIPANT,
        free_text=True,
    ),
    Column("number", NUMBER, "The same, if it is a number or an option that is one.", PARTICIPANT),
    Column("label", ANY, "The text of the chosen option or options, joined by `; `.", STUDY),
)


def _answer_columns() -> tuple[Column, ...]:
    return (
        *_place(),
        SCOPE_MODEL,
        SEQ,
        AT,
        Column("status", ChoiceColumn(GIVEN), "How the answer was given.", PARTICIPANT),
        Column("question", SOME, "The name of the question.", STUDY),
        Column("wording", ANY, "The question as the participant read it.", STUDY),
        *VALUES,
        Column(
            "correct", YES_NO, "Whether it is right; blank if the question has no right answer.", "the question's key"
        ),
        Column(
            "advice", ANY, "The recommendation beside an answer: an option's key or a number; blank without one.", STUDY
        ),
        Column("advice_correct", YES_NO, "Whether the recommendation is right.", "the question's key"),
    )


def _rating_columns() -> tuple[Column, ...]:
    return (
        *_place(),
        SEQ,
        AT,
        Column("status", ChoiceColumn(GIVEN), "How the rating was given.", PARTICIPANT),
        Column(
            "rating", SOME, "The name of the rating, such as helpfulness, rank, winner or a reason of DICES.", STUDY
        ),
        Column("wording", ANY, "The question as the participant read it.", STUDY),
        *VALUES,
        Column("conversation", ANY, "The path of the rated conversation; blank for the dialogue of a problem.", STUDY),
        Column("turn", TURN, "The rated turn, from 1; blank if the whole conversation is rated.", STUDY),
        SLOT,
        Column("model", ANY, "The model that gave the rated reply.", STUDY),
    )


def _score_columns() -> tuple[Column, ...]:
    return (
        *_place(),
        SEQ,
        AT,
        Column("instrument", SOME, "The instrument, by its name in the study file.", STUDY),
        Column("score", SOME, "The score, by its name in the instrument's file.", STUDY),
        Column("value", NUMBER, "The score; blank if too many of its items were not answered.", PARLEY),
        Column("answered", COUNT, "How many of its items were answered.", PARTICIPANT),
        Column("items", COUNT, "How many items it has.", STUDY),
    )


def _message_columns() -> tuple[Column, ...]:
    return (
        *_place(),
        SEQ,
        AT,
        REPLY_TURN,
        Column("role", choice("user", "assistant"), "Who wrote it: the participant or a model.", STUDY),
        SLOT,
        Column("model", ANY, "The model that gave the reply.", STUDY),
        Column("text", ANY, "The message as the participant read it.", "the participant and the model", free_text=True),
        Column("ending", ChoiceColumn(ENDS), "Whether the message is complete.", MODEL),
    )


def _event_columns() -> tuple[Column, ...]:
    known = MappingProxyType({kind: words for kind, words in WORDS.items() if kind not in BY_RESEARCHERS})
    actors = choice("participant", "model", "system")
    return (
        *_place(),
        SEQ,
        AT,
        Column("by", actors, "Who caused it.", PARLEY),
        Column("event", ChoiceColumn(known), "What happened.", PARLEY),
    )


BY_RESEARCHERS = ("noted", "excluded", "included", "paid")


def _timing_columns() -> tuple[Column, ...]:
    note = "as the page reported it; blank if the study has no telemetry"
    return (
        *_place(),
        SCOPE_MODEL,
        Column("time", TIME, "When the screen was first shown, in UTC.", CLOCK),
        Column(
            "seconds",
            SECONDS,
            "How long it was shown until it was left, breaks included; blank if it was not left.",
            CLOCK,
        ),
        Column("visible_s", SECONDS, f"Seconds for which it was visible, {note}.", PAGE),
        Column("reading_s", SECONDS, f"Seconds before anything was typed or chosen, {note}.", PAGE),
        Column("typing_s", SECONDS, f"Seconds of typing, {note}.", PAGE),
        Column("first_key_s", SECONDS, f"Seconds until the first key, {note}.", PAGE),
        Column("pasted", COUNT, f"How often text was pasted, {note}.", PAGE),
        Column("pasted_chars", COUNT, f"How many characters were pasted, {note}.", PAGE),
        Column("blocked", COUNT, f"How often pasting was blocked, {note}.", PAGE),
        Column("copied", COUNT, f"How often text was copied, {note}.", PAGE),
        Column("left", COUNT, f"How often the page was left, {note}.", PAGE),
        Column("away_s", SECONDS, f"Seconds away from the page, {note}.", PAGE),
    )


def _integrity_columns() -> tuple[Column, ...]:
    """The values are evidence for review and no verdicts (experiments/views/integrity.py)."""
    return (
        Column("indicator", ChoiceColumn(MEASURES), "What is measured.", PARLEY),
        Column("value", NumberColumn(low=0), "Its value for the session: that of the worst screen or text.", PARLEY),
        Column("threshold", NumberColumn(low=0), "The value from which the study flags it.", STUDY),
        Column(
            "flagged",
            IntegerColumn(0, 1, TRUTH),
            "Whether the value is at the threshold. Evidence, no verdict: each indicator is wrong about some honest "
            "people, and `parley show integrity` says how often in pilot and simulated sessions.",
            PARLEY,
        ),
        Column("basis", SOME, "What the value rests on.", PARLEY),
        Column("alike", ANY, "Of `duplicate`: the session with the text that is alike; it may be left out.", PARLEY),
    )


def _call_columns() -> tuple[Column, ...]:
    return (
        *_place(),
        Column("time", TIME, "When the call was begun, in UTC.", CLOCK),
        REPLY_TURN,
        SLOT,
        Column("attempt", IntegerColumn(low=0), "The number of the attempt for one reply.", PARLEY),
        Column("model", SOME, "The model that was asked.", STUDY),
        Column("backend", SOME, "The kind of model server.", STUDY),
        Column("version", ANY, "The model's version, as the server reported it.", MODEL),
        Column("finish_reason", ANY, "Why the reply ended, as the server reported it.", MODEL),
        Column("error", ANY, "Why the call failed; blank if it brought a reply.", PARLEY),
        Column("prompt_tokens", COUNT, "Tokens of the request.", MODEL),
        Column("completion_tokens", COUNT, "Tokens of the reply.", MODEL),
        Column("first_token_s", SECONDS, "Seconds until the first word.", CLOCK),
        Column("total_s", SECONDS, "Seconds until the end.", CLOCK),
        Column("cost", SECONDS, "The cost, in the study's currency; blank if the price is unknown.", STUDY),
    )


def _session_columns(studies: Sequence[Study]) -> tuple[Column, ...]:
    outcomes = MappingProxyType({name: status_label(name) for name in OUTCOMES if name != "withdrawn"})
    ids = (
        Column(
            _id_column(one),
            SOME,
            f"The participant, as `{_person(one)}` in the files of the schema {one.name}.",
            CHANCE,
        )
        for one in participant_schemas(studies)[1:]
    )
    return (
        *ids,
        Column(
            "origin",
            choice("person", "pilot", "rehearsal", "bot"),
            "Whether a person, a person in a pilot, a rehearsed participant, or a simulated user took part.",
            PARLEY,
        ),
        Column("simulated_user", ANY, "The kind of simulated user.", PARLEY),
        Column("version", IntegerColumn(low=0), "The version of the study.", STUDY),
        Column("hash", SOME, "The SHA-256 of the study file, by which its document in the export is named.", STUDY),
        Column("language", ANY, "The language of the session.", PARTICIPANT),
        Column("started", TIME, "When the session was started, in UTC.", CLOCK),
        Column("seconds", SECONDS, "From the start to the last event of the participant, breaks included.", CLOCK),
        Column("outcome", ChoiceColumn(outcomes, blank=True), "How the session ended; blank if it has not.", PARLEY),
        Column("last_path", ANY, "The last place that was reached, with `[*]` for the turns of loops.", PARTICIPANT),
        Column("flags", ANY, "Quality flags, joined by commas.", PARLEY),
        Column("excluded", YES_NO, "Whether a researcher excluded the session.", RESEARCHER),
        *_factor_columns(studies),
    )


def factor_columns(studies: Sequence[Study]) -> Mapping[str, str]:
    """The names of the columns of `sessions` for the factors of a study, by factor."""
    taken = {"participant", "session", *(column.name for column in _session_columns(()))}
    factors = dict.fromkeys(name for study in studies for name in study.factors)
    return {name: f"factor_{name}" if name in taken else name for name in factors}


def _factor_columns(studies: Sequence[Study]) -> Iterator[Column]:
    for factor, column in factor_columns(studies).items() if studies else ():
        values = (v for one in studies if factor in one.factors for v in factor_values(one.factors[factor], one.pools))
        yield Column(
            column,
            choice(*dict.fromkeys(values), blank=True),
            f"The condition: the factor `{factor}`.",
            "random assignment",
        )


def wide_columns(studies: Sequence[Study]) -> Mapping[tuple[str, str], Column]:
    """The columns of `answers_wide`, by path and question: the questions of steps outside of loops, to which a study
    file can refer.

    A column is called as its question; if several steps ask a question of that name, after the path as well.
    """
    asked: dict[tuple[str, str], Field] = {}
    for study in studies:
        for path, step in study.steps:
            if "[*]" not in path:
                named = step.provides()
                asked |= {(path, field.name): field for field in step.questions_asked() if field.name in named}
    times = Counter(name for _, name in asked)
    return {
        (path, name): _wide_column(name if times[name] == 1 else f"{path.replace('/', '.')}.{name}", path, field)
        for (path, name), field in asked.items()
    }


def _wide_column(column: str, path: str, field: Field) -> Column:
    form, meaning = _form(field), f"The answer to `{field.name}` at `{path}`."
    return Column(column, form, meaning, PARTICIPANT, (field.name,), free_text=form is ANY)


def _form(field: Field) -> ColumnType:
    match field:
        case MultipleChoiceField():
            return TextColumn(what="a JSON list of stored values", blank=True)
        case Scale(numeric=True):
            return IntegerColumn(named=MappingProxyType(dict(field.options)), blank=True)
        case ChoiceField():
            return ChoiceColumn(MappingProxyType(dict(field.options)), blank=True)
        case Number(integer=False):
            return NUMBER
        case Number() | Slider():
            return IntegerColumn(blank=True)
        case Checkbox():
            return choice("true", "false", blank=True)
        case _:
            return ANY


@dataclass(frozen=True)
class Layout:
    """What depends on the study in the tables, for its frozen versions: `ids` as `participant_ids`, `factors` by the
    name of their column, and `wide` as `wide_columns`."""

    studies: tuple[Study, ...]

    @cached_property
    def ids(self) -> Mapping[str, Callable[[str], str]]:
        return participant_ids(self.studies)

    @cached_property
    def factors(self) -> Mapping[str, str]:
        return {column: factor for factor, column in factor_columns(self.studies).items()}

    @cached_property
    def wide(self) -> Mapping[tuple[str, str], Column]:
        return wide_columns(self.studies)


def tables(studies: Sequence[Study]) -> tuple[ReleasedTable, ...]:
    """The tables for the frozen versions of a study, in the order in which they are written. They are in no
    database."""
    columns = {
        "sessions": _session_columns(studies),
        "answers": _answer_columns(),
        "answers_wide": tuple(wide_columns(studies).values()),
        "scores": _score_columns(),
        "messages": _message_columns(),
        "ratings": _rating_columns(),
        "events": _event_columns(),
        "timings": _timing_columns(),
        "model_calls": _call_columns(),
        "integrity": _integrity_columns(),
    }
    keys = _keys(studies)
    return tuple(
        ReleasedTable(name, file_of(name), (*keys, *own), (), person="participant") for name, own in columns.items()
    )


def file_of(table: str) -> str:
    """The path of a table's file. Values of Psych-DS keywords have letters and digits only: `answersWide`."""
    first, *more = table.split("_")
    return f"data/description-{first}{''.join(map(str.capitalize, more))}_data.csv"


def schema(studies: Sequence[Study] = ()) -> Schema:
    return Schema(NAME, "Parley's tidy tables", "", tables(studies), lambda study, state: ())
