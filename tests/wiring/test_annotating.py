"""Annotating from the command line, offline: asked once, read strictly, written as facts; and verified by people."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from app.backends.base import Backend, Delta, Request, StreamEnd, TextDelta
from app.studies.yaml_loader import parse_yaml
from experiments.events import Action
from experiments.session.engine import decide, fold
from storage.db.engine import Database, open_database
from storage.log.event_log import Log
from storage.log.projections import differences
from storage.log.seats import seat_changes
from storage.log.writer import Append
from storage.registers.studies import Studies
from storage.yaml_text import yaml_text
from tests.fakes import studies
from tests.fakes.backends import registered
from tests.fakes.commanding import Done, parley
from tests.fakes.databases import fill
from tests.fakes.served import settings_for

# The models that were asked, once for each call.
ASKED: list[str] = []
# What a model of the backend `judge` replies: a text, an exception, or what makes one of the prompt.
BY_MODEL: dict[str, Any] = {}
LABELS = ("tried", "known", "low effort")


class Judge(Backend):
    """A backend that replies as BY_MODEL says."""

    async def stream(self, request: Request) -> AsyncGenerator[Delta]:
        ASKED.append(request.model)
        told = BY_MODEL[request.model]
        said = told(request.messages[-1].text) if callable(told) else told
        if isinstance(said, Exception):
            raise said
        if said:
            yield TextDelta(said)
        yield StreamEnd("stop", request.model, 10, 5)


@pytest.fixture(autouse=True)
def judge() -> Iterator[None]:
    ASKED.clear()
    BY_MODEL.clear()
    BY_MODEL["good"] = json.dumps({"user_effort": "tried"})
    with registered("judge", Judge):
        yield


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A database of six sessions of the study `talk`, each of which has one conversation."""
    folder = tmp_path_factory.mktemp("filled")
    made = open_database(settings_for(folder).database_url)
    asyncio.run(fill(made, [str(studies.chat(folder))], 6, "1"))
    made.dispose()
    return (folder / "parley.db").read_bytes()


@pytest.fixture
def database(filled: bytes, tmp_path: Path) -> Iterator[Database]:
    studies.chat(tmp_path)
    (tmp_path / "parley.db").write_bytes(filled)
    made = open_database(settings_for(tmp_path).database_url)
    yield made
    made.dispose()


def annotate(folder: Path, *words: str) -> Done:
    return parley("annotate", *words, folder=folder, PARLEY_SECRET="s" * 32)


def efforts(database: Database) -> list[str | None]:
    with database.connect() as connection:
        query = "SELECT user_effort FROM conversations ORDER BY _session"
        return list(connection.execute(text(query)).scalars())


def facts(database: Database) -> int:
    with database.connect() as connection:
        return int(connection.execute(text("SELECT count(*) FROM event WHERE kind = 'annotated'")).scalar_one())


def test_a_study_is_annotated_once_and_again_by_another_model(tmp_path: Path, database: Database) -> None:
    dry = annotate(tmp_path, "run", "talk", "--annotator", "user_effort", "--model", "judge:good", "--dry-run")
    assert (dry.returncode, ASKED, facts(database)) == (0, [], 0)
    done = annotate(tmp_path, "run", "talk", "--annotator", "user_effort", "--model", "judge:good")
    assert (done.returncode, len(ASKED), facts(database)) == (0, 6, 6), done.stderr
    assert efforts(database) == ["tried"] * 6
    again = annotate(tmp_path, "run", "talk", "--annotator", "user_effort", "--model", "judge:good")
    assert again.returncode == 0
    assert (len(ASKED), facts(database)) == (6, 6), "nothing is asked or written twice"
    BY_MODEL["other"] = '{"user_effort": "known"}'
    annotate(tmp_path, "run", "talk", "--annotator", "user_effort", "--model", "judge:other")
    assert (efforts(database), facts(database)) == (["known"] * 6, 12)
    assert list(differences(database)) == []
    found = {one["model"]: one for one in json.loads(annotate(tmp_path, "status", "talk", "--json").stdout)}
    assert (found["good"]["annotator"], found["good"]["asked"], found["good"]["annotated"]) == ("user_effort", 6, 6)


