"""The results in the console: shown beside being computed, by origin, and the report that is one click away."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gradio as gr
import httpx2
import pytest
from sqlalchemy import update
from starlette.types import ASGIApp, Receive, Scope, Send

from app.clock import VirtualClock
from app.settings import Settings
from app.web.console.desk import Desk
from app.web.console.room import At, Place
from app.web.console.rooms.results import MOST, ResultsRoom
from app.web.console.server import build_app
from app.web.console.visitor import VISITOR, Visitor
from storage import tables
from storage.engine import Database, open_database, writer
from tests.fakes.accounts import Witnessed
from tests.fakes.databases import fill
from tests.fakes.workers import Held

ADA = Visitor("ada", "analyst")


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Database:
    found = open_database(f"sqlite:///{tmp_path_factory.mktemp('results') / 'parley.db'}")
    asyncio.run(fill(found, ["demo", "arena"], 3, "1"))
    return found


class Seat:
    """A room with a clock, and workers that begin when they are told to."""

    def __init__(self, database: Database) -> None:
        self.clock, self.workers = VirtualClock(1_800_000_000_000_000), Held()
        self.accounts = Witnessed(database, self.clock.now_us)
        self.desk = Desk(Settings(), database, "s" * 32, self.clock, self.accounts)
        with gr.Blocks():
            self.desk.note.render()
            self.place = Place(gr.Dropdown(), gr.Textbox(), gr.Textbox())
            self.room = ResultsRoom(self.desk, self.place, self.workers)
            self.room.build()
        self.named = {component.elem_id: component for component in self.room.outputs if component.elem_id}

    def paint(self, study: str = "demo") -> Mapping[str, Any]:
        painted = self.room.paint(ADA, At(study, ""))
        assert painted.keys() <= {*self.room.outputs}
        return {name: painted[component] for name, component in self.named.items() if component in painted}

    def again(self, origin: str, shown: str, tab: str = "results") -> Mapping[Any, Any]:
        return self.room._again(ADA, "demo", tab, origin, shown)


@pytest.fixture
def seat(database: Database) -> Seat:
    return Seat(database)


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
    assert 'href="/report/demo?origin=bot"' in painted["results-head"]
    assert [value for _, value in painted["results-origin"]["choices"]] == ["bot"]


def test_an_open_room_changes_when_something_newer_is_ready_and_only_then(seat: Seat) -> None:
    seat.paint()
    seat.workers.work()
    mark = seat.paint()["results-shown"]
    assert seat.again("bot", mark) == {}
    assert len(seat.again("bot", "something older")) > 1


def test_whoever_went_to_another_room_is_not_asked_for_any_more(seat: Seat) -> None:
    ((timer, update_),) = seat.again("bot", "", tab="live").items()
    assert isinstance(timer, gr.Timer)
    assert update_["active"] is False
    assert not seat.workers.waiting


@pytest.mark.parametrize("origin", ["person", "nobody", "", None, "' OR 1=1"])
def test_an_origin_without_sessions_has_a_sentence_whatever_a_browser_says(seat: Seat, origin: str) -> None:
    seat.room._choose(ADA, "demo", origin)
    seat.workers.work()
    painted = seat.room._choose(ADA, "demo", origin)
    assert "nobody has given" in painted[seat.named["results-said"]]


def test_no_study_at_all_is_no_error(seat: Seat) -> None:
    seat.paint("")
    seat.workers.work()
    assert "records no released schema" in seat.paint("")["results-said"]


class Gated:
    """The console's application, with somebody at it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app({**scope, VISITOR: ADA}, receive, send)


async def _get(desk: Desk, path: str) -> httpx2.Response:
    transport = httpx2.ASGITransport(app=Gated(build_app(desk)))
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
        return await client.get(path)


def test_the_report_is_a_page_and_who_read_it_is_written_down(seat: Seat) -> None:
    answer = asyncio.run(_get(seat.desk, "/report/demo?origin=bot"))
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/html")
    for text in ("A taste of Parley", "Simulated data.", "Accuracy by condition", "3</strong> began"):
        assert text in answer.text
    assert seat.accounts.told == [("ada", "read the report (bot)", "demo")]


def test_a_report_of_nobody_says_what_there_is(seat: Seat) -> None:
    answer = asyncio.run(_get(seat.desk, "/report/demo"))
    assert answer.status_code == 404
    assert "no session of origin 'person'; allowed: bot" in answer.text
    assert asyncio.run(_get(seat.desk, "/report/dmo")).status_code == 404
    assert seat.accounts.told == []


def test_an_excluded_session_is_told_in_the_report_with_its_reason(tmp_path: Path) -> None:
    database = open_database(f"sqlite:///{tmp_path / 'parley.db'}")
    asyncio.run(fill(database, ["demo"], 2, "1"))
    one = tables.seats.c.stream.in_(tables.seats.select().with_only_columns(tables.seats.c.stream).limit(1))
    with writer(database) as connection, connection.begin():
        connection.execute(update(tables.seats).where(one).values(excluded="pasted everything"))
    page = asyncio.run(_get(Seat(database).desk, "/report/demo?origin=bot")).text
    assert "1: pasted everything" in page
    assert "<strong>1</strong> analysed" in page
