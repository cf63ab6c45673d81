"""The core is complete alone: a copy without one extension, and without all of them, does what Parley does."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.studies import write

ROOT = Path(__file__).parents[3]
ROOMS = ("app", "storage", "experiments", "problems")
EXTENSIONS = ("analysis", "publishing", "trials")
STANDS_ON = {"trials": "analysis"}
COMMANDS = {"analysis": "report", "publishing": "deposit", "trials": "trial"}
PLAN = {
    "participants": 200,
    "hypotheses": [
        {
            "id": "h",
            "claim": "It helps.",
            "outcome": "correct",
            "contrast": {"factor": "condition", "treatment": "b", "control": "a"},
            "direction": "greater",
            "smallest_effect": 0.1,
        }
    ],
    "exclude": ["incomplete"],
}
KEYS: dict[str, dict[str, object]] = {"trials": {"plan": PLAN}, "publishing": {"privacy": {}}}
STUDY = {
    "study": "alone",
    "title": "Alone",
    "problems": {"questions": {"source": "chatbench"}},
    "models": {"one": {"backend": "scripted"}},
    "factors": {"condition": ["a", "b"]},
    "export_schemas": ["chatbench"],
    "flow": [
        {"each": "question", "of": "questions", "take": 1, "flow": [{"step": "chat", "model": "one", "answer": True}]},
        {"step": "finish"},
    ],
}
EDIT = """
import sys
from pathlib import Path
from app.studies.drafts import check_text

found = check_text(Path(sys.argv[1]).read_text(), Path(sys.argv[1]).parent)
print(*(fault.where for fault in found.faults))
"""
SERVE = """
import sys
from fastapi.testclient import TestClient
from app.config.settings import Settings
from app.studies.loader import load_study
from app.web.console.server import build_console
from app.web.server import build_app
from storage.db.engine import open_database

known = Settings(secret="0123456789abcdef0123456789abcdef")
database = open_database(known.database_url)
with TestClient(build_app(known, database, [load_study(sys.argv[1])])) as participants:
    assert participants.get("/s/alone").status_code == 200
with TestClient(build_console(known, database)) as console:
    assert console.get("/login", follow_redirects=False).status_code == 200
"""


@pytest.fixture(params=[*((name,) for name in EXTENSIONS if name != "analysis"), ("analysis", "trials"), EXTENSIONS])
def without(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[tuple[str, ...], Path]:
    """The names of the extensions that are taken away, and the copy without them."""
    for room in ROOMS:
        shutil.copytree(ROOT / room, tmp_path / "copy" / room, ignore=shutil.ignore_patterns("__pycache__"))
    for name in request.param:
        shutil.rmtree(tmp_path / "copy" / "app" / "extensions" / name)
    return request.param, tmp_path / "copy"


def run(
    copy: Path, *words: str, code: str = "from app.cli import main; main()", folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    folder = folder or copy.parent
    known = {**os.environ, "PYTHONPATH": str(copy), "PARLEY_DATABASE_URL": f"sqlite:///{folder}/alone.db"}
    given = [sys.executable, "-c", code, *words]
    return subprocess.run(given, cwd=folder, env=known, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.parametrize("without", [EXTENSIONS], indirect=True)
def test_the_copy_is_what_runs(without: tuple[tuple[str, ...], Path]) -> None:
    _, copy = without
    told = run(copy, code="import app, storage; print(app.__path__[0], storage.__path__[0])").stdout.split()
    assert told == [str(copy / "app"), str(copy / "storage")]


def test_the_core_does_all_of_its_work_without_extensions(without: tuple[tuple[str, ...], Path]) -> None:
    gone, copy = without
    study = str(write(copy.parent, STUDY))
    told = run(copy, "--help").stdout
    listed = {name for name, command in COMMANDS.items() if f"│ {command} " in told}
    assert listed == {*EXTENSIONS} - {*gone}
    for words in (("check", study), ("simulate", study, "-n", "2"), ("export", "alone", "-o", "data")):
        done = run(copy, *words)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
    assert (copy.parent / "data").is_dir()
    served = run(copy, study, code=SERVE)
    assert served.returncode == 0, served.stderr


@pytest.mark.parametrize("without", [EXTENSIONS], indirect=True)
def test_a_study_that_uses_a_missing_extension_is_told_which(without: tuple[tuple[str, ...], Path]) -> None:
    _, copy = without
    for owner, keys in KEYS.items():
        study = str(write(copy.parent, {**STUDY, **keys}))
        assert run(ROOT, "check", study, folder=copy.parent).returncode == 0
        checked, served, edited = run(copy, "check", study), run(copy, "serve", study), run(copy, study, code=EDIT)
        assert (checked.returncode, served.returncode, edited.stdout.split()) == (2, 2, [*keys]), edited.stderr
        assert all(f"'{owner}'" in told for told in (checked.stderr, served.stderr))


@pytest.mark.parametrize("without", [EXTENSIONS], indirect=True)
def test_outcomes_that_a_missing_extension_may_have_locked_are_not_exported(
    without: tuple[tuple[str, ...], Path],
) -> None:
    _, copy = without
    study = str(write(copy.parent, {**STUDY, "plan": PLAN}))
    assert run(ROOT, "simulate", study, "-n", "1", folder=copy.parent).returncode == 0
    done = run(copy, "export", "alone", "-o", "data")
    assert (done.returncode, "'trials'" in done.stderr) == (2, True), done.stderr
    assert not (copy.parent / "data").exists()


REGISTERS = """
from parley_studies.extensions import CommandEntry, Extension, register
LAB = CommandEntry("lab_command", "Greet the lab.")
register(Extension("lab", commands={"Operate": {"lab": LAB}}, checks=("lab_command:check",)))
"""
COMMAND = """
from experiments.errors import ValidationIssue
from parley_studies.commands import command

@command("lab")
def lab():
    print("Good morning.")

def check(study):
    if study.file.title == "Night":
        yield ValidationIssue("title", "the lab is closed at night")
"""


def test_a_package_of_others_adds_commands_and_checks_in_the_same_way(tmp_path: Path) -> None:
    info = tmp_path / "lab" / "lab-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: lab\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[parley.extensions]\nlab = lab_registers\n")
    (tmp_path / "lab" / "lab_registers.py").write_text(REGISTERS)
    (tmp_path / "lab" / "lab_command.py").write_text(COMMAND)
    assert "Greet the lab." in run(tmp_path / "lab", "--help").stdout
    assert run(tmp_path / "lab", "lab").stdout == "Good morning.\n"
    assert run(tmp_path / "lab", "check", str(write(tmp_path, STUDY))).returncode == 0
    closed = run(tmp_path / "lab", "check", str(write(tmp_path, {**STUDY, "title": "Night"})))
    assert (closed.returncode, "closed at night" in closed.stderr) == (2, True)
    (tmp_path / "lab" / "lab_registers.py").write_text("raise ImportError('gone')")
    broken = run(tmp_path / "lab", "check", str(write(tmp_path, STUDY)))
    assert (broken.returncode, "Traceback" in broken.stderr) == (2, False)
