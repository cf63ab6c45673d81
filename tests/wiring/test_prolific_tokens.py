"""Prolific's own proof of who comes: its tokens are believed as far as it signed them, for us, in our workspace."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import httpx2
import jwt
import pytest

from app.web.participant import prolific_tokens
from storage.registers.participants import ParticipantId, Participants
from tests.fakes.http_bot import HttpBot
from tests.fakes.http_server import Answer, HttpFake, Request, serve
from tests.fakes.proofs import WORKSPACE, Prolific, sessions, study
from tests.fakes.served import SECRET, Served, serving, settings_for, ticket
from tests.wiring.reading import facts, query

pytestmark = pytest.mark.anyio
HERE = "http://127.0.0.1:7999"
SET = {"public_url": HERE, "prolific_workspaces": f"other,{WORKSPACE}"}


class Keys(HttpFake):
    """Prolific's keys, as they stand in a file."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.file = file

    def answer(self, request: Request) -> Answer:
        self.requests.append(request)
        return Answer(200, self.file.read_bytes())


@pytest.fixture
def prolific(tmp_path: Path) -> Prolific:
    return Prolific(tmp_path / "jwks.json", HERE)


def settings(folder: Path, **more: Any) -> Any:
    return settings_for(folder, **(SET | {"prolific_jwks": str(folder / "jwks.json")} | more))


async def test_a_token_leads_back_from_another_device_and_its_ids_count(tmp_path: Path, prolific: Prolific) -> None:
    path = study(tmp_path, recruitment={"channels": ["prolific"], "id_proof": "required"})
    async with (
        serving(settings(tmp_path), path) as served,
        HttpBot(served.url, "1") as first,
        HttpBot(served.url, "2") as second,
    ):
        await first.arrive("small", prolific.link("small", "abc123"))
        await first.until(path="more")
        other = prolific.link("small", "abc123").replace("PROLIFIC_PID=abc123", "PROLIFIC_PID=victim")
        await second.arrive("small", other)
        assert (second.stream, second.screen) == (first.stream, first.screen)
        assert Participants(served.database, SECRET).reveal(first.stream) == ParticipantId("prolific", "abc123", "se1")
        assert facts(served.database, first.stream)[0].data["proof"] == "prolific token"


def forged(prolific: Prolific) -> dict[str, str]:
    """Tokens that are none of Prolific's, or not for this server and our studies, by what is wrong with them."""
    elsewhere = Prolific(prolific.file.with_name("other.json"), HERE)
    good = prolific.token("small", "victim")
    claims = jwt.decode(good, options={"verify_signature": False})
    public = json.loads(prolific.file.read_text(encoding="utf-8"))["keys"][0]["n"]
    return {
        "another's key": elsewhere.token("small", "victim"),
        "no signature": jwt.encode(claims, None, "none", {"kid": "one"}),
        "the public key as a secret": jwt.encode(claims, public, "HS256", {"kid": "one"}),
        "cut": good[:-4],
        "no token": "abc",
        "over": prolific.token("small", "victim", exp=1_700_000_000),
        "never over": prolific.token("small", "victim", exp=None),
        "of another issuer": prolific.token("small", "victim", iss="https://prolific.example"),
        "for another server": prolific.token("small", "victim", aud="https://elsewhere.example/s/small"),
        "for another port": prolific.token("small", "victim", aud="http://127.0.0.1:8000/s/small"),
        "for nobody": prolific.token("small", "victim", aud=None),
        "of a stranger's study": prolific.token("small", "victim", prolific={"workspace_id": "aa"}),
        "of no workspace": prolific.token("small", "victim", prolific={"workspace_id": None}),
        "without ids": prolific.token("small", "victim", prolific={"PROLIFIC_PID": None}),
        "too long": "a" * 50_000,
    }


