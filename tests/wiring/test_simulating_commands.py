"""Simulated users on the command line: they take part, are exported beside the rest, and judged."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.fakes.commanding import Done, parley
from tests.fakes.model_server import serve

PLAYED = ("simulate", "chatbench", "--user", "two_step", "--user-model", "scripted-user:ann")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with sessions of two kinds of users, and a release made of the one, imported as `published`."""
    folder = tmp_path_factory.mktemp("simulated")
    done(parley(*PLAYED, "-n", "3", folder=folder))
    done(parley("simulate", "chatbench", "-n", "3", folder=folder))
    done(run("export", "chatbench", "--schema", "chatbench", "--user", "random", folder=folder, out="release"))
    done(parley("import", "chatbench", f"{folder}/release", "--study", "published", folder=folder))
    return folder


def done(told: Done) -> Done:
    assert told.returncode == 0, told.stderr
    return told


def run(*words: str, folder: Path, out: str) -> Done:
    return parley(*words, "-o", str(folder / out), folder=folder)


def test_who_played_is_told_and_exports_can_ask_for_them(folder: Path) -> None:
    told = done(run("export", "chatbench", "--schema", "chatbench", "--user", "two_step", folder=folder, out="own"))
    assert "left out: 3 of another kind of user" in told.stdout
    done(parley("import", "chatbench", "--check", f"{folder}/own", folder=folder))
    card = (folder / "own/README.md").read_text(encoding="utf-8")
    assert "SIMULATED DATA" in card
    assert "| `two_step (ann)` | 3 |" in card
    assert "with the simulated user two_step" in card
    wrong = run("export", "chatbench", "--schema", "chatbench", "--user", "two_stp", folder=folder, out="no")
    assert (wrong.returncode, "Did you mean 'two_step'?" in wrong.stderr) == (2, True)


PAID = """
study: paid
title: A study whose model costs money
version: 1
problems: {q: {items: [{id: q1, question: One and one?, options: ["2", "3"], answer: A}]}}
models: {tutor: {backend: openai, model: any, price: {prompt: 1000, completion: 1000}}}
flow:
  - {each: question, of: q, take: 1, flow: [{step: chat, model: tutor, min_messages: 1}]}
  - {step: finish, code: DONE}
"""


def test_models_at_servers_are_called_only_if_that_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "paid.yaml").write_text(PAID)
    with serve() as server:
        at = {"PARLEY_OPENAI_BASE_URL": server.base_url, "PARLEY_OPENAI_API_KEY": "x"}
        done(parley("simulate", "paid.yaml", "-n", "3", folder=tmp_path))  # it needs no key either
        assert {backend for backend, _ in attempts(tmp_path)} == {"scripted"}
        words = ("simulate", "paid.yaml", "-n", "3", "--models", "study")
        for asking in (words, ("rehearse", "paid", "-n", "3")):
            refused = parley(*asking, folder=tmp_path, **at)
            assert (refused.returncode, "--yes" in refused.stderr) == (2, True)
            assert "cost per participant" in refused.stdout
        assert not server.requests
        paid = done(parley(*words, "--yes", folder=tmp_path, **at))
        assert {backend for backend, _ in attempts(tmp_path)} == {"scripted", "openai"}
        used = re.search(r"tutor, USD +(\d+)", paid.stdout)
        assert used is not None, paid.stdout
        assert int(used[1]) == len(server.requests)
        again = done(parley(*words, folder=tmp_path, **at))
        assert "tutor" not in again.stdout, "all have ended, so nothing is called, and nobody is asked"
    costs = json.loads(parley("show", "costs", "paid", "--json", folder=tmp_path).stdout)
    assert costs["simulated_sessions"]["cost"] > 0
    done(run("export", "paid", "--schema", "tidy", folder=tmp_path, out="data"))
    card = (tmp_path / "data/README.md").read_text(encoding="utf-8")
    assert all(f"| `{who}` | 3 |" in card for who in ("random", "random, scripted replies"))


def attempts(folder: Path) -> set[tuple[str, float]]:
    with closing(sqlite3.connect(folder / "parley.db")) as connection:
        return {*connection.execute("SELECT backend, cost FROM attempt")}
