"""The command line as a newcomer meets it: what it prints, what it writes, and how it says what is wrong."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from app.cli import app
from app.studies.loader import STUDIES
from tests.fakes.commanding import Done, parley
from tests.fakes.forked import Forked, command


def process(*words: str, folder: Path, **settings: str) -> Done:
    """A command as a process of its own, as it ends there: what is caught last is caught in it."""
    env = {**settings, "COLUMNS": "200", "TERM": "dumb"}
    forked = Forked(command, *words, folder=folder, out=folder / "said.txt", env=env)
    return Done(forked.wait() or 0, said := forked.said(), said)


@pytest.fixture
def taken_port() -> Iterator[int]:
    """A port on which something already listens."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield server.getsockname()[1]


def test_check_tells_all_faults_and_exits_with_2(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("study: x\ntitle: t\nflow:\n  - step: consnt\nmodells: {}\n")
    done = process("check", "mine.yaml", folder=tmp_path)
    assert done.returncode == 2
    assert "mine.yaml: 3 errors" in done.stderr
    assert "flow[0]: no step is called 'consnt'" in done.stderr
    assert "modells: no such key" in done.stderr
    assert "Traceback" not in done.stderr


def test_what_cannot_be_done_is_told_in_words(tmp_path: Path) -> None:
    parley("publish", "arena", folder=tmp_path)
    (tmp_path / "mine.yaml").write_text("study: mine\n")
    for words, said in (
        (("export", "nobody", "--schema", "chatbench", "-o", "x"), "'nobody'"),
        (("export", "demo", "--schema", "chatbensh", "-o", "x"), "'chatbensh'"),
        (("simulate", "demmo"), "Did you mean 'demo'?"),
        (("check", "nowhere.yaml"), "nowhere.yaml"),
        (("new", "/dev/null/mine"), "'/dev/null/mine'"),
        (("costs", "deer"), "'deer'"),
        (("serve", "demo", "demo"), "demo"),
        (("chek", "demo"), "Did you mean 'check'?"),
        (("db", "migrat"), "Did you mean 'migrate'?"),
        (("check", "demo", "--bost", "1"), "--bots"),
        (("check", "mien.yaml"), "Did you mean 'mine.yaml'?"),
    ):
        done = parley(*words, folder=tmp_path, PARLEY_PORT="0")
        assert (done.returncode, said in done.stderr) == (2, True), done.stderr


def test_a_server_takes_the_names_of_published_studies_and_reports_a_missing_file_first(
    taken_port: int, tmp_path: Path
) -> None:
    """A published study was no study to it, and a typing error in a file's name was reported as a busy port."""
    (tmp_path / "mine.yaml").write_text("study: ours\ntitle: t\nflow: [{step: finish}]\n")
    assert parley("publish", "mine.yaml", folder=tmp_path).returncode == 0
    for served in ("serve", "up"):
        for name, said in (("ours", "cannot listen"), ("nosuch.yaml", "does not exist"), ("oors", "mean 'ours'?")):
            done = parley(served, name, folder=tmp_path, PARLEY_PORT=f"{taken_port}")
            assert (done.returncode, said in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize(
    "command", ["console", *(pytest.param(name, marks=pytest.mark.soak) for name in ("serve", "demo"))]
)
def test_the_command_line_wins_over_the_settings(command: str, taken_port: int, tmp_path: Path) -> None:
    given = ("--host", "127.0.0.1", "--port", f"{taken_port}", "--database", "sqlite:///given.db")
    env = {
        "PARLEY_HOST": "::1",
        "PARLEY_PORT": "0",
        "PARLEY_CONSOLE_PORT": "0",
        "PARLEY_DATABASE_URL": "sqlite:///x.db",
    }
    done = process(command, *given, folder=tmp_path, **env)
    assert (done.returncode, f"cannot listen on 127.0.0.1:{taken_port}" in done.stderr) == (2, True)
    (tmp_path / "given.db").write_text("no database")
    done = process(command, *given[:3], "0", *given[4:], folder=tmp_path, **env)
    assert (done.returncode, "given.db" in done.stderr) == (2, True)
    assert not (tmp_path / "x.db").exists()


def test_a_missing_key_is_told_at_the_start_and_checking_asks_nobody(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(
        "study: mine\ntitle: t\nproblems: {questions: {source: chatbench}}\nmodels: {gpt: {backend: openai}}\n"
        "flow:\n  - {each: question, of: questions, take: 1, do: direct-to-AI}\n  - step: finish\n"
    )
    done = parley("check", "mine.yaml", "--bots", "2", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    for words in (("serve",), ("simulate", "--models", "study", "--yes")):
        done = parley(words[0], "mine.yaml", *words[1:], folder=tmp_path, PARLEY_PORT="0", OPENAI_API_KEY="")
        assert done.returncode == 2
        assert "PARLEY_OPENAI_API_KEY" in done.stderr


def test_settings_lists_every_setting_and_hides_secrets(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("PARLEY_OPENAI_API_KEY=sk-very-secret\nPARLEY_PROT=1\n")
    done = process("show", "settings", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "PARLEY_DATABASE_URL = sqlite:///parley.db" in done.stdout
    assert "sk-very-secret" not in done.stdout + done.stderr
    assert "PARLEY_PROT is not a setting." in done.stderr


def test_a_database_that_cannot_be_opened_is_told(tmp_path: Path) -> None:
    for url, said in (
        ("sqlite:////nowhere/at/all/x.db", "/nowhere/at/all"),
        ("oops", "PARLEY_DATABASE_URL='oops'"),
        ("mysql://me:secret@host/name", "PARLEY_DATABASE_URL='mysql://me:***@host/name'"),
    ):
        done = parley("simulate", "demo", "-n", "1", folder=tmp_path, PARLEY_DATABASE_URL=url)
        assert (done.returncode, said in done.stderr, "secret" in done.stderr) == (2, True, False), done.stderr


def test_costs_are_estimated_told_and_bounded(tmp_path: Path) -> None:
    (tmp_path / "dear.yaml").write_text(
        (STUDIES / "arena.yaml")
        .read_text(encoding="utf-8")
        .replace("{backend: scripted", "{backend: scripted, price: {prompt: 1000, completion: 2000}")
        .replace("study: arena", "study: dear\ncurrency: EUR"),
        encoding="utf-8",
    )
    done = parley("check", "dear.yaml", "--bots", "3", "--cost", "--participants", "200", folder=tmp_path)
    assert re.search(r"careful: \d+\.\d calls a participant \(1000 and 2000 EUR a million tokens\)", done.stdout)
    each, whole = re.findall(r"([\d,.]+) EUR", done.stdout.partition("Estimated cost")[2])
    assert float(whole.replace(",", "")) == pytest.approx(200 * float(each), rel=1e-3)
    assert float(each) > 2000 * 300 / 1e6, "replies are taken as 300 tokens, and there is at least one"
    parley("simulate", "dear.yaml", "-n", "2", folder=tmp_path)
    told = json.loads(parley("show", "costs", "dear", "--by", "participant", "--json", folder=tmp_path).stdout)
    assert set(told["groups"]) == {"1 (bot)", "2 (bot)"}
    assert told["total"]["cost"] == pytest.approx(sum(group["cost"] for group in told["groups"].values()))
    assert "EUR" in parley("show", "costs", "dear.yaml", folder=tmp_path).stdout
    assert "Budget: 0.50 EUR" in parley("recruit", "budget", "dear", "0.5", folder=tmp_path).stdout
    assert parley("simulate", "dear.yaml", "-n", "4", folder=tmp_path).returncode == 0
    spent = json.loads(parley("recruit", "budget", "dear", "--json", folder=tmp_path).stdout)["spent"]
    assert spent == 0, "simulated sessions use up no budget"
    lifted = parley("recruit", "budget", "dear", "--unlimited", "--json", folder=tmp_path)
    assert json.loads(lifted.stdout)["budget"] is None
    assert parley("recruit", "pause", "dear", folder=tmp_path).returncode == 0
    assert "Paused (paused)" in parley("recruit", "budget", "dear", "9", folder=tmp_path).stdout
    assert parley("recruit", "open", "dear", folder=tmp_path).returncode == 0


def test_attempts_are_shown_and_written(tmp_path: Path) -> None:
    parley("simulate", "arena", "-n", "1", folder=tmp_path)
    shown = parley("show", "calls", "arena", "--last", "2", folder=tmp_path).stdout
    assert "careful" in shown + parley("show", "calls", "arena", folder=tmp_path).stdout
    lines = parley("show", "calls", "arena", "-o", "-", folder=tmp_path).stdout.splitlines()
    first = json.loads(lines[0])
    assert {"session", "model", "request", "text", "version", "first_token_us", "cost", "cause"} <= set(first)
    assert f"{len(lines)} calls" in parley("show", "calls", "arena", "-o", "all.jsonl", folder=tmp_path).stdout
    assert (tmp_path / "all.jsonl").read_text(encoding="utf-8").splitlines() == lines
    assert parley("show", "calls", "arena", "--failed", "-o", "-", folder=tmp_path).stdout == ""


READING = {
    "export": ("demo", "--schema", "chatbench", "-o", "out"),
    "note": ("demo", "1", "seen"),
    "open": ("demo",),
    "payments": ("demo", "-o", "out"),
    "report": ("demo", "-o", "report.html"),
    "status": ("demo",),
    "user": ("list",),
    "verify": ("demo",),
}


@pytest.mark.parametrize("name", READING)
def test_a_command_in_a_folder_without_a_database_makes_none(name: str, tmp_path: Path) -> None:
    done = parley(name, *READING[name], folder=tmp_path)
    assert done.returncode == 2
    assert str(tmp_path / "parley.db") in done.stderr.replace("\n", "")
    assert list(tmp_path.iterdir()) == []


ITEMS = Path(__file__).parents[2] / "problems" / "data" / "items"
ALONE = ("demo", "--repeats", "1", "--max-problems", "1", "--method", "letter_only_zero_shot")
AS_JSON = {
    "ai-alone run": ALONE,
    "ai-alone score": ("demo",),
    "ai-alone status": ("demo",),
    "alerts": (),
    "annotate agreement": None,  # in test_annotating.py, which has labels
    "annotate status": ("demo",),
    "blinding": ("demo",),
    "budget": ("demo", "5"),
    "check": ("demo", "--bots", "1"),
    "costs": ("demo",),
    "deposit": None,  # in test_deposit_command.py, which has an export
    "deviations": ("demo",),
    "diff": (str(STUDIES / "demo.yaml"),),
    "doctor": None,  # in test_doctor.py
    "integrity": ("demo",),
    "items": (str(ITEMS / "questions.csv"),),
    "look": None,  # in test_looks.py
    "metadata": ("demo",),
    "model-calls": ("demo",),
    "models test": ("demo",),
    "payments": ("demo", "-o", "out"),
    "power": None,  # in test_power_command.py
    "quota": ("demo", "9"),
    "rehearse": ("demo", "--remove"),
    "retention": ("demo", "--dry-run"),
    "screen-times": ("demo",),
    "settings": (),
    "simulator-quality": None,  # in test_simulating_commands.py, which has people
    "status": ("demo", "--origin", "bot"),
    "user list": (),
    "verify": ("demo",),
    "versions": ("demo",),
}


def test_the_errors_of_a_study_are_json_too(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("study: x\ntitle: t\nflow:\n  - step: consnt\nmodells: {}\n")
    done = parley("check", "mine.yaml", "--json", folder=tmp_path)
    assert done.returncode == 2
    assert len(json.loads(done.stdout)["errors"]) > 1


def test_a_shell_completes_commands(tmp_path: Path) -> None:
    asked = {"_PARLEY_COMPLETE": "complete_bash", "COMP_WORDS": "parley pay", "COMP_CWORD": "1"}
    assert process(folder=tmp_path, **asked).stdout.split() == ["payments"]


def test_json_is_all_that_such_a_command_prints(tmp_path: Path) -> None:
    group: Any = typer.main.get_command(app)
    inner = [(f"{name} {part}", one) for name, top in group.commands.items() for part, one in _parts(top).items()]
    with_json = [name for name, one in (*group.commands.items(), *inner) if any("--json" in p.opts for p in one.params)]
    assert sorted(with_json) == sorted(AS_JSON)
    parley("simulate", "demo", "-n", "2", folder=tmp_path)
    parley("publish", "demo", folder=tmp_path)
    parley("accounts", "add", "ada", "--password-stdin", folder=tmp_path, typed="seven grey herons wade\n")
    empty = []
    for name, words in AS_JSON.items():
        if words is not None:
            done = parley(*name.split(), *words, "--json", folder=tmp_path)
            assert done.returncode == 0, f"{name}: {done.stderr}"
            empty += [] if json.loads(done.stdout) else [name]
    assert empty == ["annotate status", "deviations", "metadata"]


def _parts(command: Any) -> dict[str, Any]:
    return getattr(command, "commands", {})
