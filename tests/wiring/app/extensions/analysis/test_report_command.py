"""`parley report`: of simulated and imported data, in every form, with errors that say what there is instead."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.extensions.analysis import report as reports
from app.extensions.analysis import report_command
from app.extensions.analysis.chatbench.published import PAPERS
from app.extensions.analysis.report import FORMATS, build_report
from app.extensions.analysis.results import figure_names, patterns, results
from storage.db.engine import open_database
from tests.fakes.commanding import parley
from tests.fakes.databases import fill

pytestmark = pytest.mark.timeout(600)  # figures take long on a busy machine
ROOT = Path(__file__).parents[4]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the database of some simulated studies and an import of what one of them recorded."""
    found = tmp_path_factory.mktemp("report")
    database = open_database(f"sqlite:///{found / 'parley.db'}")
    asyncio.run(fill(database, ["demo", "arena"], 3, "1"))
    database.dispose()
    assert parley("export", "demo", "--schema", "chatbench", "-o", "data", folder=found).returncode == 0
    assert parley("import", "chatbench", "data", "--study", "published", folder=found).returncode == 0
    return found


@pytest.fixture(scope="module")
def arena(folder: Path) -> reports.Report:
    """The report of a study, computed once."""
    database = open_database(f"sqlite:///{folder}/parley.db")
    made = build_report(database, "arena", "bot", 0)
    database.dispose()
    return made


@pytest.mark.parametrize("form", FORMATS)
def test_the_ending_of_the_file_says_the_form(
    folder: Path, form: str, arena: reports.Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reports, "build_report", lambda *_, **__: arena)
    assert parley("report", "arena", "-o", f"out.{form}", folder=folder).returncode == 0
    written = (folder / f"out.{form}").read_text(encoding="utf-8")
    assert "Win rate" in written or "arena.win_rate" in written
    assert not list(folder.glob(".*")), "nothing unfinished is left"


@pytest.mark.parametrize("words", [(), ("--unfinished",)])
def test_unfinished_sessions_are_analysed_only_if_asked_for(
    folder: Path, words: tuple[str, ...], arena: reports.Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bool] = []
    monkeypatch.setattr(reports, "build_report", lambda *_, **wish: asked.append(wish["unfinished"]) or arena)
    assert parley("report", "arena", "-o", "asked.csv", *words, folder=folder).returncode == 0
    assert asked == [bool(words)]


def test_json_has_the_figures_that_the_functions_give_and_an_import_has_those_that_are_known(
    folder: Path,
) -> None:
    known = json.loads(parley("report", "demo", "-o", "-", "--format", "json", folder=folder).stdout)
    database = open_database(f"sqlite:///{folder}/parley.db")
    found = results(database, "demo", "bot", whole=True)
    database.dispose()
    estimates = [one for finding in found.findings for one in finding.estimates]
    expected = {one.name: one.value for one in estimates}
    assert len(expected) == len(estimates) > 0
    assert {name: len(patterns(name, figure_names())) for name in expected} == dict.fromkeys(expected, 1)
    assert {name: one["value"] for name, one in known["figures"].items()} == expected
    assert known["simulated"]

    imported = json.loads(parley("report", "published", "-o", "-", "--format", "json", folder=folder).stdout)
    assert (imported["origin"], imported["warning"], imported["flow"]["outcomes"]) == ("import", None, {})
    shared = imported["figures"].keys() & expected.keys()
    assert shared
    assert all(imported["figures"][name]["value"] == expected[name] for name in shared)


def test_conversations_and_their_labels_in_one_study_are_reported_together(shared: Path, tmp_path: Path) -> None:
    """Models are in the paper's order, with instructgpt before chatgpt."""
    for schema, name in (("mathconverse", "mathconverse_part"), ("taxonomy", "annotated_taxonomy_part")):
        done = parley("import", schema, f"{shared / name}.csv", "--study", "labelled", folder=tmp_path)
        assert done.returncode == 0, done.stderr
    known = json.loads(parley("report", "labelled", "-o", "-", "--format", "json", folder=tmp_path).stdout)
    own = [one for name, one in known["figures"].items() if name.startswith("taxonomy.by_model.")]
    assert list(dict.fromkeys(one["groups"]["model"] for one in own)) == ["instructgpt", "chatgpt", "chatgpt4"]
    assert {one["unit"] for one in own} == {"share"}
    assert all(len(patterns(name, figure_names())) == 1 for name in known["figures"])


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("dmo",), "'demo'"),
        (("demo", "--origin", "person"), "bot"),
        (("published", "--part", "pilot_1_no_incentives"), "full_study"),
        (("demo", "--format", "pdf"), "html"),
        (("demo", "-o", "report.odt"), "report.odt"),
        (("demo", "--compare-with", "chatbenk"), "'chatbench'"),
        (("demo", "-o", "no/such/folder/report.html"), "no/such/folder"),
    ],
)
def test_what_cannot_be_is_told_with_what_can(folder: Path, words: tuple[str, ...], told: str) -> None:
    done = parley("report", *words, folder=folder)
    assert (done.returncode, told in done.stderr) == (2, True), done.stderr
    assert not (folder / "report.odt").exists()


def test_the_command_line_carries_no_analysis_and_numbers_take_one_core() -> None:
    """OpenBLAS starts its threads when numpy is imported; they spin, so on a busy machine it took ten times as long."""
    code = """import os, sys; from importlib import import_module; from app.cli.commands import MODULES
for name in MODULES:
    name in ('app.cli.serve', 'app.cli.up') or import_module(name)  # these need Gradio, which imports pandas
print({'pandas', 'app.extensions.analysis.public'} & {*sys.modules})
import numpy
print(len(os.listdir('/proc/self/task')) if os.path.exists('/proc/self/task') else 1)"""
    env = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["set()", "1"]
    assert tuple(FORMATS) == report_command.FORMS
    assert tuple(PAPERS) == report_command.PAPERS
