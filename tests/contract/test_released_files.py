"""What comes out: files with the released names, columns and order, from simulated sessions of each study."""

from __future__ import annotations

import ast
import asyncio
import csv
import json
import re
from collections import Counter
from pathlib import Path
from uuid import UUID

import pandas as pd
import pytest
from sqlalchemy import text
from sqlalchemy.exc import DatabaseError

from app.bots.simulate import START_US, simulate
from app.clock import VirtualClock
from app.library import load_study
from app.runtime import Runtime
from app.settings import Settings
from experiments.core.scales import SOLO_SOLVE
from experiments.core.study import models
from storage.engine import Database, open_database
from storage.errors import StorageError
from storage.export import export
from storage.projections import differences, rebuild
from storage.schemas.registry import schema
from tests.fakes.sessions import study

ANSWERS = (
    "worker_id,model,condition,subject,batch,phase,position,answer_type,dataset,question_id,confidence,"
    "selected_answer,acc"
)
QUESTIONS = (
    "question_id,dataset,question,option_A,option_B,option_C,option_D,answer,question_formatted,"
    "option_A_formatted,option_B_formatted,option_C_formatted,option_D_formatted"
)
INTERACTIONS = (
    ",model,human_interactions,model_responses,time_taken,helpfulness_ratings,correctness_ratings,solo_solve,"
    "problem_name,final_prefs,interaction_set_idx,uid,mth_bkgrd,ai_play_bkgrd,selected_topic,seen_problem_sets"
)
SESSIONS = 12


async def fill(database: Database, names: list[str], count: int, seed: str) -> None:
    """Simulated sessions of some studies."""
    clock = VirtualClock(START_US)
    runtime = Runtime(database, Settings(), clock)
    for name in names:
        runtime.studies.register(study(name))
        async for _ in simulate(runtime, clock, study(name), count, seed):
            pass
    await runtime.close()


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Database:
    """A database with simulated sessions of the three studies that come with Parley."""
    database = open_database(f"sqlite:///{tmp_path_factory.mktemp('filled') / 'parley.db'}")
    asyncio.run(fill(database, ["chatbench", "mathconverse", "demo"], SESSIONS, "1"))
    return database


