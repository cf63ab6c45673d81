"""What comes out: files with the released names, columns and order, from simulated sessions of each study."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from sqlalchemy import text

from storage.db.engine import Database, open_database
from tests.fakes.databases import export, fill

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


def header(path: Path) -> str:
    return path.read_text(encoding="utf-8").split("\n", 1)[0]


def test_chatbenchs_files_have_the_released_names_and_columns(chatbench: Path) -> None:
    found = sorted(str(path.relative_to(chatbench)) for path in chatbench.rglob("*") if path.is_file())
    of_the_study = ["conversations.json", "user_answers.csv", "user_answers_filtered.csv"]
    beside = [
        ".editable.sha256",
        ".huggingface.yaml",
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
