"""Nobody sees, stores or changes anything of another: participants at once, strangers who name a session, old tabs."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from app.web.participant.api import ANOTHERS
from experiments.study.screen import MESSAGE_DRAFT
from storage import tables
from tests.fakes import studies
from tests.fakes.http_bot import HttpBot
from tests.fakes.served import Served, serving, settings_for
from tests.wiring.reading import (
    check_facts,
    check_rows,
    check_sound,
    exported,
    facts,
    query,
    released_rows,
    words,
)
from tests.wiring.sound import logs_of, rows

pytestmark = pytest.mark.anyio


async def interleave(bots: list[HttpBot], chance: random.Random, at_once: int) -> None:
    """Let some of those who are not done take one step each, at the same time, until all are done."""
    going = list(bots)
    while going:
        chosen = chance.sample(going, min(len(going), chance.randint(1, at_once)))
        more = await asyncio.gather(*(bot.step() for bot in chosen))
        going = [bot for bot in going if bot not in chosen or more[chosen.index(bot)]]


async def check_apart(served: Served, bots: list[HttpBot], folder: Path) -> None:
    database = served.database
    logs = {bot.stream: words(facts(database, bot.stream)) for bot in bots}
    assert len(logs) == len(bots)
    for bot, other in permutations(bots, 2):
        assert other.canary not in logs[bot.stream]
        assert not any(other.canary.encode() in heard for heard in bot.heard), f"{bot.stream} heard {other.stream}"
    rows = [row for table in released_rows(database).values() for row in table]
    for row in rows:
        told = {bot.stream for bot in bots if bot.canary in repr(row)}
        assert told <= {row[1]}, f"a row of {row[1]} holds words of {told}"
    text = exported(database, "demo", folder)
    for bot in bots:
        assert bot.canary in logs[bot.stream]
        assert bot.canary in text
        assert bot.stream not in text


@pytest.mark.parametrize(
    ("count", "at_once"),
    [(4, 3), pytest.param(20, 8, marks=pytest.mark.soak)],
    ids=["four", "twenty"],
)
async def test_participants_share_nothing(tmp_path: Path, seed: int, count: int, at_once: int) -> None:
    print(f"seed {seed}")
    chance = random.Random(seed)
    async with serving(settings_for(tmp_path), studies.demo(tmp_path)) as served, AsyncExitStack() as stack:
        bots = [HttpBot(served.url, f"{seed}:{n}", canary=f"canary{n:02}bird") for n in range(count)]
        for bot in bots:
            await stack.enter_async_context(bot)
        await asyncio.gather(*(bot.arrive("demo") for bot in bots))
        await interleave(bots, chance, at_once)
        for bot in bots:
            check_facts(served.database, bot)
            check_rows(served.database, bot)
        await check_apart(served, bots, tmp_path)
        assert query(served.database, "SELECT count(*), count(DISTINCT ordinal) FROM session") == [(count, count)]
        check_sound(served.database)


CANARY = "zqforeignqz"
OTHERS = ("a stranger", "somebody else in the same study", "somebody in another study")
ROUTES = {
    "GET": ("/", "/s/short", "/s/talk", "/walk/{}", "/out", "/api/reply", "/healthz", "/gradio_api/app_id", "/s/{}"),
    "POST": ("/api/look", "/api/act", "/api/draft", "/api/telemetry", "/s/{}"),
}
KINDS = ("submit", "say", "retry", "withdraw")
OF_SESSIONS = (tables.events, tables.drafts, tables.telemetry, tables.attempts, tables.seats, tables.identities)


@dataclass
class Scene:
    """Somebody in the middle of a chat, who has a message half written; and the others."""

    served: Served
    victim: HttpBot
    others: Mapping[str, HttpBot]

    def kept(self) -> list[list[str]]:
        stream = self.victim.stream
        return [[repr(row) for row in rows(self.served.database, one) if row.stream == stream] for one in OF_SESSIONS]


@pytest.fixture(scope="module")
async def scene(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Scene]:
    folder = tmp_path_factory.mktemp("foreign")
    async with AsyncExitStack() as stack:
        served = await stack.enter_async_context(
            serving(settings_for(folder), studies.short(folder), studies.chat(folder))
        )
        victim, *others = [
            await stack.enter_async_context(HttpBot(served.url, f"one-{number}", canary="" if number else CANARY))
            for number in range(1 + len(OTHERS))
        ]
        await victim.arrive("short", "?PROLIFIC_PID=5f3a0c6e&SESSION_ID=s1")
        await victim.until(path="with_ai")
        await victim.do("say", {"text": f"I am {CANARY}"})
        await victim.listen()
        await victim.look()
        await victim.send(
            "POST", "/api/draft", {"path": victim.screen.path, "values": {MESSAGE_DRAFT: f"And {CANARY}"}}
        )
        here = {"kind": "here", "path": victim.screen.path, "ago_ms": 0}
        await victim.send("POST", "/api/telemetry", {"key": "1" * 32, "records": [here]})
        await victim.send(
            "POST", "/api/draft", {"path": victim.screen.path, "values": {MESSAGE_DRAFT: f"And {CANARY}"}}
        )
        await others[1].arrive("short")
        await others[1].until(path="with_ai")
        await others[2].arrive("talk")
        yield Scene(served, victim, dict(zip(OTHERS, others, strict=True)))


def bodies(scene: Scene, path: str) -> list[dict[str, Any]]:
    """What a call could take for an action of the victim's, with the session named beside and within."""
    stream, screen = scene.victim.stream, scene.victim.screen
    named = {"stream": stream, "session": stream, "session_id": stream, "ordinal": 1, "by": "participant"}
    values = {"text": "Mine", "answer": "A", **named}
    if path == "/api/telemetry":
        record = {"kind": "here", "path": screen.path, "ago_ms": 0}
        return [{"key": "2" * 32, "records": [record]}, {"key": "3" * 32, "records": [record], "stream": stream}]
    paths = (screen.path, f"{stream}/{screen.path}")
    common = {"seen": screen.seen, "values": values, "view": "screen", **named}
    keys = (f"{kind}-{number}-{len(path)}" for number, kind in enumerate(KINDS))
    return [
        {"kind": kind, "path": at, "key": key.rjust(8, "0"), **common}
        for (kind, key), at in itertools.product(zip(KINDS, keys, strict=True), paths)
    ]