async def test_a_forged_token_is_refused_and_leads_to_nobody(tmp_path: Path, prolific: Prolific) -> None:
    path = study(tmp_path, recruitment={"channels": ["prolific"]})
    async with serving(settings(tmp_path), path) as served, HttpBot(served.url, "1") as victim:
        await victim.arrive("small", prolific.link("small", "victim"))
        before = facts(served.database, victim.stream)
        for what, token in forged(prolific).items():
            async with httpx2.AsyncClient(timeout=60, base_url=served.url) as stranger:
                link = f"/s/small?PROLIFIC_PID=victim&SESSION_ID=se1&prolific_token={token}"
                for answer in (await stranger.get(link), await stranger.post(link)):
                    refused = 400 if what == "too long" else 403  # the server takes no such header at all
                    assert (answer.status_code, "set-cookie" in answer.headers) == (refused, False), what
        assert sessions(served) == [victim.stream]
        assert facts(served.database, victim.stream) == before
        over = prolific.link("small", "victim", exp=1_700_000_000)
        await victim.arrive("small", over)
        assert victim.stream == sessions(served)[0], "their own browser knows them"


async def test_a_new_key_of_prolifics_is_fetched_when_it_is_met(
    tmp_path: Path, prolific: Prolific, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prolific_tokens, "AGAIN_S", -1.0)
    path = study(tmp_path, recruitment={"channels": ["prolific"], "id_proof": "required"})
    with serve(Keys(prolific.file)) as keys:
        async with serving(settings(tmp_path, prolific_jwks=keys.url), path) as served:
            for number in range(3):
                await comes(served, prolific.link("small", f"a{number}"))
            assert len(keys.requests) == 1
            prolific.rotate("two")
            await comes(served, prolific.link("small", "b"))
            await comes(served, prolific.link("small", "c", kid="one"))
            assert len(keys.requests) == 2


async def test_unknown_keys_are_looked_for_once_a_minute(tmp_path: Path, prolific: Prolific) -> None:
    path = study(tmp_path, recruitment={"channels": ["prolific"]})
    elsewhere = Prolific(tmp_path / "other.json", HERE)
    for number in range(3):
        elsewhere.rotate(f"key{number}")
    with serve(Keys(prolific.file)) as keys:
        async with (
            serving(settings(tmp_path, prolific_jwks=keys.url), path) as served,
            httpx2.AsyncClient(timeout=60, base_url=served.url) as client,
        ):
            for number in range(20):
                link = elsewhere.link("small", f"a{number}", kid=f"key{number % 3}")
                assert (await client.post(f"/s/small{link}", data=ticket("small"))).status_code == 403
            assert len(keys.requests) == 1


@pytest.mark.parametrize("proof", ["optional", "required"])
async def test_while_the_keys_cannot_be_had_a_token_proves_nothing_and_nobody_waits_for_long(
    tmp_path: Path, prolific: Prolific, monkeypatch: pytest.MonkeyPatch, proof: str
) -> None:
    monkeypatch.setattr(prolific_tokens, "WITHIN_S", 0.3)
    path = study(tmp_path, recruitment={"channels": ["prolific"], "id_proof": proof})
    with socket.create_server(("127.0.0.1", 0)) as silent:
        keys = f"http://127.0.0.1:{silent.getsockname()[1]}/jwks.json"
        async with (
            serving(settings(tmp_path, prolific_jwks=keys), path) as served,
            httpx2.AsyncClient(base_url=served.url, timeout=60) as client,
        ):
            answer = await client.post(f"/s/small{prolific.link('small', 'abc123')}", data=ticket("small"))
            assert answer.status_code == (303 if proof == "optional" else 503)
            proofs = [facts(served.database, stream)[0].data["proof"] for stream in sessions(served)]
            assert proofs == (["none"] if proof == "optional" else [])


async def comes(served: Served, link: str) -> None:
    before = len(query(served.database, "SELECT 1 FROM session"))
    async with HttpBot(served.url, link[-30:]) as bot:
        await bot.arrive("small", link)
    assert len(sessions(served)) == before + 1
