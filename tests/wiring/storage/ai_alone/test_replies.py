"""Replies of models alone in the database: written once, asked for by one at a time, and counted beforehand."""

from dataclasses import replace

import pytest
from sqlalchemy import delete, update
from sqlalchemy.exc import DatabaseError

from app.batch.cost_estimate import estimate
from app.batch.plan import RunPlan
from storage.ai_alone.runs import asking as only_one
from storage.db.engine import writer
from storage.errors import StorageError
from storage.tables import attempts
from tests.fakes.alone import NO, Talk, ask, asking, row, rows, seeds
from tests.fakes.sampled import write_sampled

CELLS = [Talk("a", 3), Talk("b", 2, steps=2)]


def test_only_one_asks_over_a_database(each_database):
    with asking() as model, only_one(each_database), pytest.raises(StorageError, match="another run asks"):
        ask(each_database, CELLS)
    assert model.asked == []
    with asking():
        assert ask(each_database, CELLS).why == "done"


def test_a_reply_is_never_changed_nor_deleted(each_database):
    cells = [Talk("x"), Talk("y")]
    hurt = seeds(cells)[0]
    with asking(lambda seed: NO if seed == hurt else None):
        ask(each_database, cells)
    before = rows(each_database, cells)
    for statement in (update(attempts).values(text="Better."), delete(attempts)):
        with (
            pytest.raises(DatabaseError, match="only by an erasure"),
            writer(each_database) as connection,
            connection.begin(),
        ):
            connection.execute(statement)
    write_sampled(each_database, [{**row(seed), "text": "Another."} for seed in seeds(cells)])
    assert rows(each_database, cells) == before


def test_an_estimate_counts_what_is_missing(database):
    cells = [Talk("x" * 400, 10), Talk("y" * 400, 10, steps=2, last="two")]
    told = RunPlan("trial", "alone", cells)
    before = estimate(database, told, 50)
    assert (before.samples, before.stored, before.calls, before.left) == (20, 0, 30, 30)
    assert {one.label: one.calls for one in before.models} == {"one": 20, "two": 10}
    assert before.completion_tokens == 30 * 50
    assert before.cost == pytest.approx(30 * 50 * 10 / 1e6)
    with asking():
        ask(database, [replace(cell, samples=4) for cell in cells])
    after = estimate(database, told, 50)
    assert (after.stored, after.calls, after.left) == (8, 30, 18)
