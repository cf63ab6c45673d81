"""Recruiters' rules over HTTP: who is let in, who comes again, where one leaves to, pilots and caps."""

from __future__ import annotations

from pathlib import Path

import httpx2
import pytest

from storage.registers.participants import ParticipantId, Participants
from storage.registers.study_status import set_status
from tests.fakes import studies
from tests.fakes.http_bot import HttpBot
from tests.fakes.proofs import sessions, signed, study
from tests.fakes.served import SECRET, serving, settings_for, ticket
from tests.wiring.reading import facts, query

pytestmark = pytest.mark.anyio
PID = "5f3a0c6e9d1b2a7c4e8f0d12"
PROLIFIC = f"?PROLIFIC_PID={PID}&STUDY_ID=st1&SESSION_ID=se1"


LINKS = [
    ("prolific", PROLIFIC, True), ("prolific", "", False), ("prolific", "?pid=abc", False),
    ("prolific", "?PROLIFIC_PID=%7B%7B%25PROLIFIC_PID%25%7D%7D", False),
    ("connect", "?participantId=A1&assignmentId=B2&projectId=C3", True),
    ("sona", "?id=4711", True), ("sona", "?survey_code=4712", True), ("panel", "?pid=abc", True), ("panel", "", False),
    ("open", "", True), ("open", PROLIFIC, False), ("lab", "?p=P01.forged", False), ("lab", "?p=", False),
]  # fmt: skip


async def test_only_links_of_the_studys_recruiters_begin_it(tmp_path: Path) -> None:
    by = dict.fromkeys(by for by, _, _ in LINKS)
    paths = [study(tmp_path, study=name, recruitment={"channels": [name]}) for name in by]
    async with serving(settings_for(tmp_path), *paths) as served:
        for number, (name, link, let_in) in enumerate(LINKS):
            before = len(sessions(served))
            async with httpx2.AsyncClient(timeout=60, base_url=served.url) as client:
                greeted = await client.get(f"/s/{name}{link}")
                begun = await client.post(f"/s/{name}{link}", data=ticket(name))
            assert (greeted.status_code, begun.status_code) == ((200, 303) if let_in else (403, 403)), number
            assert ("set-cookie" in begun.headers) == let_in == len(sessions(served)) - before, number


async def test_a_personal_link_leads_one_person_to_one_session_from_anywhere(tmp_path: Path) -> None:
    path = study(tmp_path, recruitment={"channels": ["lab"]})
    async with serving(settings_for(tmp_path), path) as served:
        people = Participants(served.database, SECRET)
        link = f"?p={people.link('small', 'P01')}"
        async with HttpBot(served.url, "1") as first, HttpBot(served.url, "2") as second:
            await first.arrive("small", link)
            await first.step()
            await second.arrive("small", link)
            assert (second.stream, second.screen) == (first.stream, first.screen)
            assert people.reveal(first.stream) == ParticipantId("lab", "P01")
            async with httpx2.AsyncClient(timeout=60, base_url=served.url) as stranger:
                answer = await stranger.post(f"/s/small?p={people.link('other', 'P01')}")
            assert answer.status_code == 403, "a link is for one study"


@pytest.mark.parametrize("again", ["resume", "refuse", "new_session"])
async def test_a_second_submission_follows_the_studys_policy(tmp_path: Path, again: str) -> None:
    path = study(tmp_path, recruitment={"channels": ["prolific"], "repeat_participation": again})
    other = signed("small", "prolific", PID, SESSION_ID="se2")
    async with (
        serving(settings_for(tmp_path), path) as served,
        HttpBot(served.url, "1") as bot,
        HttpBot(served.url, "2") as elsewhere,
    ):
        await bot.arrive("small", other.replace("se2", "se1"))
        first = bot.stream
        await elsewhere.arrive("small", other)
        assert elsewhere.stream == first, "who has not ended goes on, whatever the submission"
        assert [e.kind for e in facts(served.database, first)][-1] == "noted"
        person = Participants(served.database, SECRET).reveal(first)
        assert person == ParticipantId("prolific", PID, "se2"), "the newest submission is the one to be paid"
        await elsewhere.finish()
        await elsewhere.arrive("small", other)
        assert elsewhere.screen.outcome == "complete", "the same submission sees its code again"
        answer = await bot.client.post(f"/s/small{other.replace('se2', 'se3')}", data=ticket("small"))
        assert ("only once" in answer.text) == (again == "refuse")
        there = sessions(served)
        assert len(there) == (2 if again == "new_session" else 1)
        await elsewhere.arrive("small", other)
        assert elsewhere.screen.outcome == "complete", "an earlier submission's link leads to its own session"
        assert sessions(served) == there
        if again == "new_session":
            assert facts(served.database, there[-1])[0].data["attempt"] == 2


async def test_the_way_out_has_the_code_and_the_persons_ids_and_is_closed_before_the_end(tmp_path: Path) -> None:
    url = "https://sona.example/webstudy_credit.aspx?survey_code={{id}}&token={{code}}&s={{session}}"
    path = study(tmp_path, outcomes={"complete": {"url": url}}, recruitment={"channels": ["sona", "prolific"]})
    async with serving(settings_for(tmp_path), path) as served, HttpBot(served.url, "1") as bot:
        await bot.arrive("small", "?id=47%2011".replace("%20", ""))
        assert (await bot.client.get("/out")).headers["location"] == "/"
        await bot.finish()
        out = await bot.client.get("/out")
        assert out.headers["location"] == "https://sona.example/webstudy_credit.aspx?survey_code=4711&token=DONE&s="
        assert b"4711" not in b"".join(bot.heard), "the page itself has no id"


async def test_prolifics_address_is_made_from_the_code_of_the_outcome(tmp_path: Path) -> None:
    outcomes = {"no_consent": {"code": "NOPE"}}
    path = study(tmp_path, outcomes=outcomes, recruitment={"channels": ["prolific"]})
    async with serving(settings_for(tmp_path), path) as served:
        for n, (kind, code) in enumerate([("submit", "DONE"), ("decline", "NOPE")]):
            async with HttpBot(served.url, f"{n}") as bot:
                await bot.arrive("small", PROLIFIC.replace(PID, f"{PID}{n}"))
                await bot.do(kind, {"agreed": "on"} if kind == "submit" else {})
                await bot.finish()
                place = (await bot.client.get("/out")).headers["location"]
                assert place == f"https://app.prolific.com/submissions/complete?cc={code}"
                ended = [event for event in facts(served.database, bot.stream) if event.kind == "finished"]
                assert len(ended) == 1, "the end is in the log before anybody is led away"


async def test_who_begins_in_a_pilot_is_marked_everywhere_and_then_no_more(tmp_path: Path) -> None:
    path = studies.short(tmp_path)
    async with serving(settings_for(tmp_path), path) as served:
        set_status(served.database, "short", "piloted", {}, by="researcher", at_us=0)
        async with HttpBot(served.url, "1") as bot, HttpBot(served.url, "2") as later:
            await bot.arrive("short")
            page = (await bot.client.post("/api/look", json={})).json()
            assert 'class="pilot"' in page["updates"]["head"]["value"]
            await bot.finish()
            set_status(served.database, "short", "opened", {}, by="researcher", at_us=0)
            await later.arrive("short")
            page = (await later.client.post("/api/look", json={})).json()
            assert 'class="pilot"' not in page["updates"]["head"]["value"]
            await later.finish()
        marks = query(served.database, "SELECT DISTINCT _session, _origin FROM user_answers ORDER BY _origin")
        assert marks == [(later.stream, "person"), (bot.stream, "pilot")]