@pytest.mark.parametrize("who", OTHERS)
async def test_nobody_reads_or_changes_anothers_session(scene: Scene, who: str) -> None:
    before, other = scene.kept(), scene.others[who]
    assert all(before), "there is something of each kind"
    own_jar = dict(other.client.cookies)
    payload = scene.victim.client.cookies["parley"].partition(".")[0]
    names = (scene.victim.stream, "1")
    for name, (method, paths) in itertools.product(names, ROUTES.items()):
        for path in (path.format(name) for path in paths):
            query = f"?stream={name}&session={name}&session_id={name}&offset=0&view=screen"
            headers = {"x-session": name, "authorization": f"Bearer {name}", "x-parley-session": name}
            sent = bodies(scene, path) if method == "POST" else [None]
            for body in sent:
                answer = await other.client.request(method, path + query, json=body, headers=headers)
                assert CANARY not in answer.text + json.dumps(dict(answer.headers)), (method, path, body)
                assert answer.status_code < 500
            for forged in (name, f"{payload}.x"):
                cookie = {"cookie": f"parley={forged}; parley-short={forged}"}
                answer = await other.client.request(method, path, json=sent[0], headers=cookie)
                assert CANARY not in answer.text, (method, path, forged)
        other.client.cookies.update(own_jar)
    assert scene.kept() == before


async def test_the_victim_reads_their_own(scene: Scene) -> None:
    look = await scene.victim.client.post("/api/look", json={})
    assert look.text.count(CANARY) >= 2, "what was said, and what is half written"


PRIVATE = "zqprivateqz"
Tabs = tuple[HttpBot, HttpBot]


