"""The link by which a person comes back, and the calendar file, by their signature alone."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from app.alerts import asking_for_help
from app.clock import VirtualClock
from app.session.service import Sessions
from app.session.signed_links import TrialLinks
from app.studies.loader import load_study
from app.use_cases.sessions import add_remark
from app.web.participant.session_cookie import TOKEN_HEADER, SessionCookie
from experiments.session.study_status import StudyStatus
from experiments.study.screen import NextPartBlock
from storage.log.seats import query_params
from storage.registers.origins import Origin
from storage.registers.persons import people
from storage.registers.study_status import set_status
from storage.reports.monitoring.sessions import median_minutes, over_time
from storage.reports.sessions import outcomes
from tests.fakes import studies, waves
from tests.fakes.http_bot import HttpBot
from tests.fakes.proofs import signed
from tests.fakes.served import SECRET, Served, serving, settings_for, ticket

pytestmark = pytest.mark.anyio
TITLE = "Wörter, mit Komma; und mehr als fünfundsiebzig Bytes, damit die Zeile umgebrochen wird"
LINK = re.compile(r'href="(http[^"]*/s/weeks\?parley_return=[^"]+)"')


@asynccontextmanager
async def between(
    folder: Path, query: str = "", **keys: Any
) -> AsyncIterator[tuple[Served, VirtualClock, HttpBot, str]]:
    """A person who has finished the first wave, and their link."""
    clock = VirtualClock(waves.us("2027-03-21 20:00"))
    path = studies.write(folder, waves.raw(title=TITLE, **keys))
    async with serving(settings_for(folder), path, clock=clock) as served, HttpBot(served.url, "1") as bot:
        await bot.arrive("weeks", query)
        await bot.finish()
        page = (await bot.send("GET", f"/s/weeks{query}")).text
        found = LINK.search(page)
        assert found, page
        yield served, clock, bot, unescape(found[1]).removeprefix(served.settings.address)


async def test_the_link_leads_to_the_same_person_and_nobody_can_make_it(tmp_path: Path) -> None:
    async with between(tmp_path) as (served, clock, _, link), HttpBot(served.url, "2") as other:
        assert 'data-page="next_part"' in (await other.send("GET", link)).text
        clock.set(waves.us("2027-03-30 09:00", "UTC"))
        late = (await other.send("GET", link)).text
        assert 'datetime="2027-03-30T21:00' in late, "who is late reads the end of the grace, not a time that is over"
        forged = await other.send("GET", link[:-4] + "AAAA")
        assert forged.status_code == 403
        await other.arrive("weeks", link.removeprefix("/s/weeks"))
        (person,) = people(served.database, "weeks", "person")
        assert person.streams["week-2"] == other.stream
        assert other.screen.path == "week-2/info"
        found = outcomes(served.database, ["weeks"], clock.now_us(), ["weeks"])["weeks", "person"]
        assert {status: number for status, number in found.items() if number} == {"live": 1}, "a person, not sessions"


async def test_a_pilot_comes_to_the_next_part_from_the_last_page_and_starts_it_at_once(tmp_path: Path) -> None:
    clock, pilot = VirtualClock(waves.us("2027-03-21 20:00")), TrialLinks(SECRET).link("pilot", "weeks", "")
    path = studies.write(tmp_path, waves.raw())
    async with serving(settings_for(tmp_path), path, clock=clock) as served, HttpBot(served.url, "1") as bot:
        await bot.arrive("weeks", pilot.removeprefix("/s/weeks"))
        await bot.finish()
        (way,) = [block.url for block in bot.screen.panel.blocks if isinstance(block, NextPartBlock)]
        ended = (await bot.send("POST", "/api/look", {})).json()["updates"]["left"]["value"]
        assert '<time datetime="2027-03-28T09:00:00+00:00">' in ended
        answer = await bot.send("GET", f"/{way}")
        link = answer.headers["location"]
        assert 'name="early"' in (await bot.send("GET", link)).text
        early = await bot.send("POST", link, data=ticket("weeks", early="yes"))
        assert (early.status_code, early.headers["location"]) == (303, "/")
        await bot.look()
        assert bot.screen.path == "week-2/info"
        assert [one.origin for one in people(served.database, "weeks", "pilot")] == ["pilot"]
        assert "parley-weeks.pilot" in bot.client.cookies
        assert "parley-weeks" not in bot.client.cookies


@pytest.mark.parametrize(
    "keys", [{}, {"recruitment": {"channels": ["panel"], "id_proof": "required"}}], ids=["any", "signed"]
)
async def test_the_link_of_somebody_who_withdrew_says_so_and_leads_to_nobody(
    keys: dict[str, Any], tmp_path: Path
) -> None:
    async with (
        between(tmp_path, signed("weeks", "panel", "anna-0001"), **keys) as (served, _, bot, link),
        HttpBot(served.url, "2") as other,
    ):
        await bot.do("withdraw", {})
        for method in ("GET", "POST"):
            assert (await other.send(method, link)).status_code == 410
        assert (await other.send("GET", link.replace("?", "/calendar.ics?"))).status_code == 404
        assert people(served.database, "weeks", "person") == []


async def test_the_calendar_file_is_as_rfc_5545_wants_it(tmp_path: Path) -> None:
    async with between(tmp_path) as (_, _, bot, link):
        answer = await bot.send("GET", link.replace("?", "/calendar.ics?"))
        assert answer.headers["content-type"].startswith("text/calendar")
        lines = answer.content.split(b"\r\n")
        assert lines[-1] == b""
        assert max(map(len, lines)) <= 75
        assert b"\n" not in b"".join(lines)
        unfolded = answer.content.replace(b"\r\n ", b"").decode().split("\r\n")
        wanted = TITLE.replace(",", "\\,").replace(";", "\\;")
        assert f"SUMMARY:{wanted}: Week 2" in unfolded
        assert "DTSTART:20270328T090000Z" in unfolded
        assert (await bot.send("GET", "/s/weeks/calendar.ics")).status_code == 404


async def test_reminders_that_this_server_cannot_send_are_not_offered(tmp_path: Path) -> None:
    reminders = {"channels": ["mail"], "send": [{"when": "opening"}]}
    async with between(tmp_path, reminders=reminders) as (_, _, bot, _):
        assert "/reminders" not in (await bot.send("GET", "/s/weeks")).text


async def test_between_parts_are_the_code_a_contact_and_the_last_page_with_help_that_alerts(tmp_path: Path) -> None:
    keys = {"help": "We answer soon.", "contact": "lab@example.org"}
    async with between(tmp_path, **keys) as (served, clock, bot, link):
        page = (await bot.send("GET", link)).text
        assert "<code" in page
        assert ">W1<" in page
        assert 'href="mailto:lab@example.org"' in page
        answer = await bot.send("POST", link, data=ticket("weeks", last="yes"))
        assert (answer.status_code, answer.headers["location"]) == (303, "/")
        await bot.look()
        assert (bot.screen.outcome, bot.screen.can_withdraw) == ("complete", True)
        clock.advance(3 * 86_400)
        assert (await bot.do("ask_for_help", {"help": "When?"})).note == ""
        with served.database.connect() as connection:
            known = query_params("weeks", Origin.PERSON, clock.now_us(), 0)
            assert (median_minutes(connection, known) or 0) < 60, "it took no longer because somebody asked later"
            assert len(over_time(connection, known)) <= 2
        now_us, study = clock.now_us(), load_study(str(studies.write(tmp_path, waves.raw(title=TITLE, **keys))))
        assert len([*asking_for_help(served.database, study, StudyStatus(), now_us)]) == 1
        remarks = Sessions(served.database, clock)
        await add_remark(remarks, served.database, bot.stream, "helped", "On Sunday.", "ada")
        await remarks.close()
        assert not [*asking_for_help(served.database, study, StudyStatus(), now_us)]


async def test_who_has_taken_part_keeps_their_code_and_ways_when_the_next_part_opens_and_when_the_study_closes(
    tmp_path: Path,
) -> None:
    async with between(tmp_path, contact="lab@example.org") as (served, clock, bot, link):
        clock.set(waves.us("2027-03-28 10:00", "UTC"))
        for name in ("start", "closed"):
            page = (await bot.send("GET", link)).text
            assert f'data-page="{name}"' in page
            for part in (">W1<", 'name="last"', 'href="mailto:lab@example.org"'):
                assert part in page, (name, part)
            if name == "start":
                set_status(served.database, "weeks", "closed", {"why": "x"}, by="researcher", at_us=clock.now_us())
        assert 'data-wait-ms="' not in page
        assert (await bot.send("POST", link, data=ticket("weeks", last="yes"))).headers["location"] == "/"


async def test_an_embedded_last_page_has_the_persons_own_link_to_the_next_part(tmp_path: Path) -> None:
    async with between(tmp_path, embed={"origins": ["https://survey.example"]}) as (_, _, bot, link):
        token = SessionCookie(SECRET, secure=False).token(bot.stream)
        answer = await bot.send("POST", "/api/look", {"view": "page"}, headers={TOKEN_HEADER: token})
        assert link in unescape(str(answer.json()))
