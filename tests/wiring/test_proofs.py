"""An id is not a proof: whoever only knows or counts ids finds nobody, sees nothing, erases nothing and is not paid."""

from __future__ import annotations

import asyncio
import csv
import json
import re
import stat
from collections.abc import Sequence
from contextlib import AsyncExitStack
from itertools import accumulate
from pathlib import Path

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import StaticPool, create_engine, insert

from storage import tables
from storage.payments.payments import payees
from storage.registers.participants import MOST_GAP, ParticipantId, Participants
from tests.fakes.commanding import parley
from tests.fakes.http_bot import HttpBot
from tests.fakes.proofs import sessions, signed, study
from tests.fakes.served import SECRET, Served, serving, settings_for, ticket
from tests.wiring.reading import facts, query

pytestmark = pytest.mark.anyio
LINKS = {"sona": "survey_code", "panel": "pid", "connect": "participantId", "prolific": "PROLIFIC_PID"}
VICTIM = 10437
TICKET = re.compile(r'name="ticket" value="[^"]*"')


@pytest.mark.parametrize("recruiter", LINKS)
@pytest.mark.parametrize("stands", ["under way", "finished", "withdrawn"])
@pytest.mark.parametrize("again", ["resume", "refuse", "new_session"])
async def test_a_stranger_who_tries_ids_learns_nothing_and_harms_nobody(
    tmp_path: Path, soak: bool, recruiter: str, stands: str, again: str
) -> None:
    path = study(tmp_path, recruitment={"channels": [recruiter], "repeat_participation": again})
    tried = range(VICTIM - 2_500, VICTIM + 2_500) if soak else range(VICTIM - 3, VICTIM + 3)
    async with (
        serving(settings_for(tmp_path), path) as served,
        HttpBot(served.url, "victim", canary="my name is Jane Doe") as victim,
    ):
        await victim.arrive("small", f"?{LINKS[recruiter]}={VICTIM}")
        await victim.until(path="more")
        if stands == "finished":
            await victim.finish()
        if stands == "withdrawn":
            await victim.do("withdraw", {})
        before = facts(served.database, victim.stream)
        pages, answers = set[tuple[int, str, int]](), set[tuple[int, str, int]]()
        async with httpx2.AsyncClient(base_url=served.url, timeout=60) as client:
            for number in tried:
                answer = await client.get(f"/s/small?{LINKS[recruiter]}={number}")
                pages.add((answer.status_code, TICKET.sub("", answer.text), len(answer.content)))
        for number in range(VICTIM - 1, VICTIM + 2):
            async with HttpBot(served.url, f"{number}") as stranger:
                answer = await stranger.send("POST", f"/s/small?{LINKS[recruiter]}={number}", data=ticket("small"))
                answers.add((answer.status_code, answer.text, len(answer.headers["set-cookie"])))
                await stranger.look()
                assert stranger.stream != victim.stream
                await stranger.do("withdraw", {})
                assert b"Jane Doe" not in b"".join(stranger.heard)
        assert len(pages) == 1, "the page is the same, whoever has that id"
        assert len(answers) == 1, "and so is the answer to its button"
        assert facts(served.database, victim.stream) == before
        await victim.arrive("small", f"?{LINKS[recruiter]}={VICTIM}")
        assert victim.stream == sessions(served)[0], "the browser in which somebody began knows them"
        assert len(sessions(served)) == 4


async def test_a_signature_is_for_one_id_recruiter_and_study(tmp_path: Path) -> None:
    path = study(tmp_path, recruitment={"channels": ["panel", "sona"]})
    good = signed("small", "panel", "A-7")
    wrong = [
        good.replace("A-7", "A-8"),
        good.replace("pid=", "survey_code="),
        signed("other", "panel", "A-7"),
        good[:-1] + ("A" if good[-1] != "A" else "B"),
        good.partition("&")[0] + "&parley_sig=",
        "?p=A-7.forged",
    ]
    async with (
        serving(settings_for(tmp_path), path) as served,
        httpx2.AsyncClient(timeout=60, base_url=served.url) as client,
    ):
        for link in wrong[:-1]:
            for answer in (
                await client.get(f"/s/small{link}"),
                await client.post(f"/s/small{link}", data=ticket("small")),
            ):
                assert (answer.status_code, "set-cookie" in answer.headers) == (403, False), link
        assert sessions(served) == []
        assert (await client.post(f"/s/small{good}", data=ticket("small"))).status_code == 303


