"""A hostile browser at the console: every event of its page with values that no page sends, by each kind of visitor.

No answer is a 500 or a traceback, no stranger gets anything, and what an analyst sends changes nothing that only owners
may change. With --soak: 45,000 events.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from app.web.console.current_user import CurrentUser
from storage import tables
from storage.db.engine import open_database
from tests.fakes.console import Room, begin_as_canary, room
from tests.fakes.databases import fill, rows
from tests.fakes.hostile_requests import values
from tests.fakes.researcher import EVENT, Researcher

pytestmark = [pytest.mark.slow, pytest.mark.nightly]
SHORT, LONG = 15, 15_000
FITTING = {200, 204, 303, 400, 401, 403, 404, 405, 409, 413, 422}
# What no analyst changes, but for notes, which are facts.
GUARDED = (tables.researchers, tables.identities, tables.studies, tables.events, tables.sessions)


@dataclass
class Attack:
    """A console, a hostile browser at it, and a loop to run them in."""

    loop: asyncio.AbstractEventLoop
    room: Room
    browser: Researcher
    statuses: Counter[int] = field(default_factory=Counter)

    def send(self, body: Any) -> None:
        content = json.dumps(body).encode()
        headers = {"content-type": "application/json"}
        response = self.loop.run_until_complete(self.browser.send("POST", EVENT, content=content, headers=headers))
        self.statuses[response.status_code] += 1
        assert response.status_code in FITTING, (body, response.status_code, response.text[:300])
        assert "Traceback" not in response.text


@pytest.fixture(scope="module")
def attack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attack]:
    folder: Path = tmp_path_factory.mktemp("console")
    database, loop = open_database(f"sqlite:///{folder}/parley.db"), asyncio.new_event_loop()
    loop.run_until_complete(fill(database, ["demo"], 2, "1"))
    loop.run_until_complete(begin_as_canary(database, "demo"))
    with room(folder, database) as made:
        browser = Researcher(app=made)
        loop.run_until_complete(browser.open(study="demo", tab="monitoring"))
        yield Attack(loop, made, browser)
        loop.run_until_complete(browser.client.aclose())
    loop.close()
    database.dispose()


def often(soak: bool) -> settings:
    """So many examples, none of them repeated to be made smaller."""
    return settings(
        max_examples=LONG if soak else SHORT,
        phases=[Phase.generate],
        database=None,
        suppress_health_check=list(HealthCheck),
    )


told = st.one_of(
    values, st.sampled_from(("demo", "1", "person", "monitoring", "owner", "everybody", "2026-01-01", "ada"))
)


@pytest.mark.parametrize("role", ["analyst", "owner"])
def test_nothing_that_is_sent_breaks_the_console(attack: Attack, role: Any, soak: bool) -> None:
    attack.room.visitor = CurrentUser("Ada", role)
    kept = {table.name: len(rows(attack.room.desk.database, table)) for table in GUARDED}

    @often(soak)
    @given(st.integers(0, 10_000), st.lists(told, max_size=12), st.booleans())
    def run(number: int, given_values: list[Any], whole: bool) -> None:
        event = attack.browser.events[number % len(attack.browser.events)]
        data = [given_values[at % len(given_values)] if given_values else None for at in range(len(event.inputs))]
        attack.send({"fn_index": event.number, "data": data if whole else given_values, "session_hash": "x"})

    for event in attack.browser.events:  # with nothing chosen anywhere, which is what some of them begin with
        attack.send({"fn_index": event.number, "data": [None] * len(event.inputs), "session_hash": "x"})
    run()
    assert attack.statuses[200] > 0
    if role == "analyst":
        after = {table.name: len(rows(attack.room.desk.database, table)) for table in GUARDED}
        assert after | {"event": 0} == kept | {"event": 0}


def test_what_is_no_event_is_refused(attack: Attack, soak: bool) -> None:
    attack.room.visitor = CurrentUser("Ada", "owner")
    keys = st.sampled_from(("fn_index", "data", "session_hash", "event_data", "trigger_id", "batched", "simple_format"))

    @often(soak)
    @given(st.dictionaries(keys, values) | values)
    def run(body: Any) -> None:
        attack.send(body)

    run()
