"""The tab Runs: what a run takes is shown before it starts, once; its end or its error stays; analysts only look."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from app.studies.loader import load_study
from app.use_cases.costs import told_costs
from storage.ai_alone.answers import method_progress
from storage.datasets.exports.preview import export_options
from storage.db.engine import Database
from storage.registers.studies import Studies
from storage.registers.study_versions import publish_on_start
from tests.fakes.console import Room, console
from tests.fakes.researcher import Researcher, value, visible

pytestmark = pytest.mark.anyio
Console = tuple[Room, Researcher]
ALONE = {"runs-kind": "alone", "alone-models": ["tutor-a"], "alone-methods": ["free_text"], "alone-most": "1"}
ONCE = {**ALONE, "alone-repeats": 1}


@pytest.fixture
async def at(tmp_path: Path, database: Database) -> AsyncIterator[Console]:
    publish_on_start(database, load_study("chatbench"), at_us=1_000_000)
    async with console(tmp_path, database) as (made, researcher):
        await researcher.open(tab="runs", study="chatbench")
        yield made, researcher


async def planned(researcher: Researcher, **values: Any) -> Mapping[str, Any]:
    return await researcher.on("runs-show", "click", **values)


async def ended(researcher: Researcher) -> str:
    """What the tab shows once nothing is under way, as somebody sees it who loads the page again."""
    while True:
        shown = value((await researcher.open(tab="runs"))["runs-work"])
        if "data-running" not in shown:
            return shown
        await asyncio.sleep(0.2)


async def test_models_are_asked_alone_once_and_the_answers_stay_on_the_page(at: Console, database: Database) -> None:
    room, researcher = at
    before = list(room.did)
    plan = await planned(researcher, **ONCE)
    assert visible(plan["runs-plan"])
    assert "tutor-a" in value(plan["runs-takes"])
    assert method_progress(database, "chatbench") == [], "what is shown asks nothing"
    token = {"runs-token": value(plan["runs-token"])}
    first, second = await asyncio.gather(*(researcher.on("runs-start", "click", **token) for _ in range(2)))
    assert sum('role="alert"' in value(one["note"]) for one in (first, second)) == 1, "it is started once"
    assert "data-ended" in await ended(researcher)
    assert {one.model for one in method_progress(database, "chatbench")} == {"tutor-a"}
    ended_now = await researcher.on("runs-dismiss", "click")
    assert "tutor-a" in value(ended_now["runs-costs"]), "without a reload"
    costs = told_costs(database, load_study("chatbench"), "model").data
    assert list(costs["kinds"]) == ["models alone"], "which the total has too"
    assert costs["total"] == costs["kinds"]["models alone"]
    assert costs["total"]["attempts"] > 0
    assert [about for _, _, about in room.did if about not in before][-1:] == ["chatbench"]


async def test_what_the_form_says_later_is_not_started(at: Console) -> None:
    _, researcher = at
    plan = await planned(researcher, **ONCE)
    await planned(researcher, **{**ONCE, "alone-repeats": 2})
    started = await researcher.on("runs-start", "click", **{"runs-token": value(plan["runs-token"])})
    assert 'role="alert"' in value(started["note"])
    assert not value(started.get("runs-work")), "nothing is under way"


async def test_what_it_takes_stays_until_the_form_says_something_else(at: Console) -> None:
    _, researcher = at
    plan = await planned(researcher, **ONCE)
    token = {"runs-token": value(plan["runs-token"])}
    late = await researcher.on("alone-repeats", "input", **ONCE, **token)
    assert "value" not in late["runs-token"], "the form says what was shown"
    other = await researcher.on("alone-repeats", "input", **{**ONCE, "alone-repeats": 2}, **token)
    assert not visible(other["runs-plan"])
    assert not value(other["runs-token"])


async def test_a_form_that_nobody_changed_can_be_started(at: Console) -> None:
    _, researcher = at
    shown = await researcher.open(tab="runs", study="chatbench")
    begins = {name: value(shown[name]) for name in shown if name.startswith("alone-")}
    assert begins["alone-methods"], "those that the study allows"
    plan = await planned(researcher, **begins, **{"runs-kind": "alone"})
    assert visible(plan["runs-plan"]), plan["note"]


@pytest.mark.parametrize(
    "wrong",
    [
        {**ALONE, "alone-repeats": 0},
        {**ALONE, "alone-repeats": 1.5},
        {**ONCE, "alone-models": ["nobody"]},
        {**ONCE, "alone-budget": "-1"},
        {**ONCE, "alone-budget": "nan"},
        {**ONCE, "alone-most": "0"},
        {"runs-kind": "annotate", "annotate-names": []},
        {"runs-kind": "rehearse", "rehearse-people": 0},
        {"runs-kind": "import", "import-schema": "dices-350"},
    ],
)
async def test_a_form_that_asks_for_nothing_possible_says_so(at: Console, wrong: dict[str, Any]) -> None:
    assert 'role="alert"' in value((await planned(at[1], **wrong))["note"])


@pytest.mark.nightly
async def test_a_run_that_cannot_go_on_says_why_and_another_can_be_started(at: Console) -> None:
    _, researcher = at
    fields = {"runs-kind": "rehearse", "rehearse-people": 1, "rehearse-over": 0, "rehearse-speed": 1000}
    for _ in range(2):  # no server runs
        plan = await planned(researcher, **fields)
        await researcher.on("runs-start", "click", **{"runs-token": value(plan["runs-token"])})
        shown = await ended(researcher)
        assert 'role="alert"' in shown or "gave up" in shown


@pytest.mark.nightly
async def test_a_rehearsals_plan_says_how_long_it_takes(at: Console) -> None:
    async def lasts(speed: int) -> str:
        fields = {"runs-kind": "rehearse", "rehearse-people": 2, "rehearse-over": 60, "rehearse-speed": speed}
        (found,) = re.findall(r"\d+:\d\d:\d\d", value((await planned(at[1], **fields))["runs-takes"]))
        return str(found)

    assert await lasts(1) > await lasts(2) > "0:00:00"


async def test_what_is_under_way_can_be_stopped_and_goes_on_from_there(at: Console, database: Database) -> None:
    _, researcher = at
    for _ in range(2):
        plan = await planned(researcher, **{**ALONE, "alone-models": [], "alone-repeats": 400})
        await researcher.on("runs-start", "click", **{"runs-token": value(plan["runs-token"])})
        busy = await planned(researcher, **ONCE)
        refused = await researcher.on("runs-start", "click", **{"runs-token": value(busy["runs-token"])})
        assert 'role="alert"' in value(refused["note"]), "one at a time"
        await researcher.on("runs-stop", "click")
        shown = await ended(researcher)
        assert "data-ended" in shown


async def test_released_files_are_uploaded_and_imported(at: Console, database: Database, shared: Path) -> None:
    _, researcher = at
    file = shared / "dices_350_rows.csv"
    sent = {"params": {"study": "", "name": file.name}, "content": file.read_bytes()}
    for name in ("../x.csv", "x.exe"):
        refused = await researcher.send("POST", "/console/release", **{**sent, "params": {"name": name}})
        assert refused.status_code == 422
    wrong = file.read_bytes().replace(b"Phase3", b"Phase7", 1).replace(b",Man,", b",Mam,", 1)
    broken = {**sent, "content": wrong}
    assert (await researcher.send("POST", "/console/release", **broken)).status_code == 200
    plan = await planned(researcher, **{"runs-kind": "import", "import-schema": "dices-350", "import-study": "dices"})
    assert all(words in value(plan["runs-takes"]) for words in ("Phase7", "Mam")), "each error"
    assert ">is<" not in value(plan["runs-takes"]), "what is wrong is no file of the release"
    assert (visible(plan["runs-start"]), value(plan["runs-token"])) == (False, "")
    assert visible((await researcher.on("release-sent", "click"))["release-remove"])
    removed = await researcher.on("release-remove", "click")
    assert file.name not in value(removed["import-files"])
    assert not any(visible(removed[part]) for part in ("release-remove", "runs-plan"))
    assert file.name not in value((await researcher.open(tab="runs"))["import-files"]), "nor after a reload"
    assert (await researcher.send("POST", "/console/release", **sent)).status_code == 200
    shown = await researcher.on("release-sent", "click")
    assert file.name in value(shown["import-files"])
    plan = await planned(researcher, **{"runs-kind": "import", "import-schema": "dices-350", "import-study": "dices"})
    assert visible(plan["runs-start"])
    assert "dices" not in Studies(database).names(), "a plan writes nothing"
    await researcher.on("release-remove", "click")  # in another tab
    await researcher.on("runs-start", "click", **{"runs-token": value(plan["runs-token"])})
    assert file.name in await ended(researcher), "what was removed meanwhile"
    assert (await researcher.send("POST", "/console/release", **sent)).status_code == 200
    plan = await planned(researcher, **{"runs-kind": "import", "import-schema": "dices-350", "import-study": "dices"})
    await researcher.on("runs-start", "click", **{"runs-token": value(plan["runs-token"])})
    assert "data-ended" in await ended(researcher)
    gone = await researcher.on("runs-dismiss", "click")
    assert "data-ended" not in value(gone["runs-work"])
    assert "dices" in str(gone["study"]), "the picker offers it at once"
    assert list(export_options(database, "dices").schemas) == ["import"]


async def test_an_analyst_sees_results_and_starts_stops_and_uploads_nothing(at: Console) -> None:
    room, researcher = at
    plan = await planned(researcher, **{**ALONE, "alone-models": [], "alone-repeats": 400})
    await researcher.on("runs-start", "click", **{"runs-token": value(plan["runs-token"])})
    plan = await planned(researcher, **ONCE)
    room.as_("analyst", "Bob")
    shown = await researcher.open(tab="runs", study="chatbench")
    assert not visible(shown["runs-form"])
    assert "owners" in value(shown["runs-head"])
    token = {"runs-token": value(plan["runs-token"])}
    assert not visible((await researcher.on("runs-stop", "click"))["runs-stop"])
    assert [work.stopping for work in room.desk.work.of("chatbench")] == [False]
    for component in ("runs-show", "runs-start", "release-remove", "doctor-check"):
        answered = await researcher.on(component, "click", **{**ONCE, **token})
        assert "Only owners" in value(answered["note"]), component
    sent = await researcher.send("POST", "/console/release", params={"name": "a.csv"}, content=b"a")
    assert sent.status_code == 422


async def test_what_is_wrong_with_the_installation_is_a_table(at: Console) -> None:
    found = await at[1].on("doctor-check", "click")
    assert "<td>database</td>" in value(found["doctor-found"])
