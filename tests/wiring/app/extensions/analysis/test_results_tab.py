"""The results in the console: shown beside being computed, by origin, and the report that is one click away."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

import gradio as gr
import pytest
from starlette.responses import Response

from app.clock import VirtualClock
from app.config.settings import Settings
from app.extensions.analysis.public import load
from app.extensions.analysis.report import as_json, build_report, html
from app.extensions.analysis.report_page import NOT_YET
from app.extensions.analysis.results_tab import MOST, ResultsTab
from app.web.console.context import ConsoleContext
from app.web.console.current_user import CurrentUser
from app.web.console.tab import LocationValues, TabLocation
from experiments.study.fields import KINDS
from storage.db.engine import Database, open_database
from storage.yaml_text import yaml_text
from tests.fakes.accounts import cheap_accounts
from tests.fakes.console import console
from tests.fakes.databases import fill
from tests.fakes.researcher import Researcher
from tests.fakes.served import SECRET
from tests.fakes.workers import Held

pytestmark = pytest.mark.anyio
ADA = CurrentUser("ada", "analyst")


SCALE = {"text": "How sure are you?", "options": ["1", "2", "3"]}
QUESTIONS: Mapping[str, Mapping[str, Any]] = {
    "single_choice": {"text": "Was it fun?", "options": {"y": "Yes", "n": "No"}, "matrix": "Do you agree?"},
    "multiple_choice": {"text": "Which of these?", "options": ["Pen", "Paper"], "required": False},
    "scale": SCALE,
    "number": {"text": "How old are you?", "minimum": 18, "maximum": 99},
    "slider": {"text": "How warm was it?"},
    "short_text": {"text": "Where was it?"},
    "long_text": {"text": "Why was it so?", "required": False},
    "checkbox": {"text": "I will come again.", "required": False},
}
SURVEY = {
    "study": "asked",
    "title": "Asked",
    "factors": {"arm": ["a", "b"]},
    "flow": [
        {"step": "consent", "text": "Yes?"},
        {"step": "check", "kind": "attention", "id": "reading", "correct_answers": {"blue": "b"},
         "questions": [{"name": "blue", "type": "single_choice", "text": "Take blue.", "options": ["a", "b"]}]},
        {"step": "survey", "questions": [
            {"name": f"a_{kind}", "type": kind, **one} for kind, one in QUESTIONS.items()]},
        {"each": "turn", "take": 2, "flow": [{"step": "survey", "id": "again", "questions": [
            {"name": "sure", "type": "scale", **SCALE}]}]},
        {"step": "finish"},
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    folder = tmp_path_factory.mktemp("results")
    (path := folder / "asked.yaml").write_text(yaml_text(SURVEY), encoding="utf-8")
    found = open_database(f"sqlite:///{folder / 'parley.db'}")
    asyncio.run(fill(found, ["demo", "arena", str(path)], 3, "1"))
    yield found
    found.dispose()


class Seat:
    """A room with a clock, and workers that begin when they are told to."""

    def __init__(self, database: Database) -> None:
        self.clock, self.workers = VirtualClock(1_800_000_000_000_000), Held()
        self.desk = ConsoleContext(
            Settings(), database, SECRET, self.clock, cheap_accounts(database, self.clock.now_us)
        )
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
    assert "Right answers by arm" in titles
    assert "Dose: " in titles
    assert "Helpfulness by model" in titles
    assert "Win rate" not in titles
    assert "n (answers)" in then["results-table-0"]["value"]


def test_every_question_of_a_survey_is_in_the_results_and_in_the_report(seat: Seat) -> None:
    assert QUESTIONS.keys() == {get_args(kind.model_fields["type"].annotation)[0] for kind in KINDS}
    seat.paint("asked")
    seat.workers.work()
    painted = seat.paint("asked")
    made = build_report(seat.desk.database, "asked", "bot", 0)
    shown = {"tab": painted["results-survey"], "page": html(made)}
    answers = load("asked", database=seat.desk.database).answers
    texts = answers.loc[answers["question"].isin(["a_short_text", "a_long_text"]), "value"].dropna()
    for where, text in shown.items():
        for one in QUESTIONS.values():
            assert one["text"] in text, where
        assert "reading" in text
        assert not [said for said in texts if said in text], where
        assert "registered" not in text, where
    figures = json.loads(as_json(made))["figures"]
    given = {name: rows for name, rows in answers.groupby("question")}
    for name in ("a_scale", "a_number", "a_slider", "sure"):
        one = figures[f"survey.mean.{name}"]
        assert (one["value"], one["n"]) == (pytest.approx(given[name]["number"].mean()), given[name]["number"].count())
    assert (figures["survey.mean.sure"]["n"], figures["survey.mean.sure"]["participants"]) == (6, 3)
    fun = given["a_single_choice"]["value"].value_counts(normalize=True)
    assert figures["survey.share.a_single_choice.y"]["value"] == pytest.approx(fun.get("y", 0))
    assert figures["survey.answers.a_short_text"]["n"] == 3
    assert figures["survey.passed.reading"]["value"] == 1
    arms = [figures.get(f"survey.mean.a_slider.arm.{arm}", {}).get("n", 0) for arm in "ab"]
    assert sum(arms) == 3
    assert min(arms) > 0


async def ready(researcher: Researcher, path: str) -> Response:
    """The report, however often the waiting page asks for it."""
    while (answer := await researcher.send("GET", path)).status_code == NOT_YET:
        assert '"../console/waiting.js"' in answer.text
        await asyncio.sleep(0.1)
    return answer


@pytest.mark.nightly
async def test_the_report_is_a_page_and_who_read_it_is_written_down(tmp_path: Path, lab: Database) -> None:
    async with console(tmp_path, lab) as (room, researcher):
        answer = await ready(researcher, "/report/demo?origin=bot")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/html")
    for part in ("Simulated data.", "Accuracy by condition", "3</strong> started"):
        assert part in answer.text
    assert "registered" not in answer.text
    assert room.did == [("Ada", "read the report (bot)", "demo")]
