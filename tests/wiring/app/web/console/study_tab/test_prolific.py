"""Recruit in the console: compared first, and spent by a person's word only."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.clock import VirtualClock
from app.studies.loader import load_study, read_yaml
from app.use_cases.recruit import decide
from storage.accounts.model_servers import SavedServer, save_server
from storage.db.engine import Database
from storage.registers.contacts import PROLIFIC
from storage.registers.study_versions import publish
from tests.fakes import studies
from tests.fakes.console import Room, console
from tests.fakes.prolific_api import TOKEN, FakeProlific, prolific_api
from tests.fakes.researcher import Researcher, value, visible
from tests.fakes.served import SECRET

pytestmark = pytest.mark.anyio
BUTTONS = ("draft", "pause", "start", "stop", "publish", "places")
ADDRESS, TO_TOKEN = "https://lab.example.org", 'href="?tab=servers'
TO_PAYMENTS = 'href="?tab=payments'
At = tuple[Room, Researcher, FakeProlific]


async def test_recruit_and_payments_lead_to_where_the_token_is_entered_and_follow_what_is_published(
    tmp_path: Path, database: Database
) -> None:
    path = studies.recruited(tmp_path)
    raw = read_yaml(path)
    del raw["prolific"]
    publish(database, load_study(str(studies.write(tmp_path, raw))), by="researcher", at_us=1)
    async with console(tmp_path, database) as (_, researcher):
        shown = await researcher.open(tab="studies", study="recruited")
        assert TO_TOKEN not in value(shown["prolific-view"])
        mark = {"seen-Recruit": value(shown["seen-Recruit"])}
        publish(database, load_study(str(studies.recruited(tmp_path))), by="researcher", at_us=2)
        shown = await researcher.on("bench-Recruit", "select", **mark)
        assert (TO_TOKEN in value(shown["prolific-view"]), visible(shown["prolific-show"])) == (True, False)
        assert "estimated completion time" in value(shown["prolific-view"]), "what would be sent"
        assert not any(visible(shown[f"prolific-{word}"]) for word in BUTTONS)
        assert TO_TOKEN in value((await researcher.enter("payments"))["submissions"])
    save_server(database, SECRET, SavedServer(PROLIFIC, PROLIFIC, "https://a.example", "Ada", 0, b""), TOKEN, int)
    async with console(tmp_path, database) as (_, researcher):
        assert visible((await researcher.open(tab="studies", study="recruited"))["prolific-show"])
        shown = await researcher.enter("payments")
        assert (value(shown["submissions"]), visible(shown["submissions-show"])) == ("", True)
        assert value(shown["submissions-head"])


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
    shown, buttons = await press(researcher, "draft")
    assert (TO_PAYMENTS in shown, buttons) == (False, ["publish"])
    await press(researcher, "publish", "30")
    assert [one["status"] for one in fake.studies.values()] == ["UNPUBLISHED"]
    shown, buttons = await press(researcher, "publish", "31.00")
    assert (TO_PAYMENTS in shown, buttons) == (True, ["pause", "stop"])
    assert (await press(researcher, "pause"))[1] == ["start", "stop"]
    assert visible((await researcher.on("prolific-stop", "click"))["prolific-stopping"]), "it is asked once more"
    assert not visible((await researcher.on("prolific-stop-no", "click"))["prolific-stopping"])
    assert [what for who, what, _ in room.did if "Prolific" in what] == [
        *("asked Prolific for create", "asked Prolific for PUBLISH", "asked Prolific for PAUSE")
    ]

    room.as_("analyst")
    assert (await press(researcher, "show"))[1] == []
    await press(researcher, "stop-yes")
    assert [one["status"] for one in fake.studies.values()] == ["PAUSED"]
    room.as_("owner")
    assert (await press(researcher, "stop-yes"))[1] == []
    assert [one["status"] for one in fake.studies.values()] == ["AWAITING REVIEW"]
