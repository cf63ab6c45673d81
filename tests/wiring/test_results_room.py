"""The results in the console: shown beside being computed, by origin, and the report that is one click away."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import gradio as gr
import pytest
from starlette.responses import Response

from app.clock import VirtualClock
from app.config.settings import Settings
from app.web.console.context import ConsoleContext
from app.web.console.current_user import CurrentUser
from app.web.console.report_page import NOT_YET
from app.web.console.tab import LocationValues, TabLocation
from app.web.console.tabs.results import MOST, ResultsTab
from storage.db.engine import Database, open_database
from tests.fakes.accounts import Witnessed
from tests.fakes.console import console
from tests.fakes.databases import fill
from tests.fakes.researcher import Researcher
from tests.fakes.served import SECRET
from tests.fakes.workers import Held

pytestmark = pytest.mark.anyio
ADA = CurrentUser("ada", "analyst")


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    found = open_database(f"sqlite:///{tmp_path_factory.mktemp('results') / 'parley.db'}")
    asyncio.run(fill(found, ["demo", "arena"], 3, "1"))
    yield found
    found.dispose()


class Seat:
    """A room with a clock, and workers that begin when they are told to."""

    def __init__(self, database: Database) -> None:
        self.clock, self.workers = VirtualClock(1_800_000_000_000_000), Held()
        self.desk = ConsoleContext(Settings(), database, SECRET, self.clock, Witnessed(database, self.clock.now_us))
        with gr.Blocks():
            self.desk.note.render()
            self.place = TabLocation(gr.Dropdown(), gr.Textbox(), gr.Textbox(), gr.Textbox())
            self.room = ResultsTab(self.desk, self.place, self.workers)
            self.room.build()
        self.named = {component.elem_id: component for component in self.room.outputs if component.elem_id}

    def paint(self, study: str = "demo") -> Mapping[str, Any]:
        painted = self.room.paint(ADA, LocationValues(study, ""))
        assert painted.keys() <= {*self.room.outputs}
        return {name: painted[component] for name, component in self.named.items() if component in painted}


@pytest.fixture
def seat(lab: Database) -> Iterator[Seat]:
    seat = Seat(lab)
    yield seat
    seat.desk.sessions.log.close()


def shown(painted: Mapping[str, Any]) -> list[str]:
    """The headings of the figures that are visible."""
    titles = [painted[f"results-title-{number}"] for number in range(MOST)]
    return [title["value"] for title in titles if title["visible"]]


def test_at_first_it_says_that_it_computes_and_then_shows_what_the_study_records(seat: Seat) -> None:
    first = seat.paint()
    assert "being computed" in first["results-said"]
    assert shown(first) == []
    seat.workers.work()
    then = seat.paint()
    assert "3 participants analysed" in then["results-said"]
    assert "As of 2027-01-15 08:00 UTC" in then["results-head"]
    titles = "".join(shown(then))
    assert "Accuracy by condition" in titles
    assert "Helpfulness by model" in titles
    assert "Win rate" not in titles
    assert "n (answers)" in then["results-table-0"]["value"]


def test_simulated_sessions_are_marked_and_the_report_is_of_the_same(seat: Seat) -> None:
    painted = seat.paint()
    assert "Simulated data." in painted["results-said"]
    assert 'href="report/demo?origin=bot"' in painted["results-head"]
    assert [value for _, value in painted["results-origin"]["choices"]] == ["bot"]


async def ready(researcher: Researcher, path: str) -> Response:
    """The report, however often the waiting page asks for it."""
    while (answer := await researcher.send("GET", path)).status_code == NOT_YET:
        assert '"../console/waiting.js"' in answer.text
        await asyncio.sleep(0.1)
    return answer


async def test_the_report_is_a_page_and_who_read_it_is_written_down(tmp_path: Path, lab: Database) -> None:
    async with console(tmp_path, lab) as (room, researcher):
        answer = await ready(researcher, "/report/demo?origin=bot")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/html")
    for part in ("Simulated data.", "Accuracy by condition", "3</strong> started", 'id="quality"', 'id="cost"'):
        assert part in answer.text
    assert room.did == [("Ada", "read the report (bot)", "demo")]
