"""The builder's form in the console: what is answered is written and checked beside it, and becomes a draft."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from app.studies.loader import load_study
from storage.db.engine import Database
from storage.registers.study_versions import versions
from tests.fakes.console import Room, console
from tests.fakes.researcher import Researcher, draft, text, value, visible

pytestmark = pytest.mark.anyio
Console = tuple[Room, Researcher]
ANSWERS = {"b-name": "mine", "b-title": "Mine", "b-consent": "You agree.", "b-take": 2}
GOOD = "verdict good"


@pytest.fixture
async def at(tmp_path: Path, database: Database) -> AsyncIterator[Console]:
    async with console(tmp_path, database) as (made, researcher):
        await researcher.open(tab="studies")
        yield made, researcher


async def answer(researcher: Researcher, **values: Any) -> Any:
    return await researcher.on("b-title", "input", **{**ANSWERS, **values})


async def test_answers_are_written_and_checked_at_once(at: Console, database: Database) -> None:
    room, researcher = at
    good = await answer(researcher)
    assert GOOD in value(good["builder-verdict"])
    assert "study: mine" in text(good["builder-text"])
    wrong = await answer(researcher, **{"b-take": 10_000})
    assert GOOD not in value(wrong["builder-verdict"])
    assert 'href="#b-take"' in value(wrong["builder-verdict"])
    assert room.desk.drafts.names() == (), "nothing is kept"
    assert (list(versions(database, "mine")), room.did) == ([], [])


async def test_a_draft_is_made_and_is_the_study_from_then_on(at: Console) -> None:
    room, researcher = at
    written = text((await answer(researcher))["builder-text"])
    made = await researcher.on("b-create", "click", **ANSWERS)
    assert value(made["study"]) == "mine"
    assert not visible(made["builder"])
    assert " ".join(room.desk.drafts.text("mine").split()) == written.removeprefix("study.yaml ")
    assert draft(made["study-text"]) == room.desk.drafts.text("mine")
    assert GOOD in value(made["faults"])
    assert load_study(str(room.desk.drafts.folder("mine"))).name == "mine"
    assert [about for _, _, about in room.did] == ["mine"]


async def test_an_analyst_builds_nothing(at: Console) -> None:
    room, researcher = at
    room.as_("analyst")
    for component, kind in (("new-build", "click"), ("b-title", "input"), ("b-create", "click"), ("b-test", "click")):
        answered = await researcher.on(component, kind, **ANSWERS)
        assert "Only owners" in value(answered["note"]), component
    assert (room.desk.drafts.names(), room.did) == ((), [])
