"""Coming to a study: twice, with an id, from elsewhere, again, without cookies; always the session that is meant."""

from __future__ import annotations

import asyncio
import re
from contextlib import AsyncExitStack
from pathlib import Path

import httpx2
import pytest

from storage.registers.participants import ParticipantId, Participants
from tests.fakes import studies
from tests.fakes.http_bot import TICKET, HttpBot
from tests.fakes.proofs import signed
from tests.fakes.served import SECRET, Served, serving, settings_for
from tests.wiring.reading import exported, query, released_rows

pytestmark = pytest.mark.anyio


PID = "5f3a0c6e9d1b2a7c4e8f0d12"
RECRUITERS = {"PROLIFIC_PID": "prolific", "participantId": "connect", "survey_code": "sona", "pid": "panel"}


@pytest.mark.parametrize(
    "parameter", [*RECRUITERS][:1] + [pytest.param(one, marks=pytest.mark.soak) for one in [*RECRUITERS][1:]]
)
async def test_a_recruiters_id_leads_back_and_is_nowhere(served: Served, tmp_path: Path, parameter: str) -> None:
    pid = f"{PID}{parameter}"
    link = f"?{parameter}={pid}&STUDY_ID=s&SESSION_ID=t"
    proven = signed("short", RECRUITERS[parameter], pid, STUDY_ID="s", SESSION_ID="t")
    async with AsyncExitStack() as stack:
        bots = [await stack.enter_async_context(HttpBot(served.url, f"{parameter}{n}")) for n in range(4)]
        first, second, elsewhere, other = bots
        await first.arrive("short", proven)
        await first.until(path="with_ai")
        await second.arrive("short", proven)
        assert (second.stream, second.screen) == (first.stream, first.screen)
        stream = second.stream
        await first.arrive("short", link)
        assert first.stream == stream, "in the same browser the id alone is enough"
        await second.finish()
        await elsewhere.arrive("talk", link)
        assert elsewhere.stream != first.stream, "another study is another session"
        await first.arrive("short", f"?{parameter}={pid}2")
        assert first.stream != second.stream, "another id in the same browser is another person"
        await other.arrive("short")
        assert pid.encode() not in b"".join(text for bot in bots for text in bot.heard)
        person = Participants(served.database, SECRET).reveal(second.stream)
        submission = "t" if parameter == "PROLIFIC_PID" else ""
        assert person == ParticipantId(RECRUITERS[parameter], pid, submission)
    tables = ("event", "session", "draft", "study", "participant_identity")
    stored = [query(served.database, f'SELECT * FROM "{table}"') for table in tables]
    assert pid not in repr((stored, released_rows(served.database), exported(served.database, "short", tmp_path)))


async def test_clicking_start_twice_makes_one_session(served: Served) -> None:
    async with httpx2.AsyncClient(timeout=60, base_url=served.url) as client:
        ticket = re.findall(r'name="ticket" value="([\w.-]{32,})"', (await client.get("/s/short")).text)[0]
        answers = await asyncio.gather(*(client.post("/s/short", data={"ticket": ticket}) for _ in range(5)))
        assert {answer.status_code for answer in answers} == {303}
        assert len({answer.cookies["parley"] for answer in answers}) == 1
        again = re.findall(r'name="ticket" value="([\w.-]{32,})"', (await client.get("/s/short")).text)[0]
        assert again != ticket


async def test_who_has_finished_is_shown_the_end_and_may_begin_anew_where_that_is_wanted(
    tmp_path: Path,
) -> None:
    settings = settings_for(tmp_path)
    for again in (False, True):
        study = studies.short(tmp_path)
        if again:
            study.write_text(re.sub(r"code: .*\n", "", study.read_text()))
        async with serving(settings, study, again=again) as one, HttpBot(one.url, "1") as visitor:
            await visitor.arrive("short")
            first = visitor.stream
            await visitor.finish()
            page = await visitor.client.get("/s/short")
            assert re.findall(r'data-session="(\w+)"', page.text) == ["ended"]
            assert page.text.count("<button") == 1 + again
            assert ("completion code" in page.text) != again, "the second study has none"
            await visitor.client.post("/s/short", data={"last": "yes"})
            assert (visitor.stream, (await visitor.look()).ended) == (first, True)
            await visitor.arrive("short")
            assert (visitor.stream != first) == again


async def test_an_id_at_the_bare_address_is_not_lost(served: Served, tmp_path: Path) -> None:
    async with httpx2.AsyncClient(timeout=60, base_url=served.url) as client:
        answer = await client.get("/?PROLIFIC_PID=abc123")
        assert answer.status_code == 404  # two studies are open here, so nobody can tell which is meant
    alone = settings_for(tmp_path)
    async with (
        serving(alone, studies.short(tmp_path)) as one,
        httpx2.AsyncClient(timeout=60, base_url=one.url) as client,
    ):
        answer = await client.get("/?PROLIFIC_PID=abc123")
        assert answer.headers["location"] == "/s/short?PROLIFIC_PID=abc123"


PAGE = re.compile(r'data-page="(\w+)"')


def sessions(served: Served) -> int:
    return int(query(served.database, "SELECT count(*) FROM session")[0][0])


async def press_start(client: httpx2.AsyncClient, path: str, *, keeps: bool) -> httpx2.Response:
    """Open the start page and press its button, with the cookies that it set or without any."""
    page = await client.get(path)
    found = TICKET.search(page.text)
    assert found
    if not keeps:
        client.cookies.clear()
    return await client.post(path, data={"ticket": found[1], "language": "en"})


@pytest.mark.parametrize("link", ["", "proven"])
async def test_without_cookies_no_session_begins_and_the_page_says_why(served: Served, link: str) -> None:
    path, before = "/s/short" + (signed("short", "sona", "10437") if link else ""), sessions(served)
    async with httpx2.AsyncClient(timeout=60, base_url=served.url) as client:
        for _ in range(3):
            told = await press_start(client, path, keeps=False)
            assert (told.status_code, PAGE.findall(told.text)) == (403, ["cookies_needed"])
            assert "cookie" in told.text.lower()
            client.cookies.clear()
        assert sessions(served) == before
        assert (await press_start(client, path, keeps=True)).headers["location"] == "/"
        assert sessions(served) == before + 1
        if link:  # elsewhere, on a device that keeps none: the session is known, and could not be shown
            client.cookies.clear()
            assert PAGE.findall((await press_start(client, path, keeps=False)).text) == ["cookies_needed"]
