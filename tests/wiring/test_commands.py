"""The command line as a newcomer meets it: what it prints, what it writes, and how it says what is wrong."""

from __future__ import annotations

import json
import re
import socket
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from importlib.metadata import version
from pathlib import Path

import pytest

from app.backends import registry
from app.library import STUDIES
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


def test_check_draws_the_tree_and_tells_the_length(tmp_path: Path) -> None:
    done = parley("check", "demo", "--bots", "3", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    for words in ("A taste of Parley", "for each question: 1 of questions", "rank (preference)", "No faults."):
        assert words in done.stdout
    assert "3 simulated participants finished it, in" in done.stdout


CHECKED = """
study: checked
title: Checked
recruitment: {by: [prolific]}
flow:
  - step: check
    kind: comprehension
    questions: [{ask: short, name: word, text: "Which word?"}]
    right: {word: indeed}
  - {step: info, text: "Through."}
  - {step: finish, code: DONE}
"""


def test_check_tells_what_is_worth_a_look(tmp_path: Path) -> None:
    (tmp_path / "checked.yaml").write_text(CHECKED)
    done = parley("check", "checked.yaml", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.index("Worth a look:") < done.stdout.index("outcomes.screened_out: has no code.")
    assert "Worth a look" not in parley("check", "demo", "--bots", "1", folder=tmp_path).stdout


def test_most_simulated_participants_know_what_passes(tmp_path: Path) -> None:
    (tmp_path / "checked.yaml").write_text(CHECKED)
    done = parley("simulate", "checked.yaml", "-n", "60", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    with closing(sqlite3.connect(tmp_path / "parley.db")) as database:
        found = database.execute("SELECT path, kind, count(*) FROM event GROUP BY path, kind").fetchall()
    told = {(path, kind): count for path, kind, count in found}
    assert told["finish", "finished"] >= 50
    assert 1 <= told["check", "missed"] <= 20, "one try in ten"


def test_check_tells_all_faults_and_exits_with_2(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("study: x\ntitle: t\nflow:\n  - step: consnt\nmodells: {}\n")
    done = process("check", "mine.yaml", folder=tmp_path)
    assert done.returncode == 2
    assert "mine.yaml: 3 faults" in done.stderr
    assert "flow[0]: no step is called 'consnt'" in done.stderr
    assert "modells: no such key" in done.stderr
    assert "Traceback" not in done.stderr


def test_schema_is_a_json_schema_that_knows_every_step(tmp_path: Path) -> None:
    schema = json.loads(parley("schema", folder=tmp_path).stdout)
    assert schema["$schema"].startswith("https://json-schema.org/")
    assert {"study", "title", "flow"} <= set(schema["required"])
    assert "confidence" in json.dumps(schema)
    assert json.loads(parley("schema", "--protocol", folder=tmp_path).stdout)["title"] == "A Parley protocol"


def test_simulate_then_export_writes_the_released_files(tmp_path: Path) -> None:
    done = parley("simulate", "chatbench", "-n", "2", "--seed", "1", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "2 sessions of chatbench are complete" in done.stdout
    done = parley("export", "chatbench", "--schema", "chatbench", "-o", "data", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "data/full_study/user_answers.csv").is_file()
    assert "2 sessions of origin bot" in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("export", "nobody", "--schema", "chatbench", "-o", "x"), "the database has no session of a study 'nobody'"),
        (("export", "demo", "--schema", "chatbensh", "-o", "x"), "no schema is called 'chatbensh'"),
        (("simulate", "demmo"), "Did you mean 'demo'?"),
        (("check", "nowhere.yaml"), "there is no such file"),
        (("new", "/dev/null/mine"), "Not a directory: '/dev/null/mine'"),
    ],
    ids=["export of a study without sessions", "unknown schema", "unknown study", "missing file", "no folder"],
)
def test_what_cannot_be_done_is_told_in_words(words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    done = parley(*words, folder=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr


def test_a_port_that_is_taken_is_told(taken_port: int, tmp_path: Path) -> None:
    done = process("serve", "demo", folder=tmp_path, PARLEY_PORT=str(taken_port))
    assert done.returncode == 2
    assert f"cannot listen on 127.0.0.1:{taken_port}" in done.stderr
    assert "PARLEY_PORT" in done.stderr


@pytest.mark.parametrize("command", ["serve", "console", "demo"])
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
    for words in ("serve", "simulate"):
        done = parley(words, "mine.yaml", folder=tmp_path, PARLEY_PORT="0", OPENAI_API_KEY="")
        assert done.returncode == 2
        assert "PARLEY_OPENAI_API_KEY" in done.stderr


def test_two_studies_of_one_name_are_refused(tmp_path: Path) -> None:
    done = parley("serve", "demo", "demo", folder=tmp_path, PARLEY_PORT="0")
    assert done.returncode == 2
    assert "have one name" in done.stderr


def test_settings_lists_every_setting_and_hides_secrets(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("PARLEY_OPENAI_API_KEY=sk-very-secret\nPARLEY_PROT=1\n")
    done = process("settings", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "PARLEY_DATABASE_URL = sqlite:///parley.db" in done.stdout
    assert "sk-very-secret" not in done.stdout + done.stderr
    assert "PARLEY_PROT is not a setting." in done.stderr


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("sqlite:////nowhere/at/all/x.db", "there is no folder /nowhere/at/all"),
        ("oops", "PARLEY_DATABASE_URL='oops' is no address of a database"),
        ("mysql://me:secret@host/name", "PARLEY_DATABASE_URL='mysql://me:***@host/name' is no address"),
    ],
    ids=["a folder that is not there", "no address", "another kind of database"],
)
def test_a_database_that_cannot_be_opened_is_told(url: str, said: str, tmp_path: Path) -> None:
    done = parley("simulate", "demo", "-n", "1", folder=tmp_path, PARLEY_DATABASE_URL=url)
    assert done.returncode == 2
    assert said in done.stderr
    assert "secret" not in done.stderr


def test_whose_sessions_there_are_is_told_where_there_are_no_peoples(tmp_path: Path) -> None:
    parley("simulate", "demo", "-n", "2", folder=tmp_path)
    assert "No session is of origin person; these are: --origin bot" in parley("status", "demo", folder=tmp_path).stdout
    told = parley("status", "demo", "--origin", "bot", folder=tmp_path).stdout
    assert "No session is of origin" not in told


def test_the_backends_that_come_with_parley_are_known() -> None:
    assert {"scripted", "openai"} <= set(registry.names())


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
    told = json.loads(parley("costs", "dear", "--by", "participant", "--json", folder=tmp_path).stdout)
    assert set(told["groups"]) == {"1 (bot)", "2 (bot)"}
    assert told["total"]["cost"] == pytest.approx(sum(group["cost"] for group in told["groups"].values()))
    assert "EUR" in parley("costs", "dear.yaml", folder=tmp_path).stdout
    assert "Budget: 0.50 EUR" in parley("budget", "dear", "0.5", folder=tmp_path).stdout
    over = parley("simulate", "dear.yaml", "-n", "4", folder=tmp_path)
    assert over.returncode == 2
    assert "Nobody new can begin dear at the moment (budget)." in over.stderr
    assert "No budget is set" in parley("budget", "dear", "--none", folder=tmp_path).stdout
    assert "Nobody new can begin" in parley("pause", "dear", folder=tmp_path).stdout
    assert "Paused (paused)" in parley("budget", "dear", "9", folder=tmp_path).stdout
    assert "People can begin" in parley("open", "dear", folder=tmp_path).stdout
    unknown = parley("costs", "deer", folder=tmp_path)
    assert (unknown.returncode, "Did you mean 'dear'?" in unknown.stderr) == (2, True)


def test_the_version_is_told(tmp_path: Path) -> None:
    assert parley("--version", folder=tmp_path).stdout == f"Parley {version('parley')}\n"


def test_where_nothing_was_asked_none_is_said(tmp_path: Path) -> None:
    parley("simulate", "demo", "-n", "1", folder=tmp_path)
    assert parley("attempts", "demo", "--failed", folder=tmp_path).stdout == "None.\n"


def test_attempts_are_shown_and_written(tmp_path: Path) -> None:
    parley("simulate", "arena", "-n", "1", folder=tmp_path)
    shown = parley("attempts", "arena", "--last", "2", folder=tmp_path).stdout
    assert "careful" in shown + parley("attempts", "arena", folder=tmp_path).stdout
    lines = parley("attempts", "arena", "-o", "-", folder=tmp_path).stdout.splitlines()
    first = json.loads(lines[0])
    assert {"session", "model", "request", "text", "version", "first_token_us", "cost", "cause"} <= set(first)
    assert f"{len(lines)} attempts" in parley("attempts", "arena", "-o", "all.jsonl", folder=tmp_path).stdout
    assert (tmp_path / "all.jsonl").read_text(encoding="utf-8").splitlines() == lines
    assert parley("attempts", "arena", "--failed", "-o", "-", folder=tmp_path).stdout == ""
