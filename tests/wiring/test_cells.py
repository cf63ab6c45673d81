"""What plans ask for is kept with the study, and goes with the person whose words it holds."""

from dataclasses import replace

from sqlalchemy import insert, select

from experiments.core.events import Event
from storage import tables
from storage.ai_tables import answers
from storage.alone.cells import StoredCell, cells_of, keep_cells
from storage.engine import writer
from storage.erasure import erase
from tests.fakes.sampled import sampled, write_sampled

STREAM = "11111111-1111-4111-8111-111111111111"
ALONE = StoredCell("a" * 64, "alone", "free_text", "gpt", 1, 50, "physics", "p1", data={"right": "B"})
ABOUT = StoredCell("b" * 64, "annotation", "hedging", "gpt", 0, 1, stream=STREAM, path="chat")


def test_cells_come_back_in_the_order_of_their_plan(database):
    first = replace(ALONE, cell="c" * 64, position=0)
    keep_cells(database, "mine", [ALONE, ABOUT, first])
    keep_cells(database, "other", [ALONE])
    assert list(cells_of(database, "mine")) == [first, ALONE, ABOUT]
    assert list(cells_of(database, "mine", "annotation")) == [ABOUT]


def test_what_was_asked_about_somebody_goes_with_them_and_nothing_else(each_database):
    keep_cells(each_database, "mine", [ALONE, ABOUT])
    write_sampled(each_database, [sampled(one.cell, 0, 0, "B") for one in (ALONE, ABOUT)])
    with writer(each_database) as connection:
        with connection.begin():
            made = [{"study": "mine", "cell": one.cell, "sample": 0, "outcome": "answered"} for one in (ALONE, ABOUT)]
            connection.execute(insert(answers), made)
        with connection.begin():
            enrolled = {"stream": STREAM, "study": "mine", "hash": "h", "origin": "person", "ordinal": 1}
            connection.execute(insert(tables.sessions), [enrolled])
            erase(connection, STREAM, Event(1, 0, "participant", "", "withdrew", {}))
    assert list(cells_of(each_database, "mine")) == [ALONE]
    with each_database.connect() as connection:
        for table in (tables.attempts, answers):
            assert connection.execute(select(table.c.cell)).scalars().all() == [ALONE.cell]