async def test_where_a_proof_is_required_an_id_alone_begins_nothing_whoever_has_it(tmp_path: Path) -> None:
    path = study(tmp_path, recruitment={"channels": ["sona"], "id_proof": "required"})
    async with serving(settings_for(tmp_path), path) as served, HttpBot(served.url, "1") as bot:
        await bot.arrive("small", signed("small", "sona", "10437"))
        await bot.finish()
        async with httpx2.AsyncClient(timeout=60, base_url=served.url) as client:
            answers = [
                await client.request(method, f"/s/small?survey_code={id_}")
                for method in ("GET", "POST")
                for id_ in ("10437", "10438")
            ]
        assert len({(answer.status_code, answer.text) for answer in answers}) == 1
        assert answers[0].status_code == 403
        await bot.arrive("small", "?survey_code=10437")
        assert [bot.stream] == sessions(served), "the cookie is a proof as well"


async def test_links_with_wrong_proofs_are_counted_by_address_and_harm_no_others_there(tmp_path: Path) -> None:
    path = study(tmp_path, recruitment={"channels": ["sona", "lab"]})
    async with serving(settings_for(tmp_path), path) as served, HttpBot(served.url, "1") as known:
        await known.arrive("small", signed("small", "sona", "4711"))
        async with httpx2.AsyncClient(timeout=60, base_url=served.url) as client:
            forged = [f"?survey_code={number}&parley_sig=xyz" for number in range(4700, 4750)]
            forged += [f"?p=P{number}.xyz" for number in range(50)]
            answers = [await client.get(f"/s/small{link}") for link in forged]
            codes = [answer.status_code for answer in answers]
            assert set(codes[:50]) == {403}, "a class with last week's links is no attack"
            assert (codes[-1], set(codes)) == (429, {403, 429})
            assert len({answer.text for answer in answers}) == 1
            for link in (signed("small", "sona", "4711"), "?survey_code=99"):
                assert (await client.get(f"/s/small{link}")).status_code == 200


async def test_sessions_under_one_id_are_all_found_by_it_and_shown_to_researchers(tmp_path: Path) -> None:
    path = study(tmp_path, recruitment={"channels": ["sona"]})
    async with serving(settings_for(tmp_path), path) as served, AsyncExitStack() as stack:
        bots = [await stack.enter_async_context(HttpBot(served.url, f"{n}")) for n in range(6)]
        await bots[0].arrive("small", "?survey_code=4711")
        await asyncio.gather(*(bot.arrive("small", "?survey_code=4711") for bot in bots[1:-1]))
        await bots[-1].arrive("small", signed("small", "sona", "4711"))
        assert len(sessions(served)) == len(bots), "each browser has one of its own"
        people = Participants(served.database, SECRET)
        assert set(people.sessions("small", ParticipantId("sona", "4711"))) == set(sessions(served))
        assert people.find("small", ParticipantId("sona", "4711")) == bots[-1].stream
        flagged = query(served.database, "SELECT stream FROM seat WHERE flags = 'same_id'")
        assert {row[0] for row in flagged} == {bot.stream for bot in bots[1:]}
        await bots[3].finish()
        status = parley("show", "status", "small", "--json", folder=tmp_path, PARLEY_SECRET=SECRET)
        assert json.loads(status.stdout)["same_id"] == len(bots) - 1
        done = parley("person", "withdraw", "4711", "--study", "small", "--yes", folder=tmp_path, PARLEY_SECRET=SECRET)
        assert done.stdout.count("was erased") == len(bots)


async def test_signed_links_are_written_for_a_file_of_ids_and_are_their_owners_alone(tmp_path: Path) -> None:
    path = study(tmp_path, recruitment={"channels": ["sona", "lab"], "id_proof": "required"})
    (tmp_path / "ids.txt").write_text("4711\n\n4712\n4711\n", encoding="utf-8")
    async with serving(settings_for(tmp_path), path) as served:
        words = ("recruit", "links", "small", "--ids", "ids.txt", "-o", "links.csv")
        done = parley(*words, folder=tmp_path, PARLEY_SECRET=SECRET)
        assert done.returncode == 0, done.stderr
        assert stat.S_IMODE((tmp_path / "links.csv").stat().st_mode) == 0o600
        rows = list(csv.DictReader((tmp_path / "links.csv").read_text(encoding="utf-8").splitlines()))
        assert [row["id"] for row in rows] == ["4711", "4712"]
        async with httpx2.AsyncClient(timeout=60, base_url=served.url) as client:
            for row in rows:
                assert (
                    await client.post("/s/small?" + row["link"].partition("?")[2], data=ticket("small"))
                ).status_code == 303
        people = Participants(served.database, SECRET)
        assert [people.reveal(stream) for stream in sessions(served)] == [
            ParticipantId("sona", "4711"),
            ParticipantId("sona", "4712"),
        ]


