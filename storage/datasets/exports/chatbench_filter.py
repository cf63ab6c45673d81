"""ChatBench's pre-registered filter (seeds: make_clean_data.py of the release), step by step, over a study's answers.

Participants remain who completed the study and passed every attention check, with their answers to the other questions.
The last two steps of the original (the first assignment only, one answer of a kind to a question) change nothing here,
because a session has one assignment and asks each question once. They are counted nevertheless.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlalchemy import Column as SqlColumn
from sqlalchemy import Connection, MetaData, Select, String, Table, case, func, insert, select

from storage import tables
from storage.datasets.exports.rows import RowSelection
from storage.datasets.manifest import FilterStep
from storage.log.seats import COMPLETE

ATTENTION = "attention_check"
# The sessions that pass the filter; a temporary table that exists during an export.
KEPT = Table("parley_kept", MetaData(), SqlColumn("stream", String(36), primary_key=True), prefixes=["TEMPORARY"])


@dataclass(frozen=True, slots=True)
class _AnswerCounts:
    """Counts of a session's answers: all, those to attention checks, wrong ones of these, and distinct others."""

    stream: str
    answers: int
    checks: int
    failed: int
    different: int


def sessions_passing_filter(connection: Connection, selection: RowSelection) -> list[FilterStep]:
    """Store the passing sessions in KEPT; return the counts after each step."""
    people = _people(connection, selection)
    completed = _finished(connection, selection.study, selection.origin)
    steps = [_step("answered a question", people, lambda person: person.answers)]
    rest = FilterStep(
        "without the attention check", len(people), sum(person.answers - person.checks for person in people)
    )
    steps.append(rest)
    people = [person for person in people if person.stream in completed]
    steps.append(_step("completed the study", people))
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
    counts: Sequence[_AnswerCounts],
    count: Callable[[_AnswerCounts], int] = lambda person: person.answers - person.checks,
) -> FilterStep:
    return FilterStep(name, len(counts), sum(map(count, counts)))


def _people(connection: Connection, selection: RowSelection) -> list[_AnswerCounts]:
    a, t = selection.own.c, tables.sessions.c
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
        .where(a["_study"] == selection.study, t.study == selection.study, t.origin == selection.origin)
        .group_by(t.stream, t.ordinal)
        .order_by(t.ordinal)
    )
    query = query if selection.passes is None else query.where(selection.passes)
    return [_AnswerCounts(*row) for row in connection.execute(query)]


def _finished(connection: Connection, study: str, origin: str) -> frozenset[str]:
    t = tables.seats.c
    complete = select(t.stream).where(t.study == study, t.origin == origin, t.outcome == COMPLETE)
    return frozenset(connection.execute(complete).scalars())
