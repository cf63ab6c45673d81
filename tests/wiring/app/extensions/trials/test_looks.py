"""Planned looks at a trial's outcomes, and what happens to whoever looks at another time."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import gradio as gr
import pytest
from sqlalchemy import update

from app.clock import VirtualClock
from app.config.settings import Settings
from app.errors import TrialError
from app.extensions.trials.looks import look, nominal_alpha
from app.extensions.trials.outcome_lock import locked_for, peek
from app.extensions.trials.outcomes import estimated, read_trial
from app.extensions.trials.populations import intention_to_treat
from app.extensions.trials.reads.plan_events import RecordedLook, plan_events, record_preregistration
from app.extensions.trials.sequential import boundaries
from app.web.console.context import ConsoleContext
from app.web.console.current_user import CurrentUser
from app.web.console.tab import LocationValues, TabLocation
from app.web.console.tabs.export import ExportTab
from experiments.study.sections.plan import Looks, Plan
from storage import tables
from storage.db.engine import Database, open_database, writer
from storage.registers.study_versions import publish
from tests.fakes.accounts import cheap_accounts
from tests.fakes.commanding import Done, parley
from tests.fakes.databases import fill
from tests.fakes.served import SECRET
from tests.fakes.sessions import study
from tests.fakes.trials import HYPOTHESES, PLAN, trial

PEOPLE = 18
ADA, BOB = CurrentUser("ada", "owner"), CurrentUser("bob", "analyst")
NOW_US = 1_800_000_000_000_000
PRIMARY = [{**HYPOTHESES[0], "contrast": {"factor": "arm", "treatment": "ai", "control": "none"}, "direction": "less"}]


LOOKS = {"at": [0.5, 1], "spending": "pocock"}
PLANNED = {**PLAN, "hypotheses": PRIMARY, "participants": 2 * PEOPLE, "covariates": [], "looks": LOOKS}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a preregistered trial of which half of the people have completed."""
    folder = tmp_path_factory.mktemp("trial")
    path = trial(folder, plan=PLANNED)
    database = open_database(f"sqlite:///{folder / 'parley.db'}")
    found = study(str(path))
    publish(database, found, by="researcher", at_us=1)
    record_preregistration(database, "trial", found.hash, 1, {}, at_us=2)
    asyncio.run(fill(database, [str(path)], PEOPLE, "s"))
    with writer(database) as connection, connection.begin():
        for table in (tables.seats, tables.sessions):
            connection.execute(update(table).values(origin="person"))
    database.dispose()
    return folder


@pytest.fixture
def half_way(made: Path, folder: Path) -> Iterator[Database]:
    shutil.copytree(made, folder, dirs_exist_ok=True)
    opened = open_database(f"sqlite:///{folder / 'parley.db'}")
    yield opened
    opened.dispose()


def test_a_look_shows_the_estimate_under_letters_and_is_recorded(half_way: Database, folder: Path) -> None:
    database = half_way
    _, (found,) = look(database, "trial", "ada", NOW_US, secret=SECRET)
    plan = study(str(folder / "trial.yaml")).file.plan
    assert plan is not None
    data, (one,) = read_trial(database, "trial", "person", plan), plan.hypotheses
    true, _ = estimated(data, one, intention_to_treat(data, one.contrast))
    assert abs(found.effect) == pytest.approx(abs(true.estimate))
    assert (found.p, found.sides, found.boundary) == (true.p, 2, None), (
        "a one-sided p and its boundary would tell which group is A"
    )
    assert found.low < found.effect < found.high
    (recorded,) = plan_events(database, "trial").looks
    assert (recorded.number, recorded.who, recorded.complete, recorded.why) == (1, "ada", PEOPLE, "")
    assert recorded.result["hypotheses"][0]["effect"] == found.effect, "the log holds what was shown, and no more"
    with pytest.raises(TrialError, match="Look 2"):
        look(database, "trial", "ada", NOW_US, secret=SECRET)


