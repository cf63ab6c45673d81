"""The tab Monitoring, as a researcher has it open: figures and stuck sessions."""

from __future__ import annotations

import re
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from app.clock import VirtualClock
from storage.db.engine import open_database
from storage.registers.studies import Studies
from tests.fakes.console import Room, room
from tests.fakes.databases import busy
from tests.fakes.researcher import Researcher, text
from tests.fakes.sessions import study

pytestmark = pytest.mark.anyio
NAME = "chatbench"


@pytest.fixture(scope="module")
async def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("live") / "parley.db"
    database = open_database(f"sqlite:///{path}")
    Studies(database).register(study("demo"))
    await busy(database, NAME)
    database.dispose()
    return path


@pytest.fixture
def console(filled: Path, tmp_path: Path) -> Iterator[Room]:
    shutil.copyfile(filled, tmp_path / "parley.db")
    database = open_database(f"sqlite:///{tmp_path / 'parley.db'}")
    with room(tmp_path, database, VirtualClock(400_000_000)) as made:
        made.as_("owner", "olga")
        yield made
    database.dispose()


@pytest.fixture
async def olga(console: Room) -> AsyncIterator[Researcher]:
    async with Researcher(app=console) as researcher:
        await researcher.open(study=NAME, tab="monitoring")
        yield researcher


def cards(head: str) -> dict[str, int]:
    return {name: int(number) for name, number in re.findall(r'data-count="(\w+)"><b>([\d,]+)</b>', head)}


async def test_the_tiles_tell_how_a_study_stands(olga: Researcher) -> None:
    painted = await olga.enter("monitoring", study=NAME)
    tiles = cards(painted["live-head"])
    assert tiles["started"] == 5
    assert tiles["excluded"] == 1
    assert tiles["withdrawn"] == 1
    assert tiles["started"] == sum(tiles[name] for name in ("live", "complete", "incomplete", "withdrawn"))
    assert ">not published</span>" in painted["live-head"]
    body = painted["live-body"]
    assert re.search(rf'href="\?study={NAME}&amp;tab=sessions&amp;session=\d+"', body)
    assert "answer-first" in text(body)
    assert "withdrawn" in text(body)
