"""A tab whose data cannot be read says so in its own place, and the other tabs work."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.clock import VirtualClock
from app.web.console import page
from app.web.console.context import ConsoleContext
from app.web.console.tabs import tab_kinds
from app.web.console.tabs.studies import StudiesTab
from storage.errors import StorageError
from tests.fakes.console import Room, room
from tests.fakes.researcher import Researcher, text
from tests.fakes.sessions import study
from tests.fakes.sitting import Sitting

pytestmark = pytest.mark.anyio
ERRORS = (RuntimeError("a secret"), StorageError("the log has a gap"))


@pytest.fixture
async def console(tmp_path: Path) -> AsyncIterator[Room]:
    async with Sitting(tmp_path, study("demo"), VirtualClock(10**15)) as somebody:
        await somebody.begin()
        with room(tmp_path, somebody.database, somebody.clock) as made:
            yield made


@pytest.mark.nightly
async def test_of_each_tab_that_cannot_be_read_the_others_work(
    console: Room, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    kinds = tab_kinds()
    async with Researcher(app=console) as ada:
        for number, kind in enumerate(kinds):
            error, other = ERRORS[number % 2], kinds[number - 1]

            def fail(*_: object, error: Exception = error) -> None:
                raise error

            with monkeypatch.context() as patch:
                patch.setattr(kind, "paint", fail)
                opened = await ada.open(study="demo", tab=kind.name)
                shown = opened[f"fault-{kind.name}"]
                assert opened["study"]["choices"], kind.name
                (reference,) = re.findall(r"<code>(\w{8})</code>", shown)
                assert f"reference {reference}" in caplog.text
                assert ("log has a gap" in text(shown), "secret" in text(shown)) == (number % 2 == 1, False)
                assert (await ada.enter(other.name))[f"fault-{other.name}"] == ""
            assert (await ada.enter(kind.name))[f"fault-{kind.name}"] == ""


async def test_of_each_other_part_that_cannot_be_read_the_rest_of_the_page_works(
    console: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("a secret")

    parts = {
        "alerts-list": (page, "open_alerts"),
        "studies-listed": (StudiesTab, "_listed"),
        "note": (ConsoleContext, "names"),
    }
    async with Researcher(app=console) as ada:
        for place, (whose, name) in parts.items():
            with monkeypatch.context() as patch:
                patch.setattr(whose, name, fail)
                opened = await ada.open(study="demo", tab="sessions")
                shown = opened | await ada.enter("studies") if place == "studies-listed" else opened
                said = [where for where, value in shown.items() if re.search(r"reference <code>\w{8}<", str(value))]
                assert said == [place]
                assert opened["fault-sessions"] == ""
