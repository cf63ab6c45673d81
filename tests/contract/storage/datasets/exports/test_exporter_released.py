"""What comes out: files with the released names, columns and order, from simulated sessions of each study."""

from __future__ import annotations

import ast
import asyncio
import csv
import json
from pathlib import Path
from uuid import UUID

import pandas as pd
import pytest
from sqlalchemy import text

from app.studies.loader import load_study
from experiments.instruments.scales import SOLO_SOLVE
from experiments.study.schema import models
from storage.db.engine import Database, open_database
from tests.fakes.databases import SESSIONS, export, fill
from tests.fakes.sessions import study

ANSWERS = (
    "worker_id,model,condition,subject,batch,phase,position,answer_type,dataset,question_id,confidence,"
    "selected_answer,acc"
)
QUESTIONS = (
    "question_id,dataset,question,option_A,option_B,option_C,option_D,answer,question_formatted,"
    "option_A_formatted,option_B_formatted,option_C_formatted,option_D_formatted"
)


@pytest.fixture(scope="module")
def chatbench(filled: Database, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("chatbench")
    export(filled, "chatbench", "chatbench", folder)
    return folder


@pytest.fixture(scope="module")
def mathconverse(filled: Database, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mathconverse")
    export(filled, "mathconverse", "mathconverse", folder)
    return folder / "mathconverse_parsed_interactions.csv"


def header(path: Path) -> str:
    return path.read_text(encoding="utf-8").split("\n", 1)[0]


def test_chatbenchs_files_have_the_released_names_and_columns(chatbench: Path) -> None:
    found = sorted(str(path.relative_to(chatbench)) for path in chatbench.rglob("*") if path.is_file())
    of_the_study = ["conversations.json", "user_answers.csv", "user_answers_filtered.csv"]
    beside = [
        ".editable.sha256",
        "README.md",
        "SHA256SUMS",
        "codebook.json",
        "codebook.md",
        "metadata.json",
        "study.json",
    ]
    for_datasets = ["user_answers.jsonl", "user_answers_filtered.jsonl"]
    own = [*(f"full_study/{name}" for name in (*of_the_study, *for_datasets)), "questions.csv", "questions.jsonl"]
    assert found == sorted([*own, *beside])
    assert header(chatbench / "full_study/user_answers_filtered.csv") == ANSWERS
    assert header(chatbench / "full_study/user_answers.csv") == ANSWERS
    assert header(chatbench / "questions.csv") == QUESTIONS


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


def test_the_same_seed_gives_the_same_files_to_the_byte(tmp_path: Path) -> None:
    files = []
    for number in range(2):
        database = open_database(f"sqlite:///{tmp_path / f'{number}.db'}")
        asyncio.run(fill(database, ["mathconverse", "chatbench"], 1, "again"))
        for name in ("mathconverse", "chatbench"):
            export(database, name, name, tmp_path / str(number))
        found = sorted(path for path in (tmp_path / str(number)).rglob("*") if path.is_file())
        files.append([path.read_bytes() for path in found])
        with database.connect() as connection:
            log = "SELECT stream, seq, at_us, by, path, kind, data, key FROM event ORDER BY stream, seq"
            files[-1] += [str(row).encode() for row in connection.execute(text(log))]
    assert files[0] == files[1]
    assert len(files[0]) > 100


def test_every_step_kind_can_be_finished_by_the_random_bot() -> None:
    from experiments.study.resolve import nodes_of
    from tests.fakes.sessions import NAMES, whole

    met = {getattr(node, "step", "") for name in NAMES for node in nodes_of(load_study(name).flow)}
    assert set(models()["nodes"]) - {"phase", "each"} <= met
    for name in NAMES:
        assert whole(name, "3")[-1].kind == "finished"
