"""Sessions found and read: by what is wanted, newest first, page by page, on both databases."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import insert

from storage import tables
from storage.db.engine import Database, writer
from storage.log.seats import LEFT, LIVE
from storage.reports.sessions import PAGE, SessionListItem, SessionQuery, sessions

NOW_US, LEASE_US = 10_000_000, 1_000_000
CELLS = ('{"condition":"a","model":"one"}', '{"condition":"b","model":"one"}', "{}")
OUTCOMES = (None, "complete", "timed_out")
FLAGS = ("", "leak", "too_fast,leak", "one_word")
COUNT = 60


def _row(number: int) -> dict[str, Any]:
    """A seat of some kind: the numbers 1 to 60 have all of them."""
    kinds = list(product(OUTCOMES, CELLS, FLAGS))
    outcome, cell, flags = kinds[number % len(kinds)]
    begun_us = number * 100_000
    return {
        "stream": f"{number:08x}-0000-4000-8000-000000000000",
        "study": "s",
        "origin": "person" if number % 5 else "pilot",
        "cell": cell,
        "begun_us": begun_us,
        "until_us": begun_us + LEASE_US,
        "last_us": NOW_US if number % 3 == 0 else begun_us,
        "outcome": outcome,
        "released_us": 1 if number % 7 == 0 else None,
        "language": "de" if number % 2 else "en",
        "flags": flags,
        "pasted": number % 4 == 1,
        "excluded": "odd" if number % 6 == 0 else None,
    }


def _seat(database: Database, numbers: range) -> None:
    rows = [_row(number) for number in numbers]
    entries = [
        {"stream": r["stream"], "study": "s", "hash": "h", "origin": r["origin"], "ordinal": n}
        for n, r in zip(numbers, rows, strict=True)
    ]
    imported = {"stream": "imported", "study": "s", "hash": "", "origin": "import", "ordinal": numbers[-1] + 1}
    other = {"stream": "other", "study": "t", "hash": "h", "origin": "person", "ordinal": 1}
    with writer(database) as connection, connection.begin():
        connection.execute(insert(tables.sessions), [*entries, imported, other])
        connection.execute(insert(tables.seats), rows)


@pytest.fixture
def seated(each_database: Database) -> Database:
    _seat(each_database, range(1, COUNT + 1))
    return each_database


def every(database: Database, query: SessionQuery) -> list[SessionListItem]:
    found: list[SessionListItem] = []
    more = True
    while more:
        page = sessions(database, "s", query, NOW_US, found[-1].number if found else None)
        assert len(page.entries) <= PAGE
        found += page.entries
        more = page.more
    return found


def test_all_sessions_are_listed_newest_first_in_pages_of_25(seated: Database) -> None:
    assert [entry.number for entry in every(seated, SessionQuery())] == list(range(COUNT + 1, 0, -1))
    first = sessions(seated, "s", SessionQuery(), NOW_US)
    assert (len(first.entries), first.more, first.entries[0].imported) == (25, True, True)
    assert not sessions(seated, "nothing", SessionQuery(), NOW_US).entries


wishes = st.builds(
    SessionQuery,
    origins=st.sampled_from([(), ("person",), ("pilot",), ("import", "person")]),
    stands=st.sampled_from(["", LIVE, LEFT, "complete", "timed_out", "withdrawn"]),
    cell=st.sampled_from([{}, {"model": "one"}, {"condition": "b"}, {"condition": "b", "model": "two"}]),
    flag=st.sampled_from(["", "leak", "too_fast", "one_word", "pasted", "eak", "%"]),
    excluded=st.sampled_from([None, True, False]),
    since_us=st.sampled_from([None, 1_000_000]),
    until_us=st.sampled_from([None, 4_000_000]),
    language=st.sampled_from(["", "de", "fr"]),
)


def fits(entry: SessionListItem, query: SessionQuery) -> bool:
    row = None if entry.imported else _row(entry.number)
    begun_us = row["begun_us"] if row else None
    return all(
        [
            not query.origins or entry.origin in query.origins,
            query.stands in ("", entry.stands),
            not query.cell or (row is not None and query.cell.items() <= entry.cell.items()),
            query.flag in ("", *entry.flags),
            query.excluded is None or (row is not None and (entry.excluded is not None) == query.excluded),
            query.since_us is None or (begun_us is not None and begun_us >= query.since_us),
            query.until_us is None or (begun_us is not None and begun_us < query.until_us),
            query.language in ("", entry.language),
        ]
    )


def test_each_filter_gives_exactly_what_it_says(seated: Database) -> None:
    whole = every(seated, SessionQuery())

    @given(wishes)
    @settings(max_examples=20)
    def holds(query: SessionQuery) -> None:
        wanted = [entry.number for entry in whole if fits(entry, query)]
        assert [entry.number for entry in every(seated, query)] == wanted

    holds()


def test_a_session_is_found_by_its_number_or_by_how_its_id_begins_and_by_nothing_else(seated: Database) -> None:
    for text in ("12", "No. 12", "no 12", "#12", " 12 ", "0000000c", "0000000C-0000"):
        assert [entry.number for entry in every(seated, SessionQuery(text=text))] == [12], text
    for text in ("x", "12%", "' OR 1=1 --", "No. 999", "ffffffff", "0" * 40, "9" * 30):
        assert every(seated, SessionQuery(text=text)) == [], text
