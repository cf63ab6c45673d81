"""Exports of some sessions: exactly their rows, in the order of the whole; and what is left out is told."""

from __future__ import annotations

import asyncio
import csv
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from io import BytesIO, StringIO
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from sqlalchemy import select, text, update

from experiments.study.cells import parse_values
from storage import tables
from storage.datasets.exports.exporter import stream
from storage.datasets.exports.plan import ExportRequest
from storage.datasets.exports.preview import files, preview
from storage.datasets.exports.session_filter import ALL, SessionFilter
from storage.db.engine import Database
from tests.fakes.databases import fill
from tests.fakes.examples import examples
from tests.fakes.once import database_of

STUDY = "chatbench"
DAY_US = 86_400_000_000
EVERYBODY = ExportRequest(STUDY, STUDY, selection=SessionFilter(with_excluded=True))
FILES = ("full_study/user_answers.csv", "full_study/user_answers_filtered.csv", "full_study/conversations.json")
COUNT = 8


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Database:
    """Simulated sessions, of which each third is marked as broken off, each fourth in German; begun a day apart."""
    return database_of(tmp_path_factory, "lab", _fill_lab)


def _fill_lab(database: Database) -> None:
    asyncio.run(fill(database, [STUDY], COUNT, "1"))
    with database.begin() as connection:
        for number, seat in enumerate(seats(database)):
            told = {"begun_us": number * DAY_US, "language": "de" if number % 4 == 0 else "en"}
            ended = {"outcome": None} if number % 3 == 0 else {}
            connection.execute(update(tables.seats).where(tables.seats.c.stream == seat.stream).values(told | ended))


@pytest.fixture(scope="module")
def everything(lab: Database) -> Mapping[str, list[dict[str, Any]]]:
    return {path: rows(lab, EVERYBODY, path) for path in FILES}


@dataclass(frozen=True)
class Sitting:
    """A session by its seat."""

    stream: str
    cell: Mapping[str, str]
    begun_us: int
    outcome: str | None
    language: str
    excluded: str | None


def seats(database: Database) -> list[Sitting]:
    s, t = tables.seats.c, tables.sessions.c
    columns = (s.stream, s.cell, s.begun_us, s.outcome, s.language, s.excluded)
    with database.connect() as connection:
        found = connection.execute(select(*columns).join(tables.sessions, t.stream == s.stream).order_by(t.ordinal))
        return [Sitting(row[0], json.loads(row[1]), *row[2:]) for row in found]


def exclude(database: Database, numbers: Mapping[int, str]) -> None:
    with database.begin() as connection:
        for number, seat in enumerate(seats(database)):
            its = update(tables.seats).where(tables.seats.c.stream == seat.stream)
            connection.execute(its.values(excluded=numbers.get(number)))


def rows(database: Database, request: ExportRequest, path: str) -> list[dict[str, Any]]:
    out = BytesIO()
    count = stream(database, request, out, path)
    content = out.getvalue().decode()
    found = json.loads(content) if path.endswith(".json") else list(csv.DictReader(StringIO(content)))
    assert len(found) == count
    return found


def workers(database: Database) -> dict[str, str]:
    with database.connect() as connection:
        return dict(connection.execute(text("SELECT DISTINCT worker_id, _session FROM user_answers")).all())


def passes(seat: Sitting, sessions: SessionFilter) -> bool:
    wanted: dict[str, set[str]] = {}
    for name, value in sessions.where:
        wanted.setdefault(name, set()).add(value)
    return (
        (sessions.with_excluded or seat.excluded is None)
        and all(seat.cell[name] in values for name, values in wanted.items())
        and (sessions.since_us is None or sessions.since_us <= seat.begun_us)
        and (sessions.until_us is None or seat.begun_us < sessions.until_us)
        and (not sessions.complete or seat.outcome == "complete")
        and sessions.language in ("", seat.language)
    )


factors = st.sampled_from(
    ["condition=answer-first", "condition=direct-to-AI", "subject=math", "subject=physics", "subject=moral"]
)
selections = st.builds(
    SessionFilter,
    st.lists(factors, max_size=3, unique=True).map(parse_values),
    st.none() | st.integers(0, COUNT // 2).map(lambda day: day * DAY_US),
    st.none() | st.integers(COUNT // 2 + 1, COUNT).map(lambda day: day * DAY_US),
    st.booleans(),
    st.sampled_from(["", "", "de", "en"]),
    st.booleans(),
)
excluded = st.dictionaries(st.integers(0, COUNT - 1), st.sampled_from(["a | bot", "tried `it` out"]), max_size=5)


@examples(10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(asked=selections, out=excluded, path=st.sampled_from(FILES))
@pytest.mark.nightly
def test_an_export_of_some_sessions_is_exactly_their_rows_of_the_whole(
    lab: Database,
    everything: Mapping[str, list[dict[str, Any]]],
    asked: SessionFilter,
    out: Mapping[int, str],
    path: str,
) -> None:
    exclude(lab, out)
    found, whole, names = seats(lab), everything[path], workers(lab)
    stay = {seat.stream for seat in found if passes(seat, asked)}
    request = replace(EVERYBODY, selection=asked)
    assert rows(lab, request, path) == [row for row in whole if names[row["worker_id"]] in stay]
    outlook = files(lab, request, most=3)
    told = outlook.selected
    if told is None:
        assert asked == ALL
        assert not out
        return
    assert (told.of, told.number) == (COUNT, len(stay))
    assert all(number for _, number in told.left_out)
    assert dict(told.excluded) == Counter(out.values())
    assert dict(told.left_out).get("excluded by a researcher", 0) == (0 if asked.with_excluded else len(out))


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_every_kind_of_database_selects_alike(each_database: Database) -> None:
    database = each_database
    asyncio.run(fill(database, [STUDY], 3, "1"))
    exclude(database, {0: "no", 2: "no"})
    first, second, third = seats(database)
    asked = SessionFilter(tuple(second.cell.items()), second.begun_us, second.begun_us + 1, True, second.language)
    assert [passes(seat, asked) for seat in (first, second, third)] == [False, True, False]
    names = workers(database)
    for path in FILES:
        whole = rows(database, EVERYBODY, path)
        request = replace(EVERYBODY, selection=asked)
        its = [row for row in whole if names[row["worker_id"]] == second.stream]
        assert rows(database, request, path) == its
        assert len(preview(database, request, path, 5).rows) == min(5, len(its))
    told = files(database, replace(EVERYBODY, selection=asked)).selected
    assert told is not None
    assert (told.number, told.left_out, told.excluded) == (1, (("excluded by a researcher", 2),), (("no", 2),))