OWN: dict[str, Any] = {
    "prompt": "Does this hedge? {{conversation}}",
    "answer_schema": {
        "type": "object",
        "properties": {"hedges": {"type": "boolean", "description": "Does the AI hedge?"}},
        "required": ["hedges"],
    },
    "model": "judge:own",
}  # fmt: skip


def test_one_of_ones_own_comes_from_the_study_file_or_from_another(tmp_path: Path, database: Database) -> None:
    BY_MODEL["own"] = '{"hedges": true}'
    own = studies.write(tmp_path, {"study": "own", "annotators": {"hedging": OWN}})
    raw = parse_yaml(own.read_text()).value
    own.write_text(yaml_text({"annotators": raw["annotators"]}))
    done = annotate(tmp_path, "run", "talk", "--annotators-file", str(own))
    assert (done.returncode, facts(database)) == (0, 6), done.stderr
    inside = parse_yaml((tmp_path / "talk.yaml").read_text()).value | {"annotators": {"hedging": OWN}}
    file = studies.write(tmp_path, inside)
    again = annotate(tmp_path, "run", str(file), "--annotator", "hedging")
    assert (again.returncode, facts(database)) == (0, 6), again.stderr


def test_a_random_sample_for_people_holds_what_was_said_and_asked(tmp_path: Path, database: Database) -> None:
    BY_MODEL["good"] = lambda prompt: json.dumps({"user_effort": LABELS[len(prompt) % 2]})
    annotate(tmp_path, "run", "talk", "--annotator", "user_effort", "--model", "judge:good")
    folder = tmp_path / "verify"
    drawn = annotate(
        tmp_path, "sample", "talk", "--annotator", "user_effort", "-n", "4", "--seed", "7", "-o", str(folder)
    )
    assert drawn.returncode == 0, drawn.stderr
    first = (folder / "conversations.jsonl").read_text()
    written = "".join(path.read_text() for path in folder.iterdir())
    with database.connect() as connection:
        streams = connection.execute(text("SELECT stream FROM session")).scalars().all()
        workers = connection.execute(text("SELECT DISTINCT worker_id FROM conversations")).scalars().all()
    assert not any(name in written for name in (*streams, *workers)), "nothing but what was said and asked"
    sampled = [json.loads(line) for line in first.splitlines()]
    assert {tuple(sorted(one)) for one in sampled} == {("dataset", "dialogue", "id", "text")}
    annotate(tmp_path, "sample", "talk", "--annotator", "user_effort", "-n", "4", "--seed", "7", "-o", str(folder))
    assert (folder / "conversations.jsonl").read_text() == first, "the same seed draws the same"


def withdraw(database: Database, stream: str) -> None:
    log = Log(database)
    state = fold(log.load(stream))
    study = Studies(database).get(state.enrolled["hash"])
    events = decide(study, state, Action("withdraw", "", {}, state.events[-1].at_us + 1))
    seat = seat_changes(study, state, fold(events, state))
    log.append(Append(stream, study.name, events, origin="bot", seat=seat, erases=True)).result()
    log.close()


def test_what_came_about_somebody_after_they_withdrew_is_deleted(tmp_path: Path, database: Database) -> None:
    with database.connect() as connection:
        gone, *_ = streams = connection.execute(text("SELECT stream FROM session ORDER BY ordinal")).scalars().all()
    left = [gone]

    def reply(prompt: str) -> str:
        if left:
            withdraw(database, left.pop())
        return json.dumps({"user_effort": "tried"})

    BY_MODEL["good"] = reply
    done = annotate(
        tmp_path, "run", "talk", "--annotator", "user_effort", "--model", "judge:good", "--concurrency", "1"
    )
    assert done.returncode == 0, done.stderr
    assert facts(database) == len(streams) - 1
    with database.connect() as connection:
        kept = connection.execute(text("SELECT count(*) FROM attempt WHERE cell IS NOT NULL")).scalar()
        about = connection.execute(text("SELECT stream FROM ai_cell")).scalars().all()
    assert (kept, sorted(about)) == (5, sorted(streams[1:]))
    assert list(differences(database)) == []
