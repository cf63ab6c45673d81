"""All results of a study for one origin: of each schema that it records, the accuracy of its arms, its instruments,
advice and confidence, its surveys, the fidelity of its arms, choices by the places of options, and its waves.

Each name belongs to exactly one figure. If two schemas have figures with the same name (a study that records both
editions of DICES), the names begin with the schema's name instead: `dices-990.alpha_nominal.Q_overall`. Names that are
still equal (models called `a.b` and `a_b`) are numbered in their order: `_2`.

Values are in the order that a study declares, then in that of the papers. A study declares the order of its own
values by its factors, models and problems. Values in neither keep their order."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

import pandas as pd

from app.extension import hooked
from app.extensions.analysis import (
    advice,
    arena,
    chatbench,
    dices,
    fidelity,
    instruments,
    mathconverse,
    option_positions,
    survey,
    waves,
)
from app.extensions.analysis.base import AnalysisStep
from app.extensions.analysis.data_frames import (
    SESSION,
    answer_frame,
    conversation_frame,
    frame,
    instrument_frame,
    survey_frame,
    survey_questions,
    wave_frame,
)
from app.extensions.analysis.estimates import Finding
from app.extensions.analysis.reads.study_data import recorded, require_origin
from app.extensions.analysis.tidy_frames import load
from experiments.study.cells import cells
from experiments.study.problem_answer import AnsweringStep, OptionsStep
from experiments.study.study import Study
from storage.datasets.exports.session_filter import SessionFilter
from storage.db.engine import Database
from storage.registers.imported_rows import streams_of_nobody
from storage.registers.origins import Origin
from storage.registers.studies import Studies
from storage.schemas.registry import released

SCHEMA = re.compile(r"^([a-z]+)-\w+\.")
PLACE = re.compile(r"<[^>]+>")


def plain(name: str) -> str:
    """A name without the edition that `apart` may have added: `dices-990.a.b` is `dices.a.b`."""
    return SCHEMA.sub(r"\1.", name)


def matches(name: str, pattern: str) -> bool:
    """True if a figure's name fits a pattern, in which `<x>` is any part of a name."""
    return re.fullmatch(_expression(pattern), plain(name)) is not None


def patterns(name: str, known: Mapping[str, str]) -> list[str]:
    """The patterns that a figure's name matches; there should be exactly one."""
    return [pattern for pattern in known if matches(name, pattern)]


def about(name: str, known: Mapping[str, str]) -> str:
    return next((known[pattern] for pattern in patterns(name, known)), "")


@cache
def _expression(pattern: str) -> str:
    return r"[^.]+".join(map(re.escape, PLACE.split(pattern)))