@pytest.mark.nightly
def test_an_unplanned_look_is_recorded_and_opens_outcomes_to_who_took_it_for_a_day(half_way: Database) -> None:
    database = half_way
    assert locked_for(database, "trial", "person", "ada", NOW_US)
    assert not locked_for(database, "trial", "pilot", "ada", NOW_US)
    assert peek(database, "trial", "ada", "console", "curious", NOW_US)
    assert not locked_for(database, "trial", "person", "ada", NOW_US + 1)
    assert locked_for(database, "trial", "person", "bob", NOW_US + 1)
    assert locked_for(database, "trial", "person", "ada", NOW_US + 86_400_000_001)
    (recorded,) = plan_events(database, "trial").looks
    assert (recorded.number, recorded.through, recorded.why) == (None, "console", "curious")


@pytest.mark.nightly
def test_reports_and_exports_before_the_end_are_recorded(half_way: Database, folder: Path) -> None:
    database = half_way

    def run(*words: str) -> Done:
        return parley(*words, folder=folder)

    refused = run("report", "trial", "-o", "r.html")
    assert (refused.returncode, "--peek" in refused.stderr) == (2, True)
    nowhere = run("report", "trial", "-o", "none/r.html", "--peek", "The funder asks.")
    assert (nowhere.returncode, "none" in nowhere.stderr) == (2, True), "it is seen before a look is recorded"
    assert plan_events(database, "trial").looks == ()
    assert run("report", "trial", "-o", "r.html", "--peek", "The funder asks.").returncode == 0
    assert run("export", "trial", "--schema", "tidy", "-o", "data").returncode == 0
    assert [(one.through, one.why) for one in plan_events(database, "trial").looks] == [
        ("report", "The funder asks."),
        ("export", ""),
    ]
    taken = json.loads(run("trial", "look", "trial", "--json").stdout)
    assert (taken["look"], taken["complete"], taken["effect"]) == (1, PEOPLE, "A minus B")


@pytest.mark.nightly
def test_the_console_previews_no_rows_of_a_locked_trial(half_way: Database) -> None:
    database = half_way
    clock = VirtualClock(NOW_US)
    desk = ConsoleContext(Settings(), database, SECRET, clock, cheap_accounts(database, clock.now_us))
    with gr.Blocks():
        desk.note.render()
        room = ExportTab(desk, TabLocation(gr.Dropdown(), gr.Textbox(), gr.Textbox(), gr.Textbox()))
        room.build()

    def shown() -> str:
        painted = room.paint(BOB, LocationValues("trial", ""))
        return next(str(update) for part, update in painted.items() if part.elem_id == "data-preview")

    assert "preregistered" in shown()
    assert "<td" not in shown()
    peek(database, "trial", "bob", "console", "curious", NOW_US)
    assert "<td" in shown()
    desk.sessions.log.close()


def test_power_is_not_computed_from_the_outcomes_of_a_locked_trial(half_way: Database, folder: Path) -> None:
    refused = parley("trial", "power", "trial.yaml", "--from", "person", "--runs", "20", "-n", "40", folder=folder)
    assert (refused.returncode, "preregistered" in refused.stderr) == (2, True)


@pytest.mark.nightly
def test_a_trial_that_ended_early_is_tested_at_the_boundary_of_its_share() -> None:
    plan = Plan.model_validate(PLANNED)
    one, hypothesis = RecordedLook(1, 1, "ada", "look", "", 18, {}), plan.hypotheses[0]
    bounds = boundaries((0.5, 0.75, 1.0), 0.05, "pocock", 1)
    assert nominal_alpha(plan, hypothesis, (one,), 27) == pytest.approx(bounds.nominal[1])
    assert nominal_alpha(plan, hypothesis, (one,), 18) == pytest.approx(bounds.nominal[0])
    assert nominal_alpha(plan, hypothesis, (one,), 36) == pytest.approx(nominal_alpha(plan, hypothesis, (one,)))
    always = plan.model_copy(update={"looks": Looks(at=(0.5, 1.0), spending="always-valid")})
    assert nominal_alpha(always, hypothesis, (), 18) < nominal_alpha(always, hypothesis, (), 36)
