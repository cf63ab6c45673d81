"""Recruit in the console: compared first, and spent by a person's word only."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.clock import VirtualClock
from app.studies.loader import load_study
from app.use_cases.recruit import decide
from storage.db.engine import Database
from storage.registers.study_versions import publish
from tests.fakes import studies
from tests.fakes.console import Room, console
from tests.fakes.prolific_api import TOKEN, FakeProlific, prolific_api
from tests.fakes.researcher import Researcher, value, visible

pytestmark = pytest.mark.anyio
BUTTONS = ("draft", "pause", "start", "stop", "publish", "places")
ADDRESS = "https://lab.example.org"
At = tuple[Room, Researcher, FakeProlific]


@pytest.fixture
async def at(tmp_path: Path, database: Database, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[At]:
    publish(database, load_study(str(studies.recruited(tmp_path))), by="researcher", at_us=1)
    decide(database, "recruited", "opened", "ada", VirtualClock(2))
    with prolific_api() as fake:
        for name, value_ in {"PUBLIC_URL": ADDRESS, "PROLIFIC_URL": fake.url, "PROLIFIC_TOKEN": TOKEN}.items():
            monkeypatch.setenv(f"PARLEY_{name}", value_)
        async with console(tmp_path, database) as (room, researcher):
            yield room, researcher, fake


async def press(researcher: Researcher, word: str, said: str = "") -> tuple[str, list[str]]:
    """Press a button; what the page shows of the study, and the buttons that it has then."""
    found = await researcher.on(f"prolific-{word}", "click", **{"study": "recruited", "prolific-sum": said})
    assert TOKEN.encode() not in b"".join(researcher.heard)
    if "note bad" in str(value(found["note"])):
        return str(value(found["note"])), []
    return str(value(found["prolific-view"])), [one for one in BUTTONS if visible(found[f"prolific-{one}"])]


async def test_a_study_is_published_by_an_owners_word(at: At) -> None:
    room, researcher, fake = at
    await researcher.open(tab="studies", study="recruited")
    assert fake.requests == [], "a page that is opened asks nothing"
    shown, buttons = await press(researcher, "show")
    assert (buttons, fake.changes) == (["draft"], [])
    assert all(part in shown for part in ("OUT1", "9.00 GBP an hour", "31.00 GBP"))
    assert (await press(researcher, "draft"))[1] == ["publish"]
    await press(researcher, "publish", "30")
    assert [one["status"] for one in fake.studies.values()] == ["UNPUBLISHED"]
    assert (await press(researcher, "publish", "31.00"))[1] == ["pause", "stop"]
    assert (await press(researcher, "pause"))[1] == ["start", "stop"]
    assert [what for who, what, _ in room.did if "Prolific" in what] == [
        *("asked Prolific for create", "asked Prolific for PUBLISH", "asked Prolific for PAUSE")
    ]

    room.as_("analyst")
    assert (await press(researcher, "show"))[1] == []
    await press(researcher, "stop")
    assert [one["status"] for one in fake.studies.values()] == ["PAUSED"]
