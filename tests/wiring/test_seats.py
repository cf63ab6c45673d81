"""Seats under concurrency: people who come from several processes at once, on each kind of database.

With --soak: 500 people from four processes, and many more seats.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from app.bots.simulate import START_US
from app.studies.loader import load_study
from storage.db.engine import Database, open_database
from storage.log.quota import item_counts
from storage.registers.studies import Studies
from storage.reports.reproducibility import recompute_draws
from tests.fakes import studies
from tests.fakes.arrivals import come_at_once
from tests.fakes.forked import forking
from tests.wiring.reading import tally_of

CELLS = 16
LEASE_S = 600
LEAVES = 0.3
PEOPLE = 10
ITEMS = [{"id": f"{s}{b}", "text": "?", "tags": {"subject": s, "batch": b}} for s in ("math", "moral") for b in "01"]
RAW: dict[str, Any] = {
    "study": "crowd",
    "title": "A crowd",
    "problems": {"items": {"source": "jsonl", "path": "crowd.jsonl"}},
    "factors": {
        "subject": ["math", "moral"],
        "batch": {"one_of": "items.batch", "where": {"subject": "{{subject}}"}},
        "condition": ["answer-first", "direct-to-AI"],
        "model": ["careful", "hasty"],
    },
    "models": {name: {"backend": "scripted"} for name in ("careful", "hasty")},
    "session_limits": {"hold_place_s": LEASE_S},
    "flow": [
        {"step": "consent", "text": "Do you agree?"},
        {"step": "info", "pages": ["Please read this.", "And this.", "And this too."]},
        {"step": "finish", "code": "DONE"},
    ],
}


def crowd(
    url: str, study: Path, later_s: float, people: int, leaves: float = LEAVES, processes: int = 2
) -> Counter[str]:
    """Let people come from several processes at once; what became of them."""
    context = forking()
    start, told = context.Barrier(processes), context.SimpleQueue()
    each = people // processes
    seeds = [(url, str(study), f"{later_s}:{number}", later_s, leaves) for number in range(processes)]
    running = [context.Process(target=come_at_once, args=(seed, each, start, told)) for seed in seeds]
    for one in running:
        one.start()
    found = [Counter(told.get()) for _ in running]
    for one in running:
        one.join(60)
        assert one.exitcode == 0
    return sum(found, Counter())


class Watch(threading.Thread):
    """Looks all the time whether more people have seats than are wanted."""

    def __init__(self, database: Database, now_us: int) -> None:
        super().__init__(daemon=True)
        self.database, self.now_us = database, now_us
        self.most, self.cell, self.looks = 0, 0, 0
        self.over = threading.Event()

    def run(self) -> None:
        while not self.over.is_set():
            found = tally_of(self.database, "crowd", "person", self.now_us, LEASE_S).cells
            cells = [done + live for _, done, live in found]
            self.most = max(self.most, sum(cells))
            self.cell = max([self.cell, *cells])
            self.looks += 1
            self.over.wait(0.05)

    def stop(self) -> None:
        self.over.set()
        self.join()


@pytest.mark.nightly
@pytest.mark.parametrize("database_url", [pytest.param("sqlite", marks=pytest.mark.soak), "postgresql"], indirect=True)
def test_hundreds_who_come_at_once_fill_each_cell_and_overrun_none(
    tmp_path: Path, database_url: str, soak: bool
) -> None:
    people, each, processes = (500, 20, 4) if soak else (48, 2, 2)
    (tmp_path / "crowd.jsonl").write_text("\n".join(map(json.dumps, ITEMS)), encoding="utf-8")
    path = studies.write(tmp_path, {**RAW, "quotas": [{"max": CELLS * each}]})
    database = open_database(database_url)
    Studies(database).register(load_study(str(path)))
    told: Counter[str] = Counter()
    for later_s in (0, LEASE_S + 1):  # then the leases of those who vanished are over, and others get their places
        now_us = START_US + round(later_s * 1e6)
        watch = Watch(database, now_us)
        watch.start()
        told += crowd(database_url, path, later_s, people if not later_s else people // 2, processes=processes)
        watch.stop()
        assert watch.looks > 3
        assert watch.most <= CELLS * each, "no quota is overrun at any moment"
        assert watch.cell <= each + 1
    now = tally_of(database, "crowd", "person", now_us, LEASE_S)
    without = told["without a place"]
    assert told["began"] + without == sum(now.outcomes.values())
    assert told["withdraw"] == now.outcomes["withdrawn"]
    assert told["vanish"] == now.outcomes["live"] + now.outcomes["left"] - without
    assert told["finished"] == now.outcomes["complete"]
    cells = [done + live for values, done, live in now.cells if values]
    assert len(cells) == CELLS
    assert all(each - 1 <= held <= each for held in cells), now.cells
    database.dispose()


def test_the_last_place_is_given_once(tmp_path: Path, database_url: str) -> None:
    raw = {**RAW, "quotas": [{"max": 1}], "factors": {"condition": ["a", "b"]}, "problems": {}, "models": {}}
    path = studies.write(tmp_path, raw)
    database = open_database(database_url)
    Studies(database).register(load_study(str(path)))
    crowd(database_url, path, 0, 12)
    now = tally_of(database, "crowd", "person", START_US, LEASE_S)
    database.dispose()
    assert sum(done + live for _, done, live in now.cells) <= 1


def test_problems_with_a_target_are_given_out_evenly_to_all_who_come_at_once(tmp_path: Path, database_url: str) -> None:
    (tmp_path / "crowd.jsonl").write_text("\n".join(map(json.dumps, ITEMS)), encoding="utf-8")
    rate = {"each": "item", "of": "items", "take": 3, "target": 5, "flow": [{"step": "info", "text": "Read."}]}
    path = studies.write(tmp_path, {**RAW, "flow": [rate, {"step": "finish"}]})
    database = open_database(database_url)
    study = load_study(str(path))
    Studies(database).register(study)
    assert crowd(database_url, path, 0, PEOPLE, leaves=0)["finished"] == PEOPLE
    with database.connect() as connection:
        given = item_counts(connection, "crowd", "person", "item", START_US, LEASE_S)
    found = recompute_draws(database, "crowd")
    database.dispose()
    assert sum(given.values()) == 3 * PEOPLE
    assert max(given.values()) - min(given.values()) <= 1
    assert (found.draws, found.assignments, found.differences) == (PEOPLE, PEOPLE, ())
