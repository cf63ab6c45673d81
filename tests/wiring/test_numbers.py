"""Numbers that no page sends, at every door through which numbers come: refused with a word, never a 500, and nothing
is kept that reads otherwise than what was sent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.http_bot import HttpBot
from tests.fakes.served import serving, settings_for
from tests.wiring.reading import query

pytestmark = pytest.mark.anyio
DEEP = 2_000
UNFIT = {
    "beyond 64 bits": str(2**64),
    "far below": str(-(2**70)),
    "endless digits": "9" * 4_000,
    "more digits than are read": "9" * 10_000,
    "no number": "NaN",
    "infinite": "Infinity",
    "less than any": "-Infinity",
    "huge exponent": "1e400",
    "within a list": "[[1e999]]",
    "within an object": '{"a": {"b": -1e999}}',
    "deep": "[" * DEEP + "]" * DEEP,
    "deep objects": '{"a":' * DEEP + "1" + "}" * DEEP,
}
"""As JSON's text, or what its readers take for JSON."""
FIT = ("0", "-0.0", str(2**63 - 1), str(-(2**63)), "1e308", "1e-400", "0.1")


def body(plain: dict[str, Any], number: str) -> bytes:
    """A request with a number in the place of the word NUMBER."""
    return json.dumps(plain).replace('"NUMBER"', number).encode()


HEADERS = {"content-type": "application/json"}


async def test_the_participants_api_refuses_them_and_keeps_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(settings_for(tmp_path), "demo") as served, HttpBot(served.url, "1") as bot:

        def kept() -> list[list[tuple[Any, ...]]]:
            return [query(served.database, f"SELECT * FROM {table}") for table in ("event", "draft")]

        await bot.arrive("demo")
        before = kept()
        act = bot.intend("submit", {"agreed": "NUMBER", "other": "NUMBER"}).body
        left = {"kind": "left", "path": "x", "ago_ms": "NUMBER"}
        back = {"kind": "came_back", "path": "x", "away_ms": "NUMBER"}
        wrong = (
            ("/api/act", act),
            ("/api/draft", {"path": act["path"], "values": act["values"]}),
            *(("/api/telemetry", {"key": "0" * 32, "records": [record]}) for record in (left, back)),
        )
        for name, number in UNFIT.items():
            for path, plain in wrong:
                response = await bot.client.post(path, content=body(plain, number), headers=HEADERS)
                assert response.status_code == 422, (name, path, response.text[:200])
                assert response.json()["note"]
            content = body({**act, "values": {}, "seen": "NUMBER"}, number)
            assert (await bot.client.post("/api/act", content=content, headers=HEADERS)).status_code in (200, 422)
            response = await bot.client.get("/api/reply", params={"offset": number[:1000]})
            assert response.status_code in (200, 422)
        assert kept() == before
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


async def test_a_number_that_is_taken_is_kept_as_it_was_sent(tmp_path: Path) -> None:
    async with serving(settings_for(tmp_path), "demo") as served, HttpBot(served.url, "1") as bot:
        await bot.arrive("demo")
        for number in FIT:
            content = body({"path": bot.screen.path, "values": {"agreed": "NUMBER"}}, number)
            assert (await bot.client.post("/api/draft", content=content, headers=HEADERS)).status_code == 200
            ((kept,),) = query(served.database, "SELECT data FROM draft")
            assert json.loads(kept) == {"agreed": json.loads(number)}
