"""Enter in the console's one-line fields does what the button beside them does, and numbers are taken as they stand."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.studies.loader import load_study
from storage.db.engine import Database
from storage.registers.study_status import operations_of
from storage.registers.study_versions import publish_on_start
from tests.fakes import studies
from tests.fakes.console import console
from tests.fakes.researcher import Researcher, text

pytestmark = pytest.mark.anyio
FIELDS = {
    "new-name": "new-make",
    "sessions-person": "sessions-find",
    "session-said": "session-note",
    "live-most": "live-set",
    "cap-most": "cap-set",
    "server-name": "server-save",
    "server-url": "server-save",
    "server-key": "server-save",
    "people-old": "people-change",
    "people-new": "people-change",
    "people-again": "people-change",
}


@pytest.fixture
async def ada(tmp_path: Path, database: Database) -> AsyncIterator[Researcher]:
    publish_on_start(database, load_study(str(studies.short(tmp_path))), at_us=1_000_000)
    async with console(tmp_path, database) as (_, researcher):
        await researcher.open(tab="studies", study="short")
        yield researcher


@pytest.mark.parametrize("field", FIELDS)
async def test_enter_does_what_the_button_beside_the_field_does(ada: Researcher, field: str) -> None:
    assert any({(field, "submit"), (FIELDS[field], "click")} <= {*event.of} for event in ada.events)


async def test_a_number_that_is_not_whole_is_refused_and_not_rounded(ada: Researcher, database: Database) -> None:
    cell = (await ada.enter("monitoring"))["live-cell"]["choices"]
    chosen = {"live-cell": cell[0][1]} if cell else {}
    for button, field in (("cap-set", "cap-most"), *((("live-set", "live-most"),) if cell else ())):
        refused = await ada.on(button, "click", **chosen, **{field: 60.5, "cap-where": []})
        assert "whole number" in text(refused["note"]), button
    assert operations_of(database, "short").caps == {}
    for field in ("b-places", "b-take"):
        written = await ada.on("b-title", "input", **{field: 60.5})
        assert f'href="#{field}"' in written["builder-verdict"], field
