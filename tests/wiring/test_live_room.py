"""The tab Monitoring, as a researcher has it open: figures, origins, stuck sessions; and the quotas of conditions."""

from __future__ import annotations

import re
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from app.clock import VirtualClock
from storage.db.engine import open_database
from storage.log.seats import cell_key
from storage.registers.studies import Studies
from storage.registers.study_status import operations_of
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


async def limit(olga: Researcher, cell: Any, most: Any) -> dict[str, Any]:
    values = {"study": NAME, "live-origin": "person", "live-cell": cell, "live-most": most}
    return dict(await olga.on("live-set", "click", **values))


async def test_an_owner_lets_nobody_new_into_a_cell_and_everybody_again(olga: Researcher, console: Room) -> None:
    painted = await olga.enter("monitoring", study=NAME)
    assert painted["live-cap"]["visible"] is True
    where = {"condition": "answer-first"}
    assert cell_key(where) in [value for _, value in painted["live-cell"]["choices"]]
    said = await limit(olga, cell_key(where), 0)
    assert "condition: answer-first is 0" in said["note"]
    assert 'data-closed="off"' in said["live-body"]
    assert operations_of(console.desk.database, NAME).caps == {(("condition", "answer-first"),): 0}
    for cell, quota in ((cell_key(where), 0), ("condition: direct-to-AI", None)):
        shown = await olga.on("live-cell", "input", **{"study": NAME, "live-cell": cell})
        assert shown["live-most"]["value"] == quota
        typed = await olga.on("live-cell", "input", **{"study": NAME, "live-cell": cell, "live-most": 40})
        assert "value" not in typed["live-most"], "the focus left the list, and nothing was chosen"
    assert console.did[-1] == ("olga", "set the quota to 0", f"{NAME}: condition: answer-first")
    said = await limit(olga, cell_key(where), None)
    assert "removed" in said["note"]
    assert "data-closed" not in said["live-body"]


async def test_an_analyst_looks_and_changes_nothing(olga: Researcher, console: Room) -> None:
    console.as_("analyst", "ann")
    assert (await olga.enter("monitoring", study=NAME))["live-cap"]["visible"] is False
    assert "Only owners" in (await limit(olga, "condition: answer-first", 0))["note"]
    assert operations_of(console.desk.database, NAME).caps == {}
