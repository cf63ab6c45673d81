"""Recruiters' links over HTTP: an id is taken, refused or reported, and status and the console show what was lost."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import httpx2
import pytest

from storage import tables
from storage.db.engine import Database
from storage.registers.link_problems import MOST, count_link_problem, link_problems
from storage.registers.participants import ParticipantId, Participants
from tests.fakes.commanding import parley
from tests.fakes.http_bot import HttpBot
from tests.fakes.postgres import POSTGRES_BY_NIGHT
from tests.fakes.proofs import sessions, study
from tests.fakes.served import SECRET, serving, settings_for
from tests.wiring.reading import facts, query

pytestmark = pytest.mark.anyio
PID = "aaaaaaaaaaaaaaaaaaaaaaa1"


LOST = [
    ("?PROLIFIC_PID={{%PROLIFIC_PID%}}", "unfilled", "PROLIFIC_PID"),
    ("?PROLIFIC_PID=two+words", "malformed", "PROLIFIC_PID"),
    (f"?PROLIFIC_PID={PID}&PROLIFIC_PID=b2", "conflicting", "PROLIFIC_PID"),
    (f"?ref={PID}", "unknown", "ref"),
]


@pytest.mark.parametrize(
    ("policy", "database_url"),
    [("refuse", "sqlite"), ("report", "postgresql"), pytest.param("report", "sqlite", marks=pytest.mark.soak)],
    indirect=["database_url"],
)
async def test_an_id_that_is_not_taken_is_refused_or_reported(
    tmp_path: Path, policy: str, database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = study(tmp_path, recruitment={"unreadable_id": policy})
    caplog.set_level(logging.WARNING)
    started = policy == "report"
    known = {"PARLEY_SECRET": SECRET, "PARLEY_DATABASE_URL": database_url}
    async with serving(settings_for(tmp_path, database_url=database_url), path) as served:
        for link, reason, parameter in LOST:
            async with HttpBot(served.url, link) as bot:
                answer = await bot.client.get(f"/s/small{link}")
                assert answer.status_code == (200 if started else 403)
                if started:
                    await bot.arrive("small", link)
                    enrolled = facts(served.database, bot.stream)[0].data
                    assert enrolled["unreadable_id"] == {"reason": reason, "parameter": parameter}
                    if reason == "unknown":
                        await bot.finish()
        assert len(sessions(served)) == (len(LOST) if started else 0)
        assert query(served.database, "SELECT * FROM participant_identity") == []
        found = {
            (one.reason, one.parameter, one.refused, one.started) for one in link_problems(served.database, "small")
        }
        assert found == {(reason, parameter, int(not started), int(started)) for _, reason, parameter in LOST}
        flagged = query(served.database, "SELECT flags FROM seat")
        assert flagged == ([("unreadable_id",)] * len(LOST) if started else [])
        shown = json.loads(parley("show", "status", "small", "--json", folder=tmp_path, **known).stdout)
        assert shown["unreadable_id"] == len(flagged)
        assert {(one["reason"], one["refused"], one["started"]) for one in shown["link_problems"]} == {
            (reason, refused, begun) for reason, _, refused, begun in found
        }
        if started:
            paid = parley("payments", "small", "-o", "out", "--dry-run", folder=tmp_path, **known).stdout
            assert f"no list of a recruiter: session {len(LOST)}." in " ".join(paid.split())
        printed = parley("show", "status", "small", folder=tmp_path, **known).stdout
        assert "PROLIFIC_PID" in printed
        stored = repr(query(served.database, "SELECT * FROM link_problem"))
    for _, reason, parameter in LOST:
        assert any(reason in message and parameter in message for message in caplog.messages), reason
    assert PID not in stored + caplog.text


async def test_a_study_that_names_its_recruiters_refuses_and_counts_every_other_link(tmp_path: Path) -> None:
    path = study(tmp_path, recruitment={"channels": ["prolific"]})
    links = [("", "missing", ""), ("?participantId=A1", "other_recruiter", ""), ("?pid=[ID]", "unfilled", "pid")]
    async with serving(settings_for(tmp_path), path) as served:
        async with httpx2.AsyncClient(timeout=60, base_url=served.url) as client:
            pages = [(await client.get(f"/s/small{link}")) for link, _, _ in links for _ in range(2)]
            assert (await client.head("/s/small")).status_code == 403
        assert {page.status_code for page in pages} == {403}
        assert len({page.text for page in pages}) == 1, "the page does not depend on the link"
        found = {(one.reason, one.parameter): one.refused for one in link_problems(served.database, "small")}
        assert found == {(reason, parameter): 2 for _, reason, parameter in links}


@pytest.mark.parametrize("channels", [[], ["panel"]])
async def test_a_previewed_task_has_to_be_accepted_first(tmp_path: Path, channels: list[str]) -> None:
    path = study(tmp_path, recruitment={"channels": channels}, languages=["en", "ar", "de"])
    preview = "/s/small?hitId=H1&assignment_id=assignment_id_not_available"
    async with serving(settings_for(tmp_path), path) as served:
        async with httpx2.AsyncClient(timeout=60, base_url=served.url) as client:
            pages = {tag: await client.get(f"{preview}&lang={tag}") for tag in ("en", "de", "ar")}
            assert {page.status_code for page in pages.values()} == {200}
            assert all("<form" not in page.text for page in pages.values())
            assert len({page.text for page in pages.values()}) == len(pages)
            posted = await client.post(preview, data={"ticket": "x"}, headers={"Origin": served.url})
            assert (posted.status_code, "<form" in posted.text) == (200, False)
        assert (sessions(served), link_problems(served.database, "small")) == ([], ())
        async with HttpBot(served.url, "1") as bot:
            await bot.arrive("small", "?hitId=H1&assignmentId=A1&workerId=W1")
            person = Participants(served.database, SECRET).reveal(bot.stream)
            assert person == ParticipantId("panel", "W1", "A1")


async def test_of_one_address_only_so_many_links_are_counted(tmp_path: Path) -> None:
    path = study(tmp_path, recruitment={"channels": ["prolific"]})
    async with (
        serving(settings_for(tmp_path), path) as served,
        httpx2.AsyncClient(timeout=60, base_url=served.url) as client,
    ):
        for number in range(90):
            assert (await client.get(f"/s/small?pid{number % 9}_id=7")).status_code == 403
        assert 60 <= sum(one.refused for one in link_problems(served.database, "small")) < 90


@POSTGRES_BY_NIGHT
def test_names_of_parameters_fill_no_table(each_database: Database) -> None:
    database = each_database
    for number in range(MOST + 5):
        count_link_problem(database, "small", "unknown", f"x{number}_id", number, started=bool(number % 2))
    found = link_problems(database, "small")
    assert len(found) == MOST + 1
    assert sum(one.refused + one.started for one in found) == MOST + 5
    assert next(one for one in found if not one.parameter).last_us == MOST + 4
    assert len(query(database, f'SELECT * FROM "{tables.link_problems.name}"')) == MOST + 1
