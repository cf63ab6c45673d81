"""The core is complete alone: a copy without one extension, and without all of them, does what Parley does."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.fakes.commanding import parley
from tests.fakes.studies import write

ROOT = Path(__file__).parents[3]
ROOMS = ("app", "storage", "experiments", "problems")
EXTENSIONS = tuple(file.parent.name for file in ROOT.glob("app/extensions/*/__init__.py"))
MISSING = ("evals",), ("publishing",), ("trials",), ("analysis", "trials")  # trials stands on analysis
COMMANDS = {"analysis": "report", "evals": "evals", "publishing": "deposit", "trials": "trial"}
IMPORTED = ("fastapi.testclient", f"{ROOT}/app/web/gradio_import.py", "pydantic_settings", "sqlalchemy", "typer")
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
# Code that runs beside command lines, with their words in `sys.argv`.
EDIT = """
import sys
from pathlib import Path
from app.studies.drafts import check_text

for study in map(Path, sys.argv[1:]):
    print(*(fault.where for fault in check_text(study.read_text(), study.parent).faults))
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
WHERE = "import app, storage; print(app.__path__[0], storage.__path__[0])"
# Runs lines in copies of Parley: each copy in a fork of a process that has imported what others wrote, as that takes
# most of the time of each. A line is the words of a command, or code and its words.
RUNNER = """
import gc, io, json, os, runpy, sys, traceback
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module
from pathlib import Path

def run(words):
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            from app.cli import main
            sys.argv = words if "\\n" in words[0] else ["parley", *words]
            exec(words[0], {}) if sys.argv is words else main()
            code = 0
        except SystemExit as ended:
            code = int(ended.code or 0)
        except BaseException:
            traceback.print_exc()
            code = 1
    return code, out.getvalue(), err.getvalue()

gc.disable()
for module in sys.argv[1:]:
    runpy.run_path(module) if module.endswith(".py") else import_module(module)
for number, (copy, folder, lines) in enumerate(json.load(sys.stdin)):
    if child := os.fork():
        os.waitpid(child, 0)
        continue
    sys.path.insert(0, copy)
    os.chdir(folder)
    os.environ["PARLEY_DATABASE_URL"] = f"sqlite:///{folder}/alone.db"
    Path(f"done-{number}.json").write_text(json.dumps([run(words) for words in lines]))
    os._exit(0)
"""


class Done(NamedTuple):
    code: int
    out: str
    err: str


class Job(NamedTuple):
    """Lines to run in a folder, by the Parley in `copy`."""

    copy: Path
    folder: Path
    lines: Sequence[Sequence[str]]


def run(*jobs: Job, imported: Sequence[str] = ()) -> list[list[Done]]:
    given = json.dumps([(str(job.copy), str(job.folder), job.lines) for job in jobs])
    line = [sys.executable, "-P", "-c", RUNNER, *imported]
    done = subprocess.run(
        line, cwd=jobs[0].folder, input=given, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    told = [(job.folder / f"done-{number}.json").read_bytes() for number, job in enumerate(jobs)]
    return [[Done(*one) for one in json.loads(found)] for found in told]


def copy_without(names: Sequence[str], folder: Path) -> Path:
    """A copy of Parley with what is compiled, which is valid there too."""
    for room in ROOMS:
        shutil.copytree(ROOT / room, folder / "copy" / room)
    for name in names:
        shutil.rmtree(folder / "copy" / "app" / "extensions" / name)
    return folder / "copy"


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy without any extension."""
    return copy_without(EXTENSIONS, tmp_path_factory.mktemp("bare"))


@pytest.mark.parametrize("missing", [pytest.param(MISSING, marks=pytest.mark.nightly), (EXTENSIONS,)])
def test_the_core_does_all_of_its_work_without_extensions(
    tmp_path: Path, missing: Sequence[Sequence[str]], bare: Path
) -> None:
    jobs = []
    for names in missing:
        (folder := tmp_path / "-".join(names)).mkdir()
        study = str(write(folder, STUDY))
        lines = ["--help"], ["check", study], ["simulate", study, "-n", "2"], ["export", "alone", "-o", "data"]
        copy = bare if names == EXTENSIONS else copy_without(names, folder)
        jobs.append(Job(copy, folder, (*lines, [SERVE, study], [f"\n{WHERE}"])))
    for names, job, (listed, *done, where) in zip(missing, jobs, run(*jobs, imported=IMPORTED), strict=True):
        assert where.out.split() == [str(job.copy / "app"), str(job.copy / "storage")]
        shown = {name for name, command in COMMANDS.items() if f"│ {command} " in listed.out}
        assert shown == {*EXTENSIONS} - {*names}
        assert [one.code for one in done] == [0, 0, 0, 0], (names, done)
        assert (job.folder / "data").is_dir()


def test_a_study_that_uses_a_missing_extension_is_told_which(tmp_path: Path, bare: Path) -> None:
    """By every command and the editor; and what such an extension may have locked is not exported."""
    studies = []
    for owner, keys in KEYS.items():
        (tmp_path / owner).mkdir()
        studies.append(str(write(tmp_path / owner, {**STUDY, **keys})))
    locked = studies[[*KEYS].index("trials")]
    for words in (*(["check", study] for study in studies), ["simulate", locked, "-n", "1"]):
        used = parley(*words, folder=tmp_path, PARLEY_DATABASE_URL=f"sqlite:///{tmp_path}/alone.db")
        assert used.returncode == 0, used.stderr
    refused = [[command, study] for study in studies for command in ("check", "serve")]
    lines = [*refused, ["export", "alone", "-o", "data"], [EDIT, *studies]]
    ((*done, edited),) = run(Job(bare, tmp_path, lines), imported=IMPORTED)
    for owner, one in zip([*(owner for owner in KEYS for _ in range(2)), "trials"], done, strict=True):
        assert (one.code, f"'{owner}'" in one.err) == (2, True), one
    assert not (tmp_path / "data").exists()
    assert edited.out.split() == [key for keys in KEYS.values() for key in keys], edited


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
    lab, night = tmp_path / "lab", str(write(tmp_path / "lab", {**STUDY, "title": "Night"}))
    lines = ["--help"], ["lab"], ["check", str(write(tmp_path, STUDY))], ["check", night]
    gone = shutil.copytree(lab, tmp_path / "gone")
    (gone / "lab_registers.py").write_text("raise ImportError('gone')")
    jobs = Job(lab, lab, lines), Job(gone, gone, [["check", night]])
    (listed, greeted, opened, closed), (broken,) = run(*jobs)
    assert "Greet the lab." in listed.out
    assert (greeted.out, opened.code) == ("Good morning.\n", 0)
    assert (closed.code, "closed at night" in closed.err) == (2, True)
    assert (broken.code, "Traceback" in broken.err) == (2, False)
