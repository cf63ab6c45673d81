"""`kill -9` while ten people wait for a call of a tool that changes something: nothing is lost, and nothing is done
twice without a yes."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from experiments.session.engine import fold
from experiments.session.seeded_random import public_uuid
from storage.db.engine import Database, open_database
from tests.fakes import studies
from tests.fakes.dying import WHEN, command_that_dies_in_calls
from tests.fakes.http_bot import HttpBot
from tests.fakes.served import Process
from tests.fakes.tool_desk import until
from tests.fakes.tool_server import HOLD_FILE, PAID_FILE, over_http
from tests.wiring.reading import check_facts, check_sound, facts

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.timeout(600)]
PEOPLE = 10
# How often it was done until the kill, and whether people are asked then whether it is to be done (again).
MOMENTS = {"before": (0, False), "between": (0, True), "in": (1, True), "after": (1, True)}


def study(folder: Path, url: str) -> Path:
    options = {"calls": [[{"tool": "book", "arguments": {}}]], "first_ms": 0, "pace_ms": 0}
    each = {"each": "item", "of": "items", "flow": [{"step": "chat", "model": "one", "tools": "desk"}]}
    raw = {
        **{"study": "desk", "title": "Desk", "problems": {"items": {"items": [{"question": "Well?"}]}}},
        "models": {"one": {"backend": "scripted", "options": options}},
        "tools": {"desk": {"url": url, "writes": ["book"], "timeout_s": 120}},
        "flow": [each, {"step": "finish"}],
    }
    return studies.write(folder, raw)


@pytest.mark.parametrize(
    "moment", [pytest.param(one, marks=pytest.mark.nightly if one != "in" else ()) for one in MOMENTS]
)
async def test_people_are_in_a_call_that_writes(moment: str, tmp_path: Path) -> None:
    done, asked = MOMENTS[moment]
    paid, hold = tmp_path / "paid", tmp_path / "hold"
    paid.touch()
    if moment == "in":
        hold.touch()
    with over_http(**{PAID_FILE: str(paid), HOLD_FILE: str(hold)}) as url:
        env = {WHEN: f"{moment} {PEOPLE}"}
        process = Process(tmp_path, (study(tmp_path, url),), env=env, run=command_that_dies_in_calls)
        await asyncio.to_thread(process.start)
        try:
            async with AsyncExitStack() as stack:
                bots = [HttpBot(process.url, str(number), patience_s=60) for number in range(PEOPLE)]
                await asyncio.gather(*(stack.enter_async_context(bot) for bot in bots))
                await asyncio.gather(*(arrive(bot) for bot in bots))
                deciding = asyncio.gather(*(decide(bot, "allow") for bot in bots))  # some are told only by the next
                if moment == "in":
                    await until(lambda: len(paid.read_text().split()) == PEOPLE)
                    process.kill()
                await until(lambda: not process.alive)
                hold.unlink(missing_ok=True)
                await asyncio.to_thread(process.start)
                await deciding
                await asyncio.gather(*(go_on(bot, number, asked=asked) for number, bot in enumerate(bots)))
            await asyncio.to_thread(process.stop)
        finally:
            process.kill()
    database, booked = open_database(process.database_url), Counter(paid.read_text().split())
    for number, bot in enumerate(bots):
        check(database, bot, booked, done + (not asked or number % 2), asked=asked)
    check_sound(database)
    database.dispose()


async def arrive(bot: HttpBot) -> None:
    await bot.arrive("desk")
    await bot.do("say", {"text": "Please book."})
    while "allow" not in bot.screen.actions:
        await bot.step()


async def decide(bot: HttpBot, kind: str) -> None:
    chat = bot.screen.panel.chat
    assert chat
    assert chat.approval
    answer = await bot.do(kind, {"call": chat.approval.call})
    assert (answer.status, answer.note) == (200, "")


async def go_on(bot: HttpBot, number: int, *, asked: bool) -> None:
    await bot.look()
    while "allow" not in bot.screen.actions and "say" not in bot.screen.actions:
        await bot.step()
    assert ("allow" in bot.screen.actions) == asked
    if asked:
        chat = bot.screen.panel.chat
        assert chat
        assert chat.approval
        assert chat.approval.again
        await decide(bot, "allow" if number % 2 else "deny")
    await bot.finish()


def check(database: Database, bot: HttpBot, booked: Counter[str], times: int, *, asked: bool) -> None:
    check_facts(database, bot)
    events = facts(database, bot.stream)
    kinds = Counter(event.kind for event in events)
    turn = next(event.path for event in events if event.kind == "called").partition("/chat")[0]
    assert booked[public_uuid(fold(events).seed, f"tools/{turn}")] == times <= kinds["allowed"]
    assert (kinds["interrupted"], kinds["called"]) == (asked, 1)
    assert kinds["calling"] == kinds["returned"] + kinds["interrupted"]
