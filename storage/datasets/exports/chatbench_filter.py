"""ChatBench's pre-registered filter (seeds: make_clean_data.py of the release), step by step, over a study's answers.

Participants remain who completed the study and passed every attention check, with their answers to the other questions.
The last two steps of the original (the first assignment only, one answer of a kind to a question) change nothing here,
because a session has one assignment and asks each question once. They are counted nevertheless.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Column as SqlColumn
from sqlalchemy import Connection, MetaData, Select, String, Table, case, func, insert, select

from problems.errors import ProblemError
from problems.readers import csv_records
from problems.text import read_text
from storage import tables
from storage.datasets.exports.rows import RowSelection
from storage.datasets.manifest import FilterStep
from storage.errors import BadFile
from storage.log.seats import COMPLETE

ATTENTION = "attention_check"
TAKEN = ("AWAITING REVIEW", "APPROVED")
"""Prolific's statuses of participants who completed a study and were not rejected."""
ID, STATUS = "participant id", "status"
MOST_FAULTS = 5
KEPT = Table("parley_kept", MetaData(), SqlColumn("stream", String(36), primary_key=True), prefixes=["TEMPORARY"])
"""The sessions that pass the filter; a temporary table that exists during an export."""


@dataclass(frozen=True, slots=True)
class _AnswerCounts:
    """Counts of a session's answers: all, those to attention checks, wrong ones of these, and distinct others."""

    stream: str
    answers: int
    checks: int
    failed: int
    different: int


@dataclass(frozen=True, slots=True)
class Statuses:
    """Participants who completed the study by a recruiter's export file: their sessions, and the number of ids without
    a session."""

    streams: frozenset[str]
    unknown: int


def read_prolific(path: Path) -> list[tuple[str, str]]:
    """Read ids and upper-case statuses from Prolific's export of a study, in its order. Raises BadFile."""
    try:
        return prolific_rows(read_text(path), str(path))
    except ProblemError as error:
        raise BadFile(str(error)) from None


def prolific_rows(text: str, path: str) -> list[tuple[str, str]]:
    """Read ids and upper-case statuses from the export's text; `path` names it in errors. Raises BadFile, or
    ProblemError if it is no csv."""
    records, faults = csv_records(text)
    header = [name.strip().lower() for name in records[0][1]] if records else []
    if not {ID, STATUS} <= {*header} or not records[1:]:
        raise BadFile(
            f"{path}: not an export of Prolific's; it needs the columns 'Participant id' and 'Status', and a row"
        )
    faults += [
        f"line {line}: {len(cells)} cells instead of {len(header)}; put quotes around cells with separators"
        for line, cells in records
        if len(cells) != len(header)
    ]
    if faults:
        raise BadFile(f"{path}: cannot be read; correct these rows:", *faults[:MOST_FAULTS])
    rows = [dict(zip(header, cells, strict=True)) for _, cells in records[1:]]
    return [(row[ID].strip(), row[STATUS].strip().upper()) for row in rows]


def read_statuses(path: Path, find: Callable[[str], str | None]) -> Statuses:
    """Read Prolific's export of a study; `find` maps an id to its session. Raises BadFile."""
    found = [find(id_) for id_, status in read_prolific(path) if status in TAKEN]
    return Statuses(frozenset(stream for stream in found if stream), found.count(None))


def sessions_passing_filter(connection: Connection, answers: RowSelection, done: Statuses | None) -> list[FilterStep]:
    """Store the passing sessions in KEPT; return the counts after each step. `done` replaces Parley's outcomes."""
    people = _people(connection, answers)
    completed = done.streams if done else _finished(connection, answers.study, answers.origin)
    word = f"{' or '.join(TAKEN).lower()} on Prolific" if done else "completed the study"
    steps = [_step("answered a question", people, lambda person: person.answers)]
    rest = FilterStep(
        "without the attention check", len(people), sum(person.answers - person.checks for person in people)
    )
    steps.append(rest)
    people = [person for person in people if person.stream in completed]
    steps.append(_step(word, people))
    people = [person for person in people if not person.failed]
    steps.append(_step("passed every attention check", people))
    steps.append(_step("the first assignment only", people))
    steps.append(_step("one answer of a kind to a question", people, lambda person: person.different))
    KEPT.drop(connection, checkfirst=True)
    KEPT.create(connection)
    if people:
        connection.execute(insert(KEPT), [{"stream": person.stream} for person in people])
    return steps


def passing_filter() -> Select[tuple[str]]:
    return select(KEPT.c.stream)


def _step(
    name: str,
    people: Sequence[_AnswerCounts],
    count: Callable[[_AnswerCounts], int] = lambda person: person.answers - person.checks,
) -> FilterStep:
    return FilterStep(name, len(people), sum(map(count, people)))


def _people(connection: Connection, answers: RowSelection) -> list[_AnswerCounts]:
    a, t = answers.own.c, tables.sessions.c
    check = a["dataset"] == ATTENTION
    answered = case((check, None), else_=a["question_id"] + "/" + a["answer_type"])
    query = (
        select(
            t.stream,
            func.count(),
            func.count(case((check, 1))),
            func.count(case((check & (a["acc"] != 1), 1))),
            func.count(func.distinct(answered)),
        )
        .join(tables.sessions, a["_session"] == t.stream)
        .where(a["_study"] == answers.study, t.study == answers.study, t.origin == answers.origin)
        .group_by(t.stream, t.ordinal)
        .order_by(t.ordinal)
    )
    query = query if answers.passes is None else query.where(answers.passes)
    return [_AnswerCounts(*row) for row in connection.execute(query)]


def _finished(connection: Connection, study: str, origin: str) -> frozenset[str]:
    t = tables.seats.c
    complete = select(t.stream).where(t.study == study, t.origin == origin, t.outcome == COMPLETE)
    return frozenset(connection.execute(complete).scalars())