def unique_names(names: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Make names unique, given each with its schema; the order is kept."""
    schemas: dict[str, set[str]] = {}
    for schema, name in names:
        schemas.setdefault(name, set()).add(schema)
    taken: set[str] = set()
    for schema, name in names:
        full_name = name if len(schemas[name]) == 1 else f"{schema}.{name.partition('.')[2]}"
        found, number = full_name, 1
        while found in taken or (found != name and found in schemas):
            number += 1
            found = f"{full_name}_{number}"
        taken.add(found)
        yield found


Order = Mapping[str, Sequence[str]]
EVERY = ("all models", "all")
# The groups of all values together come first.
_DATA = Path(__file__).parent
_ARRANGED: Mapping[str, Order] = json.loads((_DATA / "report_order.json").read_text(encoding="utf-8"))
PAPERS, MAIN = _ARRANGED["value_order"], _ARRANGED["main_results"]
# The values of the columns of estimates' groups, as the papers' tables have them; and the patterns of the main results'
# names, by the first part of a name, the most important first.


def declared_order(study: Study | None) -> Order:
    found: dict[str, dict[str, None]] = {}
    for order in (*([_study_order(study)] if study else []), PAPERS):
        for column, values in order.items():
            found.setdefault(column, dict.fromkeys(EVERY)).update(dict.fromkeys(values))
    known = {column: tuple(values) for column, values in found.items()}
    return known | {"other": known["model"]}


def _study_order(study: Study) -> Order:
    cell_values = [cell.values for cell in cells(study.factors, study.pools)]
    factors = {name: tuple(dict.fromkeys(values[name] for values in cell_values)) for name in study.factors}
    datasets = dict.fromkeys(problem.dataset for pool in study.pools.values() for problem in pool)
    return {**factors, "model": (*factors.get("model", ()), *study.file.models), "dataset": tuple(datasets)}


def in_order(finding: Finding, order: Order) -> Finding:
    """The finding with its estimates sorted by their groups, one column after the other; names do not change. Values
    that `order` does not have follow in the order in which they were."""
    columns = tuple(dict.fromkeys(column for one in finding.estimates for column in one.groups))
    if not order.keys() & {*columns}:
        return finding
    places = {column: dict(_places(finding, column, order.get(column, ()))) for column in columns}
    last = len(finding.estimates) + max(map(len, order.values()))

    def place(groups: Mapping[str, str]) -> tuple[int, ...]:
        return tuple(places[column][groups[column]] if column in groups else last for column in columns)

    return replace(finding, estimates=tuple(sorted(finding.estimates, key=lambda one: place(one.groups))))


def _places(finding: Finding, column: str, declared: Sequence[str]) -> Iterator[tuple[str, int]]:
    there = dict.fromkeys(one.groups[column] for one in finding.estimates if column in one.groups)
    known = [value for value in declared if value in there]
    return ((value, number) for number, value in enumerate(dict.fromkeys((*known, *there))))


# What stands in place of a schema for the instruments of a study, and begins the names of their figures.
INSTRUMENT = "instrument"
ACCURACY = "accuracy"
ADVICE = "advice"
SURVEY = "survey"
FIDELITY = "fidelity"
POSITION = "position"
LONGITUDINAL = "waves"
# The analysis steps of each schema, and those of accuracy, of instruments, of advice and confidence, of surveys, of
# fidelity, of the places of options and of waves, which need no schema.
PARTS: Mapping[str, tuple[AnalysisStep, ...]] = {
    "chatbench": chatbench.PARTS,
    "mathconverse": mathconverse.PARTS,
    "taxonomy": mathconverse.TAXONOMY,
    "arena": arena.PARTS,
    "dices-350": dices.parts("dices-350"),
    "dices-990": dices.parts("dices-990"),
    ACCURACY: chatbench.ARMS,
    INSTRUMENT: instruments.PARTS,
    ADVICE: advice.PARTS,
    SURVEY: survey.PARTS,
    FIDELITY: fidelity.PARTS,
    POSITION: option_positions.PARTS,
    LONGITUDINAL: waves.PARTS,
}
# Patterns of the estimates' names, with their descriptions; those of extensions are in `figure_names`.
NAMES: Mapping[str, str] = json.loads((_DATA / "figure_names.json").read_text(encoding="utf-8"))
NAMES_HOOK = "figure_names"


@cache
def figure_names() -> Mapping[str, str]:
    """Patterns of all estimates' names, with their descriptions, sorted."""
    added = [pair for names in hooked(NAMES_HOOK) for pair in names.items()]
    return dict(sorted([*NAMES.items(), *added]))


@dataclass(frozen=True, slots=True)
class Results:
    """The findings about a study's sessions of one origin; `analysed` is the number of participants with any rows."""

    study: str
    origin: str
    schemas: tuple[str, ...]
    analysed: int
    findings: tuple[Finding, ...]


# The tables that are read from events.
_FRAMES = (instrument_frame, survey_frame, conversation_frame, answer_frame, wave_frame)
BY_EVENT = {one.__name__: one for one in _FRAMES}


def results(
    database: Database,
    study: str,
    origin: str,
    *,
    whole: bool = False,
    part: str = "",
    unfinished: bool = False,
) -> Results:
    """Compute the findings, without excluded sessions; the cost grows with the rows. Sessions that were not completed
    count only if `unfinished` is true; imports do not record it. Only the quick steps are run, unless `whole` is true.
    `part` is a part of an imported release, by default the first one. Estimates are in the order of values that the
    study declares, then in that of the papers. Raises StorageError if the study has nothing of that origin."""
    require_origin(database, study, origin)
    versions = Studies(database).with_sessions(study, origin)
    schemas = tuple(name for name in recorded(database, study) if name in PARTS)
    steps_of = [(one, [step for _, step in one.steps]) for one in versions]
    filled = {
        ACCURACY: any(isinstance(step, AnsweringStep) for _, own in steps_of for step in own),
        INSTRUMENT: any(one.instruments for one in versions),
        ADVICE: any(map(_asks_for_judgements, versions)),
        SURVEY: any(next(survey_questions(one), None) for one in versions),
        FIDELITY: any(step.asks_models([*one.file.models]) for one, own in steps_of for step in own),
        POSITION: any(map(_shuffles, versions)),
        LONGITUDINAL: any(one.waves for one in versions),
    }
    fills = (*schemas, *(name for name, there in filled.items() if there))
    owners, parts = _parts(fills, whole=whole)
    source = _Source(database, study, origin, part, complete=origin != Origin.IMPORT and not unfinished)
    read = {table: source.read(table, columns) for table, columns in _needed(parts).items()}
    found: list[tuple[str, Finding]] = []
    for owner, step in zip(owners, parts, strict=True):
        made = step.analyse({table: read[table][[*columns, SESSION]] for table, columns in step.tables.items()})
        found += [(owner, finding) for finding in made]
    analysed = {session for table, rows in read.items() if not _of_study(table) for session in rows[SESSION]}
    if not analysed and advice.TABLE in read:
        analysed = {*read[advice.TABLE][SESSION]}
    order = declared_order(versions[-1] if versions else None)
    ordered = (in_order(finding, order) for finding in _told_apart(found))
    figures = tuple(replace(one, code=source.code(one.code)) for one in ordered)
    people = analysed.difference(streams_of_nobody(study))
    return Results(study, origin, schemas, len(people), figures)


def _shuffles(study: Study) -> bool:
    keys = (source.options for source in study.file.problems.values())
    own = (step.options for _, step in study.steps if isinstance(step, OptionsStep))
    return not {*keys, *own} <= {None, "listed"}


def _asks_for_judgements(study: Study) -> bool:
    asking = (step for _, step in study.steps if isinstance(step, AnsweringStep))
    return any(step.ask_confidence or getattr(step, "advice", "") for step in asking)


def _parts(fills: Iterable[str], *, whole: bool) -> tuple[list[str], list[AnalysisStep]]:
    """The schemas and the steps to run, in parallel lists."""
    found = [(name, part) for name in fills for part in PARTS[name] if whole or part.quick]
    return [name for name, _ in found], [part for _, part in found]


def _told_apart(findings: Sequence[tuple[str, Finding]]) -> Iterator[Finding]:
    titles = unique_names([(owner, finding.name) for owner, finding in findings])
    names = unique_names([(owner, one.name) for owner, finding in findings for one in finding.estimates])
    for (_, finding), title in zip(findings, titles, strict=True):
        estimates = tuple(replace(one, name=next(names)) for one in finding.estimates)
        yield replace(finding, name=title, estimates=estimates)


@dataclass(frozen=True, slots=True)
class _Source:
    database: Database
    study: str
    origin: str
    part: str
    complete: bool

    def read(self, table: str, columns: tuple[str, ...]) -> pd.DataFrame:
        about = (self.database, self.study, self.origin)
        if table in BY_EVENT:
            return BY_EVENT[table](*about, complete=self.complete)
        if table == advice.TABLE:
            selection = SessionFilter(complete=self.complete)
            answers = load(self.study, self.origin, session_filter=selection, database=self.database).answers
            return answers[[*columns]].assign(**{SESSION: answers["person" if "person" in answers else "session"]})
        rows = partial(frame, self.database, self.study, table, self.origin)
        return rows(columns=columns, part=self.part, complete=self.complete)

    def code(self, code: str) -> str:
        """The code by which a finding can be computed again from the same sessions."""
        which = (", part=part" if self.part else "") + (", complete=True" if self.complete else "")
        chosen = ", selection=SessionFilter(complete=True)" if self.complete else ""
        return code.replace(", origin)", f", origin{which})").replace("=database)", f"=database{chosen})")


def _of_study(table: str) -> bool:
    """True if it does not count for `analysed`: it has no rows by session, or names sessions otherwise."""
    return table == advice.TABLE or (table not in BY_EVENT and released(table).of_study)


def _needed(steps: Iterable[AnalysisStep]) -> Mapping[str, tuple[str, ...]]:
    needed: dict[str, tuple[str, ...]] = {}
    for part in steps:
        for table, columns in part.tables.items():
            needed[table] = tuple(dict.fromkeys((*needed.get(table, ()), *columns)))
    return needed
