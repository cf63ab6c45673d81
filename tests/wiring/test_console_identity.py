"""Whom the console tells what: an analyst nothing of who somebody is, a stranger nothing but the login.

An analyst fires every event of the page, in every room, and every byte that comes is searched for the recruiter's ids.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from io import BytesIO
from zipfile import ZipFile

import pytest
from starlette.types import ASGIApp

from tests.fakes import studies
from tests.fakes.accounts import BETTER, GOOD, ada_and_bob
from tests.fakes.console import whole
from tests.fakes.http_bot import HttpBot
from tests.fakes.researcher import Researcher, text
from tests.fakes.served import serving, settings_for

pytestmark = pytest.mark.anyio
PEOPLE = ["5f0zqcanaryone8aqz0000001", "5f0zqcanarytwo8aqz0000002"]
SUBMISSION = "6a1zqsubmissionaqz000003"
# The ids, the table that holds them, and how what is sealed there begins.
IDENTITY = re.compile(rb"zqcanary|zqsubmission|participant_identity|gAAAAA", re.IGNORECASE)
# What is asked with, by the last word of a component's elem_id.
VALUES = {"session": "1", "study": "short", "said": "to see", "person": PEOPLE[0]}
FEWEST_EVENTS = 60
# The events that tell an owner of a person.
TELLING = (("session-reveal", "click"), ("sessions-find", "click"), ("session-person-data", "click"))


@pytest.fixture(scope="module")
async def app(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ASGIApp]:
    """A console over a study in which two people from Prolific have taken part."""
    folder = tmp_path_factory.mktemp("identity")
    settings = settings_for(folder)
    async with serving(settings, studies.short(folder)) as served:
        for person in PEOPLE:
            async with HttpBot(served.url, person) as bot:
                await bot.arrive("short", f"?PROLIFIC_PID={person}&STUDY_ID=s&SESSION_ID={SUBMISSION}")
                await bot.finish()
        with ada_and_bob(settings.database_url), whole(settings, served.database) as app:
            yield app


def rooms_of(researcher: Researcher) -> list[str]:
    """The names of the console's tabs."""
    of = [name for event in researcher.events for name, kind in event.of if kind == "select"]
    return [name.removeprefix("room-") for name in of if name.startswith("room-")]


async def fire_everything(researcher: Researcher) -> None:
    """Every room, and every event that there is, with values that ask for a person."""
    await researcher.open(study="short", tab="monitoring")
    for room in rooms_of(researcher):
        await researcher.enter(room, session="1")
    for event in researcher.events:
        await researcher.fire(event, {**researcher.place, **researcher.values_for(event, VALUES)})


async def test_an_analyst_sees_no_identity_whatever_they_do(app: ASGIApp) -> None:
    async with Researcher(app=app) as researcher:
        assert (await researcher.log_in("bob", BETTER)).status_code == 303
        await fire_everything(researcher)
        await researcher.send("GET", "/report/short?origin=person")
        heard = [(IDENTITY.findall(told), told[:200]) for told in researcher.heard if IDENTITY.search(told)]
        assert heard == []
        assert len(researcher.heard) > len(rooms_of(researcher)) + len(researcher.events) > FEWEST_EVENTS
        assert {one for event in researcher.events for one in event.of}.issuperset(TELLING)


async def test_an_owner_is_told_where_they_ask_for_it_and_it_is_written_down(app: ASGIApp) -> None:
    async with Researcher(app=app) as researcher:
        assert (await researcher.log_in("Ada", GOOD)).status_code == 303
        await researcher.open(study="short", tab="sessions", session="1")
        assert not any(IDENTITY.search(told) for told in researcher.heard)
        shown, found, given = [await researcher.on(*asked, **{"sessions-person": PEOPLE[0]}) for asked in TELLING]
        assert PEOPLE[0] in str(shown["session-id"])
        assert PEOPLE[0] in str(found["sessions-list"])
        (link,) = re.findall(r'href="(download/[^"]+)"', str(given))
        answer = await researcher.send("GET", f"/{link}")
        with ZipFile(BytesIO(answer.content)) as archive:
            data = b"".join(archive.read(name) for name in archive.namelist()).decode()
        assert (PEOPLE[0] in data, SUBMISSION in data, PEOPLE[1] in data) == (True, True, False)
        deeds = text((await researcher.enter("accounts"))["people-deeds"])
        for what in ("viewed a recruiter ID", "searched for a recruiter ID", "exported a person"):
            assert f"ada {what}" in deeds
