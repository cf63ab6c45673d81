"""Pictures in the console: uploaded to a draft, listed, shown within an item, published, and seen by participants."""

from __future__ import annotations

import html
import re
from base64 import b64encode
from collections.abc import AsyncIterator
from hashlib import sha256
from pathlib import Path

import pytest

from storage.db.engine import Database
from storage.registers.study_versions import current
from tests.fakes.console import Room, console
from tests.fakes.http_bot import HttpBot
from tests.fakes.pictures import drawn
from tests.fakes.researcher import Researcher, text, value
from tests.fakes.served import serving
from tests.wiring.app.web.console.study_tab.test_items import STUDY, columns, upload, write

pytestmark = pytest.mark.anyio
CSV = "question,A,B,answer\nWhere does it go? ![A line](my%20line.png),up,down,B\n"
ADDRESS = re.compile(r'<img src="(picture/[0-9a-f]{64})" alt="([^"]*)"')


@pytest.fixture
async def at(tmp_path: Path, database: Database) -> AsyncIterator[tuple[Room, Researcher]]:
    async with console(tmp_path, database) as (room, researcher):
        room.desk.drafts.create("sums", "arena")
        room.desk.drafts.save("sums", STUDY)
        await researcher.open(tab="studies", study="sums")
        yield room, researcher


async def send(researcher: Researcher, name: str, content: bytes, study: str = "sums") -> str:
    answer = await researcher.send("POST", "/console/picture", params={"study": study, "name": name}, content=content)
    assert answer.status_code == (200 if answer.json() == {} else 422)
    return str(answer.json().get("note", ""))


async def test_pictures_are_uploaded_shown_published_and_served(
    at: tuple[Room, Researcher], database: Database
) -> None:
    room, researcher = at
    shown = await upload(researcher, "q.csv", CSV)
    assert "my line.png" in text(shown["items-understood"])
    assert "cannot be shown" in text(shown["items-understood"])
    assert await send(researcher, "my line.png", drawn()) == ""
    assert await send(researcher, "other.webp", drawn(120, 60, "WEBP")) == ""
    parts = {"question": "question", "options": ["A", "B"], "answer": "answer"}
    shown = await researcher.on("pictures-sent", "click", **columns("q.csv", **parts))
    assert "cannot be shown" not in text(shown["items-understood"])
    listed = value(shown["pictures-list"])
    assert re.findall(r"<b>(.*?)</b>", listed) == ["my line.png", "other.webp"]
    assert "![what it shows](my%20line.png)" in html.unescape(listed)
    assert listed.count('src="data:image/png;base64,') == 2
    assert b64encode(drawn()).decode() in html.unescape(value(shown["items-page"]))

    done = await write(researcher, "q.csv", **parts)
    assert "verdict good" in value(done["faults"])
    refused = await researcher.on("pictures-remove", "click", **{"pictures-which": "my line.png"})
    assert "texts show" in value(refused["note"])
    left = await researcher.on("pictures-remove", "click", **{"pictures-which": "other.webp"})
    assert re.findall(r"<b>(.*?)</b>", value(left["pictures-list"])) == ["my line.png"]
    plan = await researcher.on("publish-ask", "click", **{"study-text": room.desk.drafts.text("sums")})
    await researcher.on("publish-yes", "click", **{"text-hash": value(plan["text-hash"])})
    await researcher.on("decide-opened", "click")
    assert [one.sha256 for one in current(database, "sums").pictures.by_key.values()] == [sha256(drawn()).hexdigest()]
    async with serving(room.desk.settings) as server, HttpBot(server.url, "ann") as bot:
        await bot.arrive("sums")
        told = (await bot.send("POST", "/api/look", {"view": "page"})).json()
        page = "".join(str(part.get("value", "")) for part in told["updates"].values())
        ((address, alt),) = ADDRESS.findall(page)
        assert alt == "A line"
        assert (await bot.send("GET", f"/{address}")).content == drawn()
    did = [what for _, what, about in room.did if about == "sums"]
    assert "uploaded my line.png" in did
    assert "removed other.webp" in did