@pytest.fixture
async def tabs(served: Served) -> AsyncIterator[Tabs]:
    """Two who are at the same place of the same study, of whom the first goes on with the second one's cookie, as where
    a tab stays open while the browser's next user begins in another."""
    async with HttpBot(served.url, "one") as before, HttpBot(served.url, "one") as now:
        for tab in (before, now):
            await tab.arrive("short")
            await tab.until(path="with_ai")
        assert (before.screen.path, before.screen.seen) == (now.screen.path, now.screen.seen)
        before.client.cookies = now.client.cookies
        yield before, now


def kept(served: Served) -> list[Any]:
    of_sessions = (tables.drafts, tables.telemetry, tables.seats)
    return [logs_of(served.database), *(rows(served.database, one) for one in of_sessions)]


@pytest.mark.parametrize("kind", ["say", "submit", "withdraw"])
async def test_a_click_there_is_refused_and_the_tab_told_where_the_browser_is_now(
    served: Served, tabs: Tabs, kind: str
) -> None:
    before, now = tabs
    act, stood = before.intend(kind, {"text": PRIVATE}), kept(served)
    answer = await before.redo(act)
    assert (answer.status, answer.note) == (200, ANOTHERS)
    assert kept(served) == stood
    assert answer.screen == now.screen
    assert not (await before.do("say", {"text": "From here on it is this one's"})).note


async def test_the_page_paints_the_other_session_whole(tabs: Tabs) -> None:
    before, _ = tabs
    body = before.intend("say", {"text": PRIVATE}).body | {"view": "page"}
    shown = (await before.send("POST", "/api/look", {})).json()["shown"]
    painted = (await before.send("POST", "/api/act", {**body, "shown": shown})).json()
    assert painted["refused"]
    assert {"head", "left", "side", "box"} <= painted["updates"].keys()
    assert painted["updates"]["box"]["value"] == ""


async def test_what_is_typed_there_and_what_it_tells_of_itself_is_dropped(served: Served, tabs: Tabs) -> None:
    before, now = tabs
    at = {"path": before.screen.path, "whose": before.intend("say", {}).whose}
    stood = kept(served)
    drafted = await before.send("POST", "/api/draft", {**at, "values": {MESSAGE_DRAFT: PRIVATE}})
    assert drafted.json() == {"saved": False}
    record = {"kind": "here", "path": at["path"], "ago_ms": 0}
    told = {"key": "1" * 32, "whose": at["whose"], "records": [record]}
    assert (await before.send("POST", "/api/telemetry", told)).status_code == 204
    own = {"path": at["path"], "whose": now.intend("say", {}).whose, "values": {MESSAGE_DRAFT: "mine"}}
    assert (await now.send("POST", "/api/draft", own)).json() == {"saved": True}
    assert kept(served)[0] == stood[0]
    assert PRIVATE not in repr(kept(served))
    assert kept(served)[2] == stood[2]


async def test_another_study_takes_no_tab_from_the_first(served: Served) -> None:
    """The tab is told so and led back; what was typed there is a draft of the first, and nothing of the other moves."""
    async with HttpBot(served.url, "first") as first, HttpBot(served.url, "other") as other:
        await first.arrive("short")
        await first.until(path="with_ai")
        act, own = first.intend("say", {"text": PRIVATE}), first.stream
        other.client.cookies = first.client.cookies
        await other.arrive("talk")
        first.client.cookies = other.client.cookies
        before = logs_of(served.database)
        reply = {"view": "page", "whose": act.whose}
        for told in (
            await first.send("POST", "/api/act", act.body),
            await first.send("POST", "/api/look", {"whose": act.whose}),
            await first.client.get("/api/reply", params=reply),
        ):
            assert (told.status_code, told.json()["link"]) == (409, "s/short")
        typed = {"path": act.path, "whose": act.whose, "values": {MESSAGE_DRAFT: PRIVATE}}
        assert (await first.send("POST", "/api/draft", typed)).json() == {"saved": True}
        assert logs_of(served.database) == before
        assert PRIVATE not in (await other.send("POST", "/api/look", {})).text
        await first.arrive("short")
        assert first.stream == own
        assert PRIVATE in (await first.send("POST", "/api/look", {})).text
