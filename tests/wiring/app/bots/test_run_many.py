"""Simulated users: who they are is told, what they cost is apart, and what stops can be resumed."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from contextlib import aclosing, closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from app.backends.model_ref import ModelRef
from app.bots.run_many import SimulationRun, StoppedSession, clock_for_each, run_simulations
from app.bots.simulate import SimulatedSession
from app.bots.user_config import SimulatedUserConfig, read_user_config
from app.session.service import SessionService
from app.studies.loader import STUDIES, load_study, read_yaml
from experiments.instruments.chatbench_prompts import FIRST
from experiments.study.sections.model_spec import ModelSpec
from experiments.study.study import Study
from storage import tables
from storage.db.engine import Database, open_database
from storage.registers.origins import count_simulated
from storage.reports.costs import USER, costs
from tests.fakes import studies
from tests.fakes.commanding import Done, parley
from tests.fakes.model_server import serve
from tests.fakes.served import settings_for

pytestmark = pytest.mark.anyio


PRICED = {"prompt": 1000, "completion": 1000}
ASIDE = "Type as on a phone."
Ended = list[SimulatedSession | StoppedSession]


def speaker(**options: Any) -> ModelRef:
    return ModelRef("ann", ModelSpec(backend="scripted-user", options=options))


def study_in(folder: Path) -> Study:
    """ChatBench's study, short: one question alone and two with a chatbot, in both conditions, at known prices."""
    raw = read_yaml(STUDIES / "chatbench.yaml")
    for model in raw["models"].values():
        model["price"] = PRICED
    for phase, take in ((raw["flow"][3], 1), (raw["flow"][7], 2)):
        phase["flow"][0]["take"] = take
    raw["problems"]["questions"]["groups"]["size"] = 5
    raw["simulator_prompts"] = {"first": f"{FIRST} {ASIDE}"}
    return load_study(str(studies.write(folder, raw)))


async def played(
    folder: Path, who: SimulatedUserConfig, count: int, most: int = 99, at_once: int = 4, seed: str = "1"
) -> Ended:
    """Let some take part, until so many have ended; then all is dropped as by Ctrl-C."""
    settings, study = settings_for(folder), study_in(folder)
    database = open_database(settings.database_url)
    clocks = clock_for_each(study, who)
    runtime = SessionService(database, settings, clocks)
    found: Ended = []
    try:
        runtime.prepare(study)
        async with aclosing(run_simulations(runtime, clocks, SimulationRun(study, who, count, seed, at_once))) as ended:
            async for one in ended:
                found.append(one)
                if len(found) == most:
                    break
    finally:
        await runtime.close()
        database.dispose()
    return found


def rows(database: Database, table: Any, *columns: Any) -> list[Any]:
    with database.connect() as connection:
        return list(connection.execute(select(*columns or (table,)).order_by(*table.primary_key)))


def database_in(folder: Path) -> Database:
    return open_database(settings_for(folder).database_url)


async def test_users_with_a_model_finish_both_conditions_and_are_told_apart(tmp_path: Path) -> None:
    two_step, by_chance = read_user_config("two_step", speaker()), read_user_config("random")
    ended = [*await played(tmp_path, two_step, 6), *await played(tmp_path, by_chance, 2, at_once=1)]
    assert all(isinstance(one, SimulatedSession) and one.live.state.outcome == "complete" for one in ended)
    conditions = {one.live.state.factors["condition"] for one in ended if isinstance(one, SimulatedSession)}
    assert conditions == {"answer-first", "direct-to-AI"}
    database = database_in(tmp_path)
    assert {origin for (origin,) in rows(database, tables.sessions, tables.sessions.c.origin)} == {"bot"}
    with database.connect() as connection:
        assert dict(count_simulated(connection, "chatbench")) == {"two_step (ann)": 6, "random": 2}
    enrolled = next(data for kind, data in rows(database, tables.events, tables.events.c.kind, tables.events.c.data)
                    if kind == "enrolled" and data["user"]["kind"] == "two_step")  # fmt: skip
    model = {"model": "ann", "name": "ann", "backend": "scripted-user", "server": None, "temperature": 1.0}
    assert enrolled["user"] == {"kind": "two_step", **model}
    tasks = [row.request["messages"][-1]["text"] for row in rows(database, tables.attempts) if row.slot == USER]
    assert any(ASIDE in task for task in tasks), "the prompts are the study's"


