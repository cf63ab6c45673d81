"""A run of models alone that is killed, or told to end, by signals to a real process against a real server."""

import signal
import time
from collections import Counter

import pytest

from storage.ai_alone.replies import stored
from storage.ai_alone.runs import runs
from storage.db.engine import open_database
from tests.fakes import asked_alone
from tests.fakes.asked_alone import CONCURRENCY, Line
from tests.fakes.forked import Forked
from tests.fakes.model_server import serve

pytestmark = pytest.mark.timeout(300)  # what the processes are forked from may have to import first
CELLS, SAMPLES = 24, 5
# More than how many replies come in a tenth of a second: 16 at once, 0.3 s each.
LATE = 20


@pytest.fixture
def server():
    with serve() as running:
        yield running


@pytest.fixture
def begin(server, database_url, tmp_path):
    begun = []

    def beginning():
        told = (database_url, server.base_url, CELLS, SAMPLES)
        begun.append(Forked(asked_alone.main, *told, folder=tmp_path, out=tmp_path / f"said-{len(begun)}"))
        return begun[-1]

    yield beginning
    for process in begun:
        process.kill()


def answers(database_url):
    database = open_database(database_url)
    found = list(stored(database, [Line(number, SAMPLES).key for number in range(CELLS)]))
    told = runs(database)
    database.dispose()
    return found, told


def wait_for(server, requests):
    give_up = time.monotonic() + 100
    while len(server.requests) < requests:
        assert time.monotonic() < give_up
        time.sleep(0.005)


@pytest.mark.parametrize("database_url", ["sqlite", pytest.param("postgresql", marks=pytest.mark.soak)], indirect=True)
def test_what_was_stored_before_kill_9_is_never_asked_again(begin, server, database_url):
    for more in (25, 35):
        process, before = begin(), len(server.requests)
        wait_for(server, before + more)
        process.kill()
    assert begin().said().split() == ["begins", "done"]
    found, told = answers(database_url)
    assert Counter((one.cell, one.sample) for one in found) == Counter(
        (Line(number, SAMPLES).key, sample) for number in range(CELLS) for sample in range(SAMPLES)
    )
    assert all(one.text for one in found)
    lost = len(server.requests) - len(found)
    assert 0 <= lost <= 2 * (CONCURRENCY + LATE)
    assert [one.ended and one.ended["why"] for one in told] == [None, None, "done"]
    assert sum(one.replied for one in told) == CELLS * SAMPLES


@pytest.mark.parametrize("number", [pytest.param(signal.SIGINT, marks=pytest.mark.soak), signal.SIGTERM])
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_run_that_is_told_to_end_waits_for_what_is_on_its_way(number, begin, server, database_url):
    process = begin()
    wait_for(server, 40)
    process.tell(number)
    assert process.said().split() == ["begins", "interrupted"]
    found, (told,) = answers(database_url)
    assert len(found) == len(server.requests) == told.replied
    assert told.ended["asked"] == len(found) < CELLS * SAMPLES
