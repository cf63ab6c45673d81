"""Withdrawal and the deletion of an ID from the page of a session: once, by owners, and only when they are sure."""

from __future__ import annotations

import html
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.config.settings import Settings
from app.studies.loader import load_study
from app.use_cases.simulate import SimulationProgress, free_run, simulate
from app.web.console.formatting import format_time
from experiments.session.engine import fold
from storage.db.engine import Database, open_database
from tests.fakes.console import Room, console
from tests.fakes.databases import fill
from tests.fakes.let_go import let_go
from tests.fakes.payees import Somebody, pid, take_part
from tests.fakes.researcher import Researcher, value, visible
from tests.wiring.reading import facts, query

pytestmark = pytest.mark.anyio
Console = tuple[Room, Researcher]
SURE = {"session-sure": True}


@pytest.fixture
async def at(tmp_path: Path) -> AsyncIterator[Console]:
    await take_part(tmp_path, Somebody("prolific", pid(1)), Somebody("prolific", pid(2), 2))
    database = open_database(f"sqlite:///{tmp_path}/parley.db")
    async with console(tmp_path, database) as (room, researcher):
        await researcher.open(study="paid", tab="sessions", session="1")
        yield room, researcher
    let_go(database)


async def test_a_session_is_withdrawn_once_by_an_owner_who_is_sure(at: Console) -> None:
    room, researcher = at
    ((stream,),) = query(room.desk.database, "SELECT stream FROM session WHERE ordinal = 1")
    room.as_("analyst")
    assert not visible((await researcher.open(study="paid", tab="sessions", session="1"))["session-erase"])
    await researcher.on("session-withdraw", "click", **SURE)
    room.as_("owner")
    unsure = await researcher.on("session-withdraw", "click")
    assert "warn" in value(unsure["note"])
    assert fold(facts(room.desk.database, stream)).outcome == "complete"
    gone = await researcher.on("session-withdraw", "click", **SURE)
    (withdrew,) = facts(room.desk.database, stream)
    assert withdrew.kind == "withdrew"
    shown = value(gone["session-head"]), value(gone["sessions-list"]).partition('data-session="1"')[2]
    assert [page for page in shown if format_time(withdrew.at_us) in page] == [], "it began at another time"
    assert (visible(gone["session-erase"]), room.did[-1]) == (False, ("Ada", "withdrew a session", "paid No. 1"))


async def test_a_replay_begins_at_the_first_event_and_goes_on_over_those_without_a_page(
    tmp_path: Path, database: Database
) -> None:
    await fill(database, ["mathconverse"], 1, "1")
    async with console(tmp_path, database) as (_, researcher):
        seen = await researcher.open(study="mathconverse", tab="sessions", session="1")
        assert seen["session-moment"]["value"] == 1
        pages = [value(seen["session-page"])]
        for number in range(1, seen["session-moment"]["maximum"]):
            moved = await researcher.on("session-following", "click", **{"session-moment": number})
            assert value(moved["session-moment"]) == number + 1
            pages.append(value(moved["session-page"]))
        assert all('class="stack' in html.unescape(page) for page in pages), "each has something to read or do"
        for sent, there in ((1, pages[0]), (100_000, pages[-1]), (2, pages[0])):
            back = await researcher.on("session-previous", "click", **{"session-moment": sent})
            assert value(back["session-page"]) == there, "there is none before the first, nor after the last"
    ((stream,),) = query(database, "SELECT stream FROM session")
    sent = {event.seq for event in facts(database, stream) if event.kind == "submitted"}
    filled = {number for number, page in enumerate(pages, 1) if " checked" in html.unescape(page)}
    assert filled & sent, "what was sent stays until the next page is there"
    assert not filled & {number - 1 for number in sent}, "nothing is chosen before it is sent"


async def test_an_id_is_deleted_unless_a_bonus_is_unpaid(at: Console) -> None:
    room, researcher = at
    people = room.desk.participants
    refused = await researcher.on("session-unlink", "click", session="2", **SURE)
    assert 'role="alert"' in value(refused["note"])
    (unpaid,), (paid,) = people.called("paid", pid(2)), people.called("paid", pid(1))
    await researcher.on("session-unlink", "click", **SURE)
    assert (people.reveal(paid), people.reveal(unpaid) is None) == (None, False)
    assert room.did[-1] == ("Ada", "deleted a recruiter ID", "paid No. 1")


async def test_a_person_s_waves_lead_to_each_other_and_memory_stands_above_the_replies(tmp_path: Path) -> None:
    (tmp_path / "two.yaml").write_text(TWO)
    database = open_database(f"sqlite:///{tmp_path}/parley.db")
    run = free_run(load_study(str(tmp_path / "two.yaml")), 2, "1")
    await simulate(database, Settings(_env_file=None), SimulationProgress(run))
    async with console(tmp_path, database) as (_, researcher):
        seen = {number: await researcher.open(study="two", tab="sessions", session=number) for number in "1234"}
        leads = {
            number: re.findall(r'data-session="(\d)"', value(page["session-head"])) for number, page in seen.items()
        }
        found = query(database, "SELECT person, ordinal FROM session")
        assert leads == {
            str(number): [str(other) for whose, other in found if whose == own and other != number]
            for own, number in found
        }
        stories = [value(page["session-story"]) for page in seen.values()]
    told = [re.findall(r"remark (remembered)|message (bot)", story) for story in stories if "remembered" in story]
    assert [one[0] for one in told] == [("remembered", "")] * 2
    let_go(database)


TWO = """
study: two
title: t
problems: {topics: {items: [{id: week, question: How was your week?}]}}
models: {m: {backend: scripted}}
memory: {kind: transcript}
waves:
  - wave: A
    flow:
      - &talk {each: topic, of: topics, flow: [{step: chat, min_messages: 1, max_messages: 3}]}
      - {step: finish}
  - {wave: B, flow: [*talk, {step: finish}]}
"""