async def test_who_is_interrupted_goes_on_and_no_reply_that_was_used_is_asked_for_again(tmp_path: Path) -> None:
    who = read_user_config("two_step", speaker())
    assert len(await played(tmp_path, who, 6, most=2)) == 2
    database = database_in(tmp_path)
    before = rows(database, tables.attempts)
    reached = Counter(e.stream for e in rows(database, tables.events))
    assert 2 < len(reached) < 7, "some were in the midst of it"
    ended = await played(tmp_path, who, 6)
    assert [isinstance(one, SimulatedSession) for one in ended] == [True] * 6
    after = rows(database, tables.attempts)
    assert all(row in after for row in before)
    new = [row for row in after if row not in before]
    assert all(row.turn >= reached[row.stream] for row in new)
    assert len(rows(database, tables.sessions)) == 6
    assert await played(tmp_path, who, 6)
    assert rows(database, tables.attempts) == after, "those who are complete are left alone"


async def test_a_model_that_gives_no_answer_stops_its_session_and_nothing_is_invented(tmp_path: Path) -> None:
    ended = await played(tmp_path, read_user_config("two_step", speaker(mute=1)), 2)
    stopped = [one for one in ended if isinstance(one, StoppedSession)]
    assert len(stopped) == 2
    assert "user:ann at phase-2/question[0]/with_ai, 2 attempts: The answer must be A, B, C, or D" in stopped[0].why
    database = database_in(tmp_path)
    assert not [e for e in rows(database, tables.events) if e.kind == "submitted" and e.path.endswith("with_ai")]
    assert {row.number for row in rows(database, tables.attempts) if row.slot == USER} == {1, 2}
    tries = [row.request["messages"] for row in rows(database, tables.attempts) if row.slot == USER]
    assert any("That cannot be used." in messages[-1]["text"] for messages in tries)


async def test_what_speaks_for_users_is_paid_for_apart(tmp_path: Path) -> None:
    priced = ModelRef("dear", ModelSpec(backend="scripted-user", price=PRICED))
    await played(tmp_path, read_user_config("iqa_eval", priced), 2)
    database = database_in(tmp_path)
    by_model = costs(database, "chatbench", "model")
    assert by_model["user:dear"].cost > 0
    for by in ("condition", "participant"):
        told = costs(database, "chatbench", by)
        own = {name: cost for name, cost in told.items() if name.endswith(" (simulated users)")}
        assert sum(cost.cost for cost in own.values()) == pytest.approx(by_model["user:dear"].cost)
        assert len(own) * 2 == len(told)


PLAYED = ("simulate", "chatbench", "--user", "two_step", "--user-model", "scripted-user:ann")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with sessions of two kinds of users."""
    folder = tmp_path_factory.mktemp("simulated")
    done(parley(*PLAYED, "-n", "3", folder=folder))
    done(parley("simulate", "chatbench", "-n", "3", folder=folder))
    return folder


def done(told: Done) -> Done:
    assert told.returncode == 0, told.stderr
    return told


def run(*words: str, folder: Path, out: str) -> Done:
    return parley(*words, "-o", str(folder / out), folder=folder)


def test_who_played_is_told(folder: Path) -> None:
    done(run("export", "chatbench", "--schema", "chatbench", folder=folder, out="own"))
    done(parley("import", "chatbench", "--check", f"{folder}/own", folder=folder))
    card = (folder / "own/README.md").read_text(encoding="utf-8")
    assert "SIMULATED DATA" in card
    assert "| `two_step (ann)` | 3 |" in card
    assert "| `random` | 3 |" in card


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
            assert "USD" in refused.stdout
        assert not server.requests
        done(parley(*words, "--yes", folder=tmp_path, **at))
        assert {backend for backend, _ in attempts(tmp_path)} == {"scripted", "openai"}
        asked = len(server.requests)
        done(parley(*words, folder=tmp_path, **at))
        assert len(server.requests) == asked > 0, "all have ended, so nothing is called, and nobody is asked"
    costs = json.loads(parley("show", "costs", "paid", "--json", folder=tmp_path).stdout)
    assert costs["kinds"]["simulated sessions"]["cost"] > 0
    done(run("export", "paid", "--schema", "tidy", folder=tmp_path, out="data"))
    card = (tmp_path / "data/README.md").read_text(encoding="utf-8")
    assert all(f"| `{who}` | 3 |" in card for who in ("random", "random, scripted replies"))


def attempts(folder: Path) -> set[tuple[str, float]]:
    with closing(sqlite3.connect(folder / "parley.db")) as connection:
        return {*connection.execute("SELECT backend, cost FROM attempt")}