@settings(max_examples=8, deadline=None)
@given(gaps=st.lists(st.integers(1, MOST_GAP), max_size=40))
def test_the_last_session_under_an_id_is_found_whatever_numbers_were_skipped(gaps: list[int]) -> None:
    database = create_engine("sqlite://", poolclass=StaticPool)
    tables.metadata.create_all(database)
    people, person = Participants(database, SECRET), ParticipantId("sona", "4711")
    numbers = list(accumulate(gaps))
    rows = [{"stream": f"{n}", "study": "small", **people.entry("small", person, n, proven=False)} for n in numbers]
    with database.begin() as connection:
        if rows:
            connection.execute(insert(tables.identities), rows)
    assert people.unproven("small", person) == (numbers[-1] if numbers else 0)
    assert sorted(map(int, people.sessions("small", person))) == numbers
    assert people.known("small", person) is None
    database.dispose()


async def each_to_the_end(served: Served, links: Sequence[str]) -> list[str]:
    """Somebody in a browser of their own comes by each link and goes to the end, one after another."""
    found = []
    for number, link in enumerate(links):
        async with HttpBot(served.url, f"{number}") as bot:
            await bot.arrive("small", link)
            await bot.finish()
            found.append(bot.stream)
    return found


PLAIN, PROVEN = "?PROLIFIC_PID=abc123&SESSION_ID=s1", signed("small", "prolific", "abc123", SESSION_ID="s1")


@pytest.mark.parametrize(
    ("links", "paid"),
    [
        ([PLAIN, PLAIN, PLAIN], 0),
        ([PLAIN, PROVEN, PLAIN], 1),
    ],
)
async def test_of_sessions_under_one_id_one_is_paid_by_itself(tmp_path: Path, links: Sequence[str], paid: int) -> None:
    path = study(tmp_path, recruitment={"channels": ["prolific"]}, bonus=[{"per": "completion", "amount": 1}])
    async with serving(settings_for(tmp_path), path) as served:
        streams = await each_to_the_end(served, links)
        parley("payments", "small", "-o", "out", folder=tmp_path, PARLEY_SECRET=SECRET)
        found = payees(served.database, Participants(served.database, SECRET), "small", now_us=0)
        assert [payee.stream for payee in found if payee.paid] == [streams[paid]]
        assert [payee.stream for payee in found if payee.second] == [s for s in streams if s != streams[paid]]
        (bonus,) = (tmp_path / "out").glob("prolific-bonus-*")
        assert bonus.read_text(encoding="utf-8") == "abc123,1.00\n"
        (approve,) = (tmp_path / "out").glob("prolific-approve-*")
        assert approve.read_text(encoding="utf-8") == "abc123\n"
        await each_to_the_end(served, [PLAIN, PROVEN])
        parley("payments", "small", "-o", "out", folder=tmp_path, PARLEY_SECRET=SECRET)
        found = payees(served.database, Participants(served.database, SECRET), "small", now_us=0)
        assert [payee.stream for payee in found if payee.paid] == [streams[paid]], "nor the next time"


async def test_who_was_paid_and_withdrew_is_not_paid_again_under_the_same_id(tmp_path: Path) -> None:
    path = study(tmp_path, recruitment={"channels": ["prolific"]}, bonus=[{"per": "completion", "amount": 1}])
    async with serving(settings_for(tmp_path), path) as served:
        async with HttpBot(served.url, "1") as bot:
            await bot.arrive("small", PLAIN)
            await bot.finish()
            parley("payments", "small", "-o", "out", folder=tmp_path, PARLEY_SECRET=SECRET)
            await bot.do("withdraw", {})
        await each_to_the_end(served, [PLAIN])
        parley("payments", "small", "-o", "out", folder=tmp_path, PARLEY_SECRET=SECRET)
        assert len(list((tmp_path / "out").glob("prolific-bonus-*"))) == 1
