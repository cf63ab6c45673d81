"""A server follows what is published: new people get the new version, and who has begun goes on under theirs."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest

from app.studies.loader import load_study, read_yaml
from experiments.study.study import Study
from storage.db.engine import Database
from storage.registers.study_status import set_status
from storage.registers.study_versions import publish
from tests.fakes import studies
from tests.fakes.http_bot import HttpBot
from tests.fakes.served import serving, settings_for, ticket
from tests.wiring.reading import check_facts, facts

pytestmark = pytest.mark.anyio
PATIENCE_S = 100.0


def changed(folder: Path, file: Path, **keys: Any) -> Study:
    raw = read_yaml(file) | {"version": 2} | keys
    raw["flow"][0]["text"] = "Do you agree, now that it is another version?"
    (folder / "changed").mkdir(exist_ok=True)
    return load_study(str(studies.write(folder / "changed", raw)))


def release(database: Database, study: Study) -> None:
    publish(database, study, by="researcher", at_us=time.time_ns() // 1000)


def decide(database: Database, study: str, kind: str) -> None:
    set_status(database, study, kind, {"why": "so"}, by="researcher", at_us=time.time_ns() // 1000)


async def comes(met: Callable[[], Awaitable[bool]]) -> None:
    """Wait until it is so: a server looks every two seconds."""
    give_up = time.monotonic() + PATIENCE_S
    while not await met():
        assert time.monotonic() < give_up, "it never came"
        await asyncio.sleep(0.1)


async def answers(url: str, path: str, status: int, words: str = "") -> None:
    async with httpx2.AsyncClient(timeout=60, base_url=url) as client:

        async def met() -> bool:
            answer = await client.get(path)
            return answer.status_code == status and words in answer.text

        await comes(met)


def hash_of(database: Database, bot: HttpBot) -> str:
    found: str = facts(database, bot.stream)[0].data["hash"]
    return found


async def test_a_change_is_published_beside_a_live_session(tmp_path: Path) -> None:
    file = studies.short(tmp_path)
    first = load_study(str(file))
    second = changed(tmp_path, file)
    async with serving(settings_for(tmp_path), file) as one, HttpBot(one.url, "old") as old:
        await old.arrive("short")
        await old.step()
        release(one.database, second)

        async def met() -> bool:
            async with HttpBot(one.url, "new") as new:
                await new.arrive("short")
                return hash_of(one.database, new) == second.hash

        await comes(met)
        await old.arrive("short")
        await old.finish()
        check_facts(one.database, old)
        assert hash_of(one.database, old) == first.hash
        async with HttpBot(one.url, "newer") as newer:
            await newer.arrive("short")
            assert "another version" in str(newer.answer.plain)
            await newer.finish()
    async with serving(settings_for(tmp_path), file) as again, HttpBot(again.url, "later") as later:
        await later.arrive("short")
        assert hash_of(again.database, later) == second.hash, "a server that starts again undoes nothing"


async def test_without_names_all_that_is_published_is_served(tmp_path: Path) -> None:
    one, two = load_study(str(studies.short(tmp_path))), load_study(str(studies.chat(tmp_path)))
    async with serving(settings_for(tmp_path)) as served:
        await answers(served.url, "/", 200, 'data-page="no_open_studies"')
        await answers(served.url, "/s/short", 404)
        release(served.database, one)
        decide(served.database, "short", "piloted")
        await answers(served.url, "/s/short", 200)
        await answers(served.url, "/?PROLIFIC_PID=x", 303)
        release(served.database, two)
        async with HttpBot(served.url, "1") as bot:
            await bot.arrive("short", "?x=1")
            assert facts(served.database, bot.stream)[0].data["origin"] == "pilot"
            await answers(served.url, "/s/talk", 404, 'data-page="not_found"')
            decide(served.database, "talk", "opened")
            decide(served.database, "short", "closed")
            await answers(served.url, "/s/talk", 200)
            await answers(served.url, "/", 404)
            await answers(served.url, "/s/short", 200, 'data-page="closed"')
            await bot.finish()


async def test_what_a_published_study_lacks_is_logged_before_anybody_comes(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = studies.chat(tmp_path)
    async with serving(settings_for(tmp_path), file) as one:
        release(one.database, changed(tmp_path, file, models={"only": {"backend": "openai", "model": "x"}}))
    with caplog.at_level(logging.ERROR):
        async with serving(settings_for(tmp_path)):
            assert "cannot start sessions of talk, version 2" in caplog.text


async def test_what_this_server_lacks_is_logged_and_nobody_is_let_into_half_a_study(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = studies.chat(tmp_path)
    second = changed(tmp_path, file, models={"only": {"backend": "openai", "model": "x"}})
    with caplog.at_level(logging.ERROR):
        async with serving(settings_for(tmp_path), file) as one, HttpBot(one.url, "old") as old:
            await old.arrive("talk")
            release(one.database, second)
            await answers(one.url, "/s/talk", 503, 'data-page="unavailable"')
            async with httpx2.AsyncClient(timeout=60, base_url=one.url) as client:
                assert (await client.post("/s/talk", data=ticket("talk"))).status_code == 503
            await old.arrive("talk")
            await old.finish()
    told = [
        record.getMessage()
        for record in caplog.records
        if "cannot start sessions of talk, version 2" in record.getMessage()
    ]
    assert len(told) == 1, "it is told once"
    assert "PARLEY_OPENAI_API_KEY" in told[0]
