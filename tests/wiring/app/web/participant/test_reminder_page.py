"""The page that takes an address for reminders and ends them: by its link alone, and by no scanner of links."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from app.clock import VirtualClock
from app.session.service import Sessions
from experiments.session.reminders import SUBSCRIBED, UNSUBSCRIBED
from storage.log.event_log import load
from storage.registers.contacts import Contacts
from storage.registers.participants import Participants
from storage.registers.persons import people
from storage.registers.study_status import set_status
from tests.fakes import studies
from tests.fakes.http_bot import HttpBot
from tests.fakes.reminders import FILE, FIRST_US
from tests.fakes.served import SECRET, Served, serving, settings_for

pytestmark = pytest.mark.anyio
MAIL = {"mail_host": "mail.example.org", "mail_from": "lab@example.org"}
ONE_CLICK = "List-Unsubscribe=One-Click"
FORM = {"content-type": "application/x-www-form-urlencoded"}


@asynccontextmanager
async def between(folder: Path, query: str = "", **more: Any) -> AsyncIterator[tuple[Served, HttpBot, str]]:
    """Somebody between two waves, in another browser, and the link of the page."""
    file = {name: value for name, value in FILE.items() if name != "languages"}
    path = studies.write(folder, file)
    async with (
        serving(settings_for(folder, **MAIL, **more), path, clock=VirtualClock(FIRST_US)) as served,
        HttpBot(served.url, "1") as bot,
        HttpBot(served.url, "2") as other,
    ):
        await bot.arrive("weeks", query)
        await bot.finish()
        (person,) = people(served.database, "weeks", "person")
        token = Participants(served.database, SECRET).return_token("weeks", person.id)
        link = f"/s/weeks/reminders?parley_return={token}"
        assert link.removeprefix("/s/") in (await bot.send("GET", f"/s/weeks{query}")).text.replace("&amp;", "&")
        yield served, other, link


def kinds(served: Served) -> list[str]:
    (person,) = people(served.database, "weeks", "person")
    found = [event for event in load(served.database, person.first) if event.kind in (SUBSCRIBED, UNSUBSCRIBED)]
    assert {event.by for event in found} <= {"participant"}
    return [event.kind for event in found]


def address(served: Served) -> str | None:
    (person,) = people(served.database, "weeks", "person")
    return Contacts(served.database, Participants(served.database, SECRET)).reach(person, "mail")


async def post(bot: HttpBot, link: str, body: str) -> int:
    return (await bot.send("POST", link, content=body, headers=FORM)).status_code


async def test_an_address_is_taken_and_one_click_of_a_mail_program_ends_it(tmp_path: Path) -> None:
    async with between(tmp_path) as (served, bot, link):
        assert 'name="address"' in (await bot.send("GET", link)).text
        assert [await post(bot, link, f"address={wrong}") for wrong in ("", "ada", "a@b%0d%0aBcc: c@d.org")] == [
            422
        ] * 3
        assert (kinds(served), address(served)) == ([], None)
        assert await post(bot, link, "address=ada%40example.org") == 303
        assert (kinds(served), address(served)) == ([SUBSCRIBED], "ada@example.org")
        page = (await bot.send("GET", link)).text
        assert 'name="address"' in page, "it can be changed"
        assert "ada@" not in page
        assert await post(bot, link, "address=ada%40example.com") == 303
        assert (kinds(served), address(served)) == ([SUBSCRIBED] * 2, "ada@example.com")
        assert kinds(served) == [SUBSCRIBED] * 2, "a scanner of links changes nothing"
        assert await post(bot, link, ONE_CLICK) == 303
        assert (kinds(served), address(served)) == ([SUBSCRIBED, SUBSCRIBED, UNSUBSCRIBED], None)


async def test_an_address_is_asked_for_where_mail_comes_first_though_a_webhook_reaches_everybody(
    tmp_path: Path,
) -> None:
    hook = {"reminder_webhook_url": "https://hook.example.org/", "reminder_webhook_secret": SECRET}
    async with between(tmp_path, **hook) as (served, bot, link):
        page = (await bot.send("GET", link)).text
        assert 'name="address"' in page
        assert page.count("<form") == 2, "and the others can be ended"
        back = page.partition('href="')[2].partition('"')[0]
        assert 'data-page="next_part"' in (await bot.send("GET", f"/s/weeks/{back}")).text
        set_status(served.database, "weeks", "closed", {"why": "x"}, by="researcher", at_us=FIRST_US)
        assert "<form" not in (await bot.send("GET", link)).text, "nobody is reminded of a closed study"


async def test_the_link_of_somebody_who_withdrew_says_so(tmp_path: Path) -> None:
    async with between(tmp_path) as (served, bot, link):
        (person,) = people(served.database, "weeks", "person")
        sessions = Sessions(served.database, VirtualClock(FIRST_US))
        await sessions.withdraw(person.first)
        await sessions.close()
        answer = await bot.send("GET", link)
        assert answer.status_code == 303
        assert (await bot.send("GET", f"/s/weeks/{answer.headers['location']}")).status_code == 410


async def test_nobody_can_make_the_link_or_use_it_for_another_study(tmp_path: Path) -> None:
    async with between(tmp_path) as (served, bot, link):
        for wrong in (link[:-4] + "AAAA", link.replace("weeks", "others"), "/s/weeks/reminders"):
            assert (await bot.send("GET", wrong)).status_code == 404
            assert await post(bot, wrong, ONE_CLICK) == 404
        assert kinds(served) == []


async def test_people_of_prolific_are_not_asked_for_an_address_and_can_end_its_messages(tmp_path: Path) -> None:
    query = "?PROLIFIC_PID=5f3a0c6e9d1b2a7c4e8f0d12&SESSION_ID=5f3a0c6e9d1b2a7c4e8f0d34"
    async with between(tmp_path, query) as (served, bot, link):
        assert 'name="address"' not in (await bot.send("GET", link)).text
        assert await post(bot, link, ONE_CLICK) == 303
        assert 'name="address"' not in (await bot.send("GET", link)).text
        assert kinds(served) == [UNSUBSCRIBED]
