"""A study with options in random order, from the sessions to the files: the tables match the log, the releases have the
keys, and the tidy tables, the report and the annotators' questions know what was shown."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from app.annotation.annotators.chatbot_answer import ChatbotAnswer
from app.extensions.analysis.results import results
from app.extensions.analysis.tidy_frames import load
from storage.db.engine import Database, open_database
from storage.log.projections import differences
from storage.registers.studies import Studies
from storage.reports.conversations import conversations
from storage.reports.reproducibility import recompute_draws
from tests.fakes.databases import export, fill
from tests.fakes.studies import write

GPQA = "Question,Correct Answer,Incorrect Answer 1,Incorrect Answer 2,Incorrect Answer 3\n" + "".join(
    f"Which is right in row {number}?,right {number},wrong {number},false {number},untrue {number}\n"
    for number in range(6)
)
FACTORS = {"condition": ["answer-first", "direct-to-AI"]}
PROTOCOLS = {"by": "condition", "pick": {"answer-first": "answer-first@1", "direct-to-AI": "direct-to-AI@1"}}
PLAYED = 12


def shuffled_study(folder: Path) -> Path:
    (folder / "gpqa.csv").write_text(GPQA, encoding="utf-8")
    raw: dict[str, Any] = {
        "study": "shuffled",
        "title": "Shuffled",
        "export_schemas": ["chatbench"],
        "problems": {"own": {"path": "gpqa.csv", "options": "shuffled"}},
        "models": {"tutor": {"backend": "scripted"}},
        "factors": FACTORS,
        "flow": [{"each": "question", "of": "own", "take": 4, "do": PROTOCOLS}, {"step": "finish", "text": "Bye."}],
    }
    return write(folder, raw)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    folder = tmp_path_factory.mktemp("shuffled")
    database = open_database(f"sqlite:///{folder / 'parley.db'}")
    asyncio.run(fill(database, [str(shuffled_study(folder))], PLAYED, "1"))
    yield database
    database.dispose()


def test_the_card_of_an_export_names_what_was_shuffled(filled: Database, tmp_path: Path) -> None:
    for name in ("chatbench", "tidy"):
        export(filled, "shuffled", name, tmp_path / name)
        assert "`option_order`" in (tmp_path / name / "README.md").read_text(encoding="utf-8")


def test_what_was_shown_is_in_the_tidy_data_and_the_releases_have_the_keys(filled: Database) -> None:
    assert list(differences(filled)) == []
    checked = recompute_draws(filled, "shuffled")
    assert (checked.sessions, checked.differences) == (PLAYED, ())
    assert checked.draws > 4 * PLAYED, "orders are among them"
    answers = load("shuffled", "bot", database=filled).answers
    asked = answers[answers["question"] == "answer"]
    for row in asked.itertuples():
        order = json.loads(row.option_order)
        assert order[row.chosen_position - 1] == row.value
        assert (row.chosen_position == row.right_position) == bool(row.correct)
    assert asked["right_position"].nunique() == 4
    with filled.connect() as connection:
        released = connection.execute(text("SELECT selected_answer, acc FROM user_answers")).all()
    assert sorted(released) == sorted((row.value, row.correct) for row in asked.itertuples())
    found = {one.name: one for f in results(filled, "shuffled", "bot", whole=True).findings for one in f.estimates}
    assert {f"position.chosen.4.{place}" for place in (1, 2, 3, 4)} | {"position.test.4"} <= found.keys()
    assert 0 <= found["position.test.4"].further["p"] <= 1


def test_an_annotator_reads_the_letters_that_were_shown_and_records_the_key(filled: Database) -> None:
    talks = list(conversations(filled, "shuffled", "bot"))
    (whole,) = Studies(filled).with_sessions("shuffled", "bot")
    keys = {option.text: option.key for problem in whole.pools["own"] for option in problem.options}
    for talk in talks:
        question = talk.question
        right = next(letter for letter, shown in question.options.items() if shown.startswith("right"))
        assert question.right == right
        assert {letter: keys[shown] for letter, shown in question.options.items()} == question.keys
        said = json.dumps({"attempted_answer": "yes", "answer_letter": right, "answer_val": None})
        values = ChatbotAnswer().read(said.replace('"yes"', "true"), talk)
        assert values["answer_letter"] == question.keys[right]
    assert len({one.question.right for one in talks}) > 1
    assert any(one.question.right != one.question.keys[one.question.right] for one in talks)
