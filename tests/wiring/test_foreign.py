"""Somebody else's session: every route of the participants' server, asked by three kinds of others who name whose
session they mean in every way there is, gives nothing of it and changes nothing in it."""

from __future__ import annotations

import itertools
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import pytest

from storage import tables
from tests.fakes import studies
from tests.fakes.http_bot import HttpBot
from tests.fakes.served import Served, serving, settings_for
from tests.wiring.sound import rows

pytestmark = pytest.mark.anyio
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
        """All that is kept of the victim."""
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
        await victim.send("POST", "/api/draft", {"path": victim.screen.path, "values": {"text": f"And {CANARY}"}})
        here = {"kind": "here", "path": victim.screen.path, "ago_ms": 0}
        await victim.send("POST", "/api/telemetry", {"key": "1" * 32, "records": [here]})
        await victim.send("POST", "/api/draft", {"path": victim.screen.path, "values": {"text": f"And {CANARY}"}})
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
