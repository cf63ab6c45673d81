"""`parley models`: one message to each model, by the engine of replies, and what comes of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from app.backends.base import Request
from app.backends.wire.dialect import Dialects
from app.config.saved_servers import with_saved_servers
from app.config.settings import Settings
from storage.db.engine import open_database
from tests.fakes.commanding import Done, parley
from tests.fakes.model_reply import TOKENS
from tests.fakes.model_server import Server

KEY = "sk-a-key-that-nobody-may-see"
STUDY = """\
study: mine
title: Mine
currency: EUR
problems: {questions: {source: chatbench}}
models:
  priced: {backend: openai, model: gpt-fake, system: "Be {{tone}}.", price: {prompt: 2, completion: 3}}
  unpriced: {backend: openai, server: lab, model: gpt-fake, system: "", max_tokens: 50, temperature: 0.5}
  broken: {backend: openai, model: "fault:401", fallback: [unpriced]}
factors: {tone: [warm, cold], model: [priced, unpriced, broken]}
flow:
  - {each: question, of: questions, take: 1, do: direct-to-AI}
  - step: finish
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine.yaml").write_text(STUDY, encoding="utf-8")
    return tmp_path


def ran(folder: Path, *words: str, server: Server | None, command: str = "models", **settings: str) -> Done:
    if server is not None:
        lab = json.dumps({"lab": {"url": server.base_url, "key": KEY}})
        settings = {"PARLEY_OPENAI_BASE_URL": server.base_url, "PARLEY_MODEL_SERVERS": lab, **settings}
    done = parley(command, *words, folder=folder, **{"PARLEY_OPENAI_API_KEY": KEY, **settings})
    assert KEY not in done.stdout + done.stderr
    return done


def result(folder: Path, *words: str, server: Server | None, code: int, **settings: str) -> list[dict[str, Any]]:
    done = ran(folder, *words, "--json", server=server, **settings)
    assert done.returncode == code, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def test_a_reply_is_measured_and_counted(folder: Path, models: Server) -> None:
    priced, unpriced = result(folder, "mine.yaml", "priced", "unpriced", server=models, code=0)
    prompt, completion = TOKENS
    assert priced["error"] is None
    assert priced["reply"]
    assert (priced["prompt_tokens"], priced["completion_tokens"]) == TOKENS
    assert priced["cost"] == pytest.approx((2 * prompt + 3 * completion) / 1e6)
    assert (priced["currency"], unpriced["cost"]) == ("EUR", None)
    assert 0 < priced["first_token_s"] <= priced["total_s"]
    assert priced["version"].startswith("gpt-fake")
    assert [row["server"] for row in (priced, unpriced)] == [None, "lab"]
    assert unpriced["settings"] == ["PARLEY_MODEL_SERVERS"]


def test_a_request_is_the_one_that_the_study_makes(folder: Path, models: Server) -> None:
    result(folder, "mine.yaml", "priced", "unpriced", server=models, code=0)
    first, second = (received.body for received in models.requests)
    assert [message["role"] for message in first["messages"]] == ["system", "user"]
    assert [message["role"] for message in second["messages"]] == ["user"]
    assert (second["max_tokens"], second["temperature"], second["stream"]) == (50, 0.5, True)
    assert models.requests[1].headers["authorization"] == f"Bearer {KEY}"


def test_all_models_are_tried_and_one_that_fails_is_the_exit_code(folder: Path, models: Server) -> None:
    rows = result(folder, "mine.yaml", server=models, code=2)
    assert [(row["model"], row["reason"]) for row in rows] == [
        ("priced", None), ("unpriced", None), ("broken", "status_401"),
    ]  # fmt: skip
    assert len(models.requests) == 3, "one attempt each, and no fallback"
    done = ran(folder, "mine.yaml", server=models)
    assert (done.returncode, rows[2]["error"] in done.stdout) == (2, True)


def test_a_model_without_a_key_or_a_server(folder: Path) -> None:
    rows = result(folder, "mine.yaml", "priced", "unpriced", server=None, code=2, PARLEY_OPENAI_API_KEY="")
    assert [row["reason"] for row in rows] == ["settings", "settings"]
    assert "PARLEY_OPENAI_API_KEY" in rows[0]["error"]
    assert "PARLEY_MODEL_SERVERS" in rows[1]["error"]


def test_models_without_a_study_and_of_two_servers(folder: Path, models: Server) -> None:
    rows = result(folder, "openai:gpt-fake", "openai:other:3b@lab", server=models, code=0)
    assert [(row["model"], row["server"]) for row in rows] == [("gpt-fake", None), ("other:3b", "lab")]
    assert [received.body["model"] for received in models.requests] == ["gpt-fake", "other:3b"]


def test_a_check_names_the_models_that_nobody_tested(folder: Path, models: Server) -> None:
    def unknown() -> list[str]:
        done = ran(folder, "mine.yaml", "--bots", "0", "--json", server=models, command="check")
        (line,) = [line for line in json.loads(done.stdout)["advice"] if "parley models" in line] or [""]
        return [name for name in ("priced", "unpriced", "broken") if f" {name}" in line]

    assert (unknown(), models.requests) == (["priced", "unpriced", "broken"], [])
    result(folder, "mine.yaml", "unpriced", server=models, code=0)
    assert unknown() == ["broken"], "the same model on the same server, by another name, is known too"


@pytest.mark.parametrize(("fault", "unopened"), [("thoughts-unopened", True), ("thoughts", False), ("length", None)])
def test_what_a_test_finds_of_a_models_reasoning_is_known_to_every_process(
    fault: str, unopened: bool | None, folder: Path, models: Server
) -> None:
    (row,) = result(folder, f"openai:fault:{fault}@lab", server=models, code=0)
    assert bool(row["advice"]) is (unopened is not False)
    plain = Settings(_env_file=None)
    database = open_database(f"sqlite:///{folder / 'parley.db'}")
    known = with_saved_servers(plain, database)
    assert known.reasoning(models.base_url, f"fault:{fault}") is unopened
    assert plain.reasoning(models.base_url, f"fault:{fault}") is None
    request = Request(f"fault:{fault}", ())
    assert Dialects(known, models.base_url).of(request).unopened is unopened