@pytest.fixture(scope="module")
def chatbench(filled: Database, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """ChatBench's files."""
    folder = tmp_path_factory.mktemp("chatbench")
    export(filled, "chatbench", "chatbench", folder)
    return folder


@pytest.fixture(scope="module")
def mathconverse(filled: Database, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """MathConverse's file."""
    folder = tmp_path_factory.mktemp("mathconverse")
    export(filled, "mathconverse", "mathconverse", folder)
    return folder / "mathconverse_parsed_interactions.csv"


def header(path: Path) -> str:
    """The first line of a file."""
    return path.read_text(encoding="utf-8").split("\n", 1)[0]


def test_chatbenchs_files_have_the_released_names_and_columns(chatbench: Path) -> None:
    found = sorted(str(path.relative_to(chatbench)) for path in chatbench.rglob("*") if path.is_file())
    assert found == ["full_study/conversations.json", "full_study/user_answers.csv", "questions.csv"]
    assert header(chatbench / "full_study/user_answers.csv") == ANSWERS
    assert header(chatbench / "questions.csv") == QUESTIONS


def test_every_worker_has_the_answers_that_the_conditions_imply(chatbench: Path) -> None:
    answers = pd.read_csv(chatbench / "full_study/user_answers.csv")
    assert answers.worker_id.nunique() == SESSIONS
    for worker, rows in answers.groupby("worker_id"):
        assert re.fullmatch(r"[A-Za-z0-9]{10}", str(worker))
        assert rows[["model", "condition", "subject", "batch"]].drop_duplicates().shape[0] == 1
        first = rows.condition.iloc[0] == "answer-first"
        assert len(rows) == (22 if first else 13)
        assert list(rows.position) == sorted(rows.position)
        assert set(rows.position) == set(range(13))
        assert (rows[rows.position < 4].phase == 1).all()
        assert (rows[rows.position >= 4].phase == 2).all()
        assert list(rows[rows.position == 3].dataset) == ["attention_check"]
        assert rows.confidence.isin(["not-confident", "somewhat-confident", "very-confident"]).all()
        types = Counter(rows[rows.phase == 2].answer_type)
        assert types == ({"user-alone": 9, "user-AI": 9} if first else {"user-AI": 9})


def test_an_answers_accuracy_is_that_of_the_key(chatbench: Path) -> None:
    answers = pd.read_csv(chatbench / "full_study/user_answers.csv").query("dataset != 'attention_check'")
    key = pd.read_csv(chatbench / "questions.csv").set_index("question_id").answer
    assert (answers.acc == (answers.selected_answer == answers.question_id.map(key)).astype(int)).all()
    assert 0 < answers.acc.mean() < 1


def test_the_questions_are_those_that_were_read(chatbench: Path) -> None:
    source = Path("problems/data/chatbench/questions.csv")
    read = pd.read_csv(source, dtype=str, keep_default_na=False).set_index("question_id")
    written = pd.read_csv(chatbench / "questions.csv", dtype=str, keep_default_na=False).set_index("question_id")
    plain = ["dataset", "question", "option_A", "option_B", "option_C", "option_D", "answer"]
    assert read[plain].sort_index().equals(written[plain].sort_index())


def test_conversations_are_the_answers_with_ai_and_their_messages(chatbench: Path) -> None:
    answers = pd.read_csv(chatbench / "full_study/user_answers.csv").query("answer_type == 'user-AI'")
    told = json.loads((chatbench / "full_study/conversations.json").read_text(encoding="utf-8"))
    assert len(told) == len(answers) == SESSIONS * 9
    fields = ["chat_history", "user_effort", "attempted_answer", "answer_val", "answer_letter"]
    for row, (_, answer) in zip(told, answers.iterrows(), strict=True):
        assert list(row) == [*ANSWERS.split(","), *fields]
        assert all(row[name] == answer[name] for name in ANSWERS.split(","))
        roles = [message["role"] for message in row["chat_history"]]
        assert roles == ["You", "Bot"] * (len(roles) // 2)
        assert 1 <= len(roles) // 2 <= 20
        assert all(message["content"].strip() for message in row["chat_history"])
        assert all(row[name] is None for name in fields[1:])


def test_mathconverses_file_is_as_pandas_would_write_it(mathconverse: Path) -> None:
    assert header(mathconverse) == INTERACTIONS
    frame = pd.read_csv(mathconverse, index_col=0, keep_default_na=False)
    assert frame.to_csv().encode() == mathconverse.read_bytes()


def test_mathconverses_rows_have_the_released_form(mathconverse: Path) -> None:
    background, *_ = (step for step in study("mathconverse").flow if step.id == "background")
    domains = {question.name: set(question.options) for question in background.questions}
    with mathconverse.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    uids: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        uids.setdefault(row["uid"], []).append(row)
    assert len(uids) == SESSIONS
    for uid, own in uids.items():
        assert UUID(uid).version == 4
        assert [int(row[""]) for row in own] == list(range(len(own)))
        for row in own:
            said, replied = ast.literal_eval(row["human_interactions"]), ast.literal_eval(row["model_responses"])
            assert len(said) == len(replied) >= 1
            assert all(text.startswith("User: ") for text in said)
            assert all(text.startswith("AI: ") for text in replied)
            for ratings in (row["helpfulness_ratings"], row["correctness_ratings"]):
                given = ast.literal_eval(ratings)
                assert len(given) == len(said)
                assert all(type(point) is int and 0 <= point <= 6 for point in given)
            assert row["solo_solve"] in {*SOLO_SOLVE, "MISSING"}
            assert row["problem_name"].endswith(".html")
            assert float(row["time_taken"]) > 0
            assert all(row[name] in allowed for name, allowed in domains.items())
        for idx in {row["interaction_set_idx"] for row in own}:
            of_set = [row for row in own if row["interaction_set_idx"] == idx]
            preference = ast.literal_eval(of_set[0]["final_prefs"])
            assert list(preference) == ["instructgpt", "chatgpt", "chatgpt4"]
            assert set(preference.values()) <= {1, 2, 3}
            assert sorted(row["model"] for row in of_set) == ["chatgpt", "chatgpt4", "instructgpt"]
        seen = {row["seen_problem_sets"] for row in own}
        assert len(seen) == 1
        assert len(ast.literal_eval(seen.pop())) == len({row["interaction_set_idx"] for row in own})


def test_our_columns_are_those_of_the_real_mathconverse_file(shared: Path) -> None:
    real = (shared / "mathconverse_part.csv").read_text(encoding="utf-8").split("\n", 1)[0]
    assert real == ",".join(column.name for column in schema("mathconverse").tables[0].columns)


def test_the_demo_has_rows_of_both_schemas(filled: Database, tmp_path: Path) -> None:
    for name in ("chatbench", "mathconverse"):
        written = export(filled, "demo", name, tmp_path / name)
        assert all(written.files.values())
        assert written.origin == "bot"


def test_the_same_seed_gives_the_same_files_to_the_byte(tmp_path: Path) -> None:
    files = []
    for number in range(2):
        database = open_database(f"sqlite:///{tmp_path / f'{number}.db'}")
        asyncio.run(fill(database, ["mathconverse", "chatbench"], 3, "again"))
        for name in ("mathconverse", "chatbench"):
            export(database, name, name, tmp_path / str(number))
        found = sorted(path for path in (tmp_path / str(number)).rglob("*") if path.is_file())
        files.append([path.read_bytes() for path in found])
        with database.connect() as connection:
            log = "SELECT stream, seq, at_us, by, path, kind, data, key FROM event ORDER BY stream, seq"
            files[-1] += [str(row).encode() for row in connection.execute(text(log))]
    assert files[0] == files[1]
    assert len(files[0]) > 100


def test_simulating_again_adds_only_what_is_missing(tmp_path: Path) -> None:
    database = open_database(f"sqlite:///{tmp_path / 'parley.db'}")
    for count in (2, 3, 3):
        asyncio.run(fill(database, ["mathconverse"], count, "1"))
    with database.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM session")).scalar() == 3


def test_people_are_exported_apart_from_bots(tmp_path: Path) -> None:
    database = open_database(f"sqlite:///{tmp_path / 'parley.db'}")
    asyncio.run(fill(database, ["chatbench"], 2, "1"))
    assert export(database, "chatbench", "chatbench", tmp_path / "bots").sessions == 2

    async def enrol() -> None:
        runtime = Runtime(database, Settings(), VirtualClock(0))
        await runtime.enrol(study("chatbench"), origin="person")
        await runtime.close()

    asyncio.run(enrol())
    assert export(database, "chatbench", "chatbench", tmp_path / "a").origin == "person"
    assert (tmp_path / "a/full_study/user_answers.csv").read_text() == ANSWERS + "\n"
    assert export(database, "chatbench", "chatbench", tmp_path / "b", "bot").sessions == 2
    with pytest.raises(StorageError, match="Did you mean 'person'"):
        export(database, "chatbench", "chatbench", tmp_path / "c", "persn")
    with pytest.raises(StorageError, match="does not record 'mathconverse'; allowed: chatbench"):
        export(database, "chatbench", "mathconverse", tmp_path / "e")
    with pytest.raises(StorageError, match="Did you mean 'chatbench'"):
        export(database, "chatbensh", "chatbench", tmp_path / "d")


@pytest.mark.parametrize("statement", ["UPDATE event SET kind = 'x'", "DELETE FROM event"])
def test_a_fact_is_never_changed_or_deleted(statement: str, filled: Database) -> None:
    with pytest.raises(DatabaseError, match="a fact is"), filled.begin() as connection:
        connection.execute(text(statement))


def test_an_erased_session_may_be_deleted_and_leaves_its_tombstone(tmp_path: Path) -> None:
    database = open_database(f"sqlite:///{tmp_path / 'parley.db'}")
    asyncio.run(fill(database, ["demo"], 2, "1"))
    with database.begin() as connection:
        stream = connection.execute(text("SELECT stream FROM session WHERE ordinal = 1")).scalar()
        erased = {"stream": stream}
        connection.execute(text("INSERT INTO erasure VALUES (:stream, 0, 'operator', 'withdrawn')"), erased)
        connection.execute(text("DELETE FROM event WHERE stream = :stream"), erased)
    with database.connect() as connection:
        assert connection.execute(text("SELECT count(DISTINCT stream) FROM event")).scalar() == 1
        assert connection.execute(text("SELECT count(*) FROM erasure")).scalar() == 1


SETS = """
study: sets
title: Sets in a phase
records: [mathconverse]
problems: {theorems: {source: checkmate, groups: {tag: set, within: topic, size: 3, numbered: across}}}
models: {one: {backend: scripted}, two: {backend: scripted}}
flow:
  - phase: The sets
    flow:
      - each: pack
        of: theorems.set
        where: {topic: Topology}
        take: 2
        flow:
          - each: theorem
            of: theorems
            where: {set: "{{pack}}"}
            take: 3
            beside: {model: [one, two]}
            do: rate-at-end
          - {step: rank, of: theorem}
  - step: finish
"""


def test_mathconverses_columns_do_not_depend_on_the_studys_names(tmp_path: Path) -> None:
    (tmp_path / "sets.yaml").write_text(SETS, encoding="utf-8")
    database = open_database(f"sqlite:///{tmp_path / 'parley.db'}")
    asyncio.run(fill(database, [str(tmp_path / "sets.yaml")], 2, "1"))
    export(database, "sets", "mathconverse", tmp_path)
    frame = pd.read_csv(tmp_path / "mathconverse_parsed_interactions.csv", keep_default_na=False)
    assert set(frame.interaction_set_idx) == {0, 1}
    for seen in frame.seen_problem_sets:
        assert len(set(ast.literal_eval(seen)) & {12, 13, 14}) == 2
    assert set(frame.final_prefs) == {"MISSING"}, "one model has two ranks here, and the column can hold one"


def test_verify_says_what_differs_and_rebuild_mends_it(tmp_path: Path) -> None:
    database = open_database(f"sqlite:///{tmp_path / 'parley.db'}")
    asyncio.run(fill(database, ["demo"], 3, "1"))
    assert list(differences(database)) == []
    with database.begin() as connection:
        connection.execute(text("UPDATE user_answers SET acc = 7 WHERE position = 0 AND answer_type = 'user-AI'"))
        connection.execute(text("DELETE FROM mathconverse_interactions WHERE row_index = 1"))
        connection.execute(text("UPDATE conversations SET _session = 'nobody' WHERE rowid = 1"))
    said = list(differences(database))
    assert sum("acc is 7, the log implies" in sentence for sentence in said) == 3
    assert sum("row_index 1: the row is missing" in sentence for sentence in said) == 3
    assert sum(sentence.startswith("conversations") for sentence in said) == 1
    assert rebuild(database) == 3
    assert list(differences(database)) == []


def test_every_step_kind_can_be_finished_by_the_random_bot() -> None:
    """The kinds that the bot meets in the studies of the tests are all the kinds there are."""
    from experiments.core.resolve import nodes_of
    from tests.fakes.sessions import NAMES, whole

    met = {getattr(node, "step", "") for name in NAMES for node in nodes_of(load_study(name).flow)}
    assert set(models()["nodes"]) - {"phase", "each"} <= met
    for name in NAMES:
        assert whole(name, "3")[-1].kind == "finished"
