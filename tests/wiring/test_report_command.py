"""`parley report`: of simulated and imported data, in every form, with errors that say what there is instead."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from app.analysis import report as reports
from app.analysis import simulators as analysis
from app.analysis.names import patterns
from app.analysis.parts import Part
from app.analysis.report import FORMATS, gather
from app.analysis.report.published import PAPERS
from app.analysis.results import NAMES, results
from app.cli import report, simulators
from storage.engine import open_database
from tests.fakes.commanding import parley
from tests.fakes.databases import fill

STUDIES = ("demo", "dices", "arena")
"""Together they record every schema that has an analysis, but for DICES's other edition."""
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the database of some simulated studies and an import of what one of them recorded."""
    found = tmp_path_factory.mktemp("report")
    database = open_database(f"sqlite:///{found / 'parley.db'}")
    asyncio.run(fill(database, list(STUDIES), 4, "1"))
    database.dispose()
    assert parley("export", "demo", "--schema", "chatbench", "-o", "data", folder=found).returncode == 0
    assert parley("import", "chatbench", "data", "--study", "published", folder=found).returncode == 0
    return found


def test_by_itself_it_writes_a_page_called_like_the_study_of_whatever_it_has(folder: Path) -> None:
    done = parley("report", "demo", folder=folder)
    assert done.returncode == 0, done.stderr
    assert "demo-report.html" in done.stdout
    assert "Simulated data." in done.stdout
    page = (folder / "demo-report.html").read_text(encoding="utf-8")
    for part in ("Simulated data.", "Accuracy by condition", "Helpfulness by model", 'id="quality"', 'id="cost"'):
        assert part in page
    assert not list(folder.glob(".*")), "nothing unfinished is left"


@pytest.mark.parametrize("form", FORMATS)
def test_the_ending_of_the_file_says_the_form_and_so_does_format(folder: Path, form: str) -> None:
    assert parley("report", "arena", "-o", f"out.{form}", folder=folder).returncode == 0
    printed = parley("report", "arena", "-o", "-", "--format", form, folder=folder).stdout
    written = (folder / f"out.{form}").read_text(encoding="utf-8")
    assert printed.splitlines()[0] == written.splitlines()[0]
    assert "Win rate" in written or "arena.win_rate" in written


def test_json_has_the_same_figures_as_csv_and_as_the_functions_give(folder: Path) -> None:
    known = json.loads(parley("report", "demo", "-o", "-", "--format", "json", folder=folder).stdout)
    rows = list(csv.DictReader(io.StringIO(parley("report", "demo", "-o", "-", "--format=csv", folder=folder).stdout)))
    database = open_database(f"sqlite:///{folder}/parley.db")
    found = results(database, "demo", "bot", whole=True)
    database.dispose()
    expected = {one.name: one.value for finding in found.findings for one in finding.estimates}
    assert {name: one["value"] for name, one in known["figures"].items()} == expected
    assert {row["name"]: float(row["value"]) for row in rows} == expected
    assert known["simulated"]
    assert known["quality"]["replies"] > 0
    assert all(one["about"] and one["sentence"] for one in known["figures"].values())


@pytest.mark.parametrize("name", [*STUDIES, "published"])
def test_every_name_of_a_figure_is_its_own_and_follows_exactly_one_pattern(folder: Path, name: str) -> None:
    origin = "import" if name == "published" else "bot"
    database = open_database(f"sqlite:///{folder}/parley.db")
    found = results(database, name, origin, whole=True)
    database.dispose()
    names = [one.name for finding in found.findings for one in finding.estimates]
    assert names
    assert len(set(names)) == len(names)
    assert {name: len(patterns(name, NAMES)) for name in names} == dict.fromkeys(names, 1)


def test_an_imported_release_has_a_report_without_what_is_not_known_of_it(folder: Path) -> None:
    known = json.loads(parley("report", "published", "-o", "-", "--format", "json", folder=folder).stdout)
    assert (known["origin"], known["warning"], known["cost"]) == ("import", None, None)
    assert (known["flow"]["outcomes"], known["quality"]["flags"]) == ({}, {})
    own = json.loads(parley("report", "demo", "-o", "-", "--format", "json", folder=folder).stdout)["figures"]
    shared = known["figures"].keys() & own.keys()
    assert shared
    assert all(known["figures"][name]["value"] == own[name]["value"] for name in shared)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("dmo",), "allowed: arena, demo, dices, published. Did you mean 'demo'?"),
        (("demo", "--origin", "person"), "allowed: bot"),
        (("demo", "--format", "pdf"), "allowed: csv, html, json, md, tex"),
        (("demo", "-o", "report.docx"), "the ending of report.docx"),
        (("demo", "--against", "chatbenk"), "Did you mean 'chatbench'?"),
        (("demo", "--as", "hasty=gpt-4o"), "--against chatbench"),
        (("demo", "--against", "chatbench", "--as", "hasti=gpt-4o"), "Did you mean 'hasty'?"),
        (("demo", "-o", "no/such/folder/report.html"), "Choose another place"),
    ],
)
def test_what_cannot_be_is_told_with_what_can(folder: Path, words: tuple[str, ...], told: str) -> None:
    done = parley("report", *words, folder=folder)
    assert done.returncode == 2
    assert told in done.stderr
    assert not (folder / "report.docx").exists()


def test_models_called_otherwise_are_compared_and_others_are_told(folder: Path) -> None:
    words = ("report", "demo", "--against", "chatbench", "--as", "hasty=gpt-4o", "-o", "against.json")
    done = parley(*words, folder=folder)
    assert done.returncode == 0, done.stderr
    assert "hasty stands for the paper's gpt-4o. Without a counterpart: careful" in done.stdout.replace("\n", " ")
    known = json.loads((folder / "against.json").read_text(encoding="utf-8"))
    assert any(".hasty." in name for name, one in known["figures"].items() if "published" in one)


def test_stopped_in_the_midst_it_leaves_what_was_there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(parts: list[Part]) -> Iterable[Part]:
        yield parts[0]
        raise KeyboardInterrupt

    def stopped(*words: object, **given: object) -> object:
        return gather(*words, **{**given, "steps": interrupted})  # type: ignore[arg-type]

    path = folder / "kept.html"
    path.write_text("what was there", encoding="utf-8")
    monkeypatch.setattr(reports, "gather", stopped)
    done = parley("report", "demo", "-o", "kept.html", folder=folder)
    assert done.returncode == 130
    assert "No report was written." in done.stderr
    assert path.read_text(encoding="utf-8") == "what was there"
    assert not list(folder.glob(".*"))


def test_the_command_line_carries_no_analysis_and_knows_of_it_what_it_has() -> None:
    code = "import sys; from app.cli import app\nprint({'pandas', 'app.analysis'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
    assert tuple(FORMATS) == report.FORMS
    assert tuple(PAPERS) == report.PAPERS
    assert simulators.LEAST == analysis.LEAST


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc, which tells of threads")
def test_numbers_take_one_core_and_leave_the_others() -> None:
    """OpenBLAS starts its threads when numpy is imported; they spin, so on a busy machine it took ten times as long."""
    code = "import os; import app, numpy\nprint(len(os.listdir('/proc/self/task')))"
    env = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1"
