"""Pictures of a study over HTTP: by their hash, for the participants of that study, from whatever server has the
database."""

from __future__ import annotations

import base64
import html
import re
import shutil
from hashlib import sha256
from pathlib import Path

import pytest

from app.studies.loader import load_study
from storage.db.engine import Database, open_database
from storage.registers.studies import BUILT
from storage.registers.study_versions import publish_on_start
from tests.fakes import pictures, studies
from tests.fakes.console import console
from tests.fakes.http_bot import HttpBot
from tests.fakes.let_go import let_go
from tests.fakes.pictures import drawn
from tests.fakes.postgres import POSTGRES_BY_NIGHT
from tests.fakes.researcher import value
from tests.fakes.served import serving, settings_for
from tests.wiring.app.web.participant.test_picture_reader import study, upload

pytestmark = pytest.mark.anyio
ADDRESS = re.compile(r'<img src="(picture/[0-9a-f]{64})" alt="([^"]*)"')
ALTS = {
    "The logo",
    "A line that falls from the left to the right",
    "It rises",
    "It falls",
    "A rising line",
    "this line",
}


# What says where a picture came from.
FILES = re.compile(r"right-answer|base64|up\.gif|logo\.webp")


async def shown(bot: HttpBot) -> dict[str, str]:
    """The pictures on the page that somebody is on: addresses by alternative text."""
    told = (await bot.send("POST", "/api/look", {"view": "page"})).json()
    page = "".join(str(part.get("value", "")) for part in told["updates"].values())
    return {alt: address for address, alt in ADDRESS.findall(page)}


async def walked(bot: HttpBot) -> dict[str, str]:
    await bot.arrive("charts")
    met = await shown(bot)
    while await bot.step():
        met |= await shown(bot)
    return met


@POSTGRES_BY_NIGHT
async def test_a_published_study_has_its_pictures_after_their_files_are_gone(database_url: str, tmp_path: Path) -> None:
    folder = tmp_path / "author"
    folder.mkdir()
    database = open_database(database_url)
    publish_on_start(database, load_study(str(pictures.study(folder))), at_us=1)
    let_go(database)
    BUILT.clear()
    shutil.rmtree(folder)
    async with serving(settings_for(tmp_path, database_url=database_url)) as served, HttpBot(served.url, "1") as bot:
        met = await walked(bot)
        assert set(met) == ALTS
        for alt, address in met.items():
            response = await bot.send("GET", f"/{address}")
            assert response.status_code == 200, alt
            assert sha256(response.content).hexdigest() == address.removeprefix("picture/")
            assert response.headers["content-type"].startswith("image/")
            assert response.headers["x-content-type-options"] == "nosniff"
            assert response.headers["cache-control"] == "private, max-age=31536000, immutable"
    assert not any(FILES.search(heard.decode(errors="replace")) for heard in bot.heard)


async def test_only_participants_of_the_study_get_its_pictures(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    studied = pictures.study(tmp_path), studies.chat(tmp_path / "other")
    async with (
        serving(settings_for(tmp_path), *studied) as served,
        HttpBot(served.url, "1") as bot,
        HttpBot(served.url, "2") as other,
    ):
        await bot.arrive("charts")
        (address,) = (await shown(bot)).values()
        assert (await bot.send("GET", f"/{address}")).status_code == 200
        assert (await other.send("GET", f"/{address}")).status_code == 404
        await other.arrive("talk")
        refused = await other.send("GET", f"/{address}")
        assert (refused.status_code, refused.headers["cache-control"]) == (404, "no-store")
        for wrong in ("0" * 64, address[8:].upper(), address[8:-1], "logo.webp", "items/up.gif"):
            assert (await bot.send("GET", f"/picture/{wrong}")).status_code == 404


async def test_the_console_shows_the_pictures_that_the_participant_saw(tmp_path: Path, database: Database) -> None:
    async with serving(settings_for(tmp_path), pictures.study(tmp_path)) as served, HttpBot(served.url, "1") as bot:
        await walked(bot)
    async with console(tmp_path, database) as (_, researcher):
        opened = await researcher.open(study="charts", tab="sessions", session="1")
        told = value(opened["session-story"])
        assert {alt for _, alt in ADDRESS.findall(told)} == ALTS
        assert "base64" not in told
        (address, _), *_ = ADDRESS.findall(told)
        response = await researcher.send("GET", f"/{address}")
        assert (response.status_code, response.headers["content-type"]) == (200, "image/webp")
        first = {"study": "charts", "session": "1", "session-moment": 1}
        moved = await researcher.on("session-moment", "input", **first)
        frame = html.unescape(value(moved["session-page"]))
        assert base64.b64encode(drawn(120, 60, "WEBP")).decode() in frame
        assert not ADDRESS.search(frame)


async def test_the_console_shows_what_participants_sent(tmp_path: Path, database: Database) -> None:
    async with serving(settings_for(tmp_path), study(tmp_path)) as served, HttpBot(served.url, "1") as bot:
        await bot.arrive("seen")
        assert (await upload(bot, drawn(90, 60))).status_code == 200
        await bot.do("say", {"text": ""})
        await bot.listen()
    async with console(tmp_path, database) as (_, researcher):
        opened = await researcher.open(study="seen", tab="sessions", session="1")
        (address,) = re.findall(r'src="(attached/[0-9a-f]{64})"', value(opened["session-story"]))
        response = await researcher.send("GET", f"/{address}")
        assert (response.status_code, response.headers["content-type"]) == (200, "image/png")
        moved = await researcher.on(
            "session-moment", "input", **{"study": "seen", "session": "1", "session-moment": 100}
        )
        frame = html.unescape(value(moved["session-page"]))
        assert base64.b64encode(response.content).decode() in frame
        assert "attached/" not in frame
