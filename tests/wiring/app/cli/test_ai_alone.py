"""Models asked alone: asked once, read again, told, and exported beside people's answers."""

from __future__ import annotations

import csv
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select, update

from app.ai_alone.methods import registry
from app.ai_alone.methods.registry import METHODS
from app.ai_alone.plan import AiAloneRequest, AloneCell, cells
from app.ai_alone.scoring import outcome, score
from app.studies.loader import load_study
from storage.ai_alone.answers import method_progress, usual_answers
from storage.ai_alone.replies import StoredReply
from storage.db.engine import Database, writer
from storage.log.projections import differences, rebuild
from storage.schemas.registry import released
from storage.tables import answers
from tests.fakes.commanding import Done, parley
from tests.fakes.databases import read_tables
from tests.fakes.sampled import keep
from tests.fakes.sampled import scripted as row

FEW = ("--repeats", "2", "--max-problems", "1", "--model", "tutor-a")


def alone(folder: Path, *words: str, study: str = "chatbench") -> Done:
    return parley("ai-alone", words[0], study, *words[1:], folder=folder)


def read(folder: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(folder / "parley.db")) as connection:
        return connection.execute(query).fetchall()


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_a_run_asks_reads_and_tells_and_the_same_command_asks_nothing(tmp_path: Path) -> None:
    dry = alone(tmp_path, "run", *FEW, "--dry-run")
    assert dry.returncode == 0, dry.stderr
    assert read(tmp_path, "SELECT * FROM attempt") == read(tmp_path, "SELECT * FROM study") == []
    done = alone(tmp_path, "run", *FEW)
    assert done.returncode == 0, done.stderr
    tables = "attempt", "ai_answer", "ai_alone_answers"
    before = [sorted(read(tmp_path, f"SELECT * FROM {name}")) for name in tables]
    assert len(before[0]) == 5 * 2 * (1 + 1 + 2)
    assert read(tmp_path, "SELECT outcome, count(*) FROM ai_answer GROUP BY outcome") == [("answered", 30)]
    with closing(sqlite3.connect(tmp_path / "parley.db")) as connection, connection:
        connection.execute("DELETE FROM ai_answer")
        connection.execute("DELETE FROM ai_alone_answers")
    assert alone(tmp_path, "score").returncode == 0, "which asks no model"
    again = alone(tmp_path, "run", *FEW)
    assert (again.returncode, "0 replies" in again.stdout) == (0, True)
    assert [sorted(read(tmp_path, f"SELECT * FROM {name}")) for name in tables] == before
    found = json.loads(alone(tmp_path, "status", "--json").stdout)
    assert len(found) == 3 * 5
    assert {(one["model"], one["wanted"], sum(one["outcomes"].values())) for one in found} == {("tutor-a", 2, 2)}


def test_the_file_stands_beside_people_s_answers_and_validates(tmp_path: Path) -> None:
    parley("simulate", "chatbench", "-n", "1", folder=tmp_path)
    alone(tmp_path, "run", "--repeats", "1", "--max-problems", "2")
    out = tmp_path / "out"
    done = parley("export", "chatbench", "--schema", "chatbench", "-o", str(out), folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert parley("import", "chatbench", "--check", str(out), folder=tmp_path).returncode == 0
    found = rows(out / "ai_alone_answers.csv")
    assert len(found) == 2 * 5 * 2
    assert {row["question_id"] for row in found} <= {row["question_id"] for row in rows(out / "questions.csv")}
    answers = rows(out / "full_study" / "user_answers.csv")
    assert answers
    assert {row["model"] for row in answers} <= {row["model"] for row in found} == {"tutor-a", "tutor-b"}
    assert all(row[f"{name}_count"] == "1" for row in found for name in ("letter_only_few_shot", "free_text"))
    parley("db", "rebuild", folder=tmp_path)
    assert parley("db", "verify", folder=tmp_path).returncode == 0
    parley("export", "chatbench", "--schema", "chatbench", "-o", str(tmp_path / "again"), folder=tmp_path)
    assert rows(tmp_path / "again" / "ai_alone_answers.csv") == found


STUDY = load_study("chatbench")
DATASET = "elementary_mathematics"
READ = '{"attempted_answer": true, "answer_val": "13", "answer_letter": "%s"}'


def plan(*methods: str, repeats: int = 6, most: int = 1) -> list[AloneCell]:
    return cells(STUDY, AiAloneRequest(("tutor-a",), methods or registry.RELEASED, repeats, (DATASET,), most))


def alone_table(database: Database) -> list[dict[str, Any]]:
    table = released("ai_alone_answers").table()
    with database.connect() as connection:
        return [dict(found) for found in connection.execute(select(table).order_by(table.c["_seq"])).mappings()]


def stored(database: Database) -> list[tuple[Any, ...]]:
    order = answers.c.cell, answers.c.sample
    with database.connect() as connection:
        return [tuple(found) for found in connection.execute(select(answers).order_by(*order))]


def filled(database: Database) -> list[AloneCell]:
    """One question, by each released method: right (B), wrong, unreadable, refused, failed, and not at its end."""
    found = plan()
    zero, few, free = (cell.key for cell in found)
    rows = [row(zero, n, 0, text) for n, text in enumerate(("B", "C", "Well, B"))]
    rows += [
        row(zero, 3, 0, None, "refusal"),
        row(zero, 4, 0, None, "content_filter"),
        row(zero, 5, 0, None, "status_500"),
    ]
    rows += [row(few, n, 0, "B") for n in range(5)]
    rows += [row(free, n, 0, "It is 13.") for n in range(5)] + [row(free, 5, 0, None, "refusal")]
    rows += [row(free, 0, 1, READ % "B"), row(free, 1, 1, READ % "A"), row(free, 2, 1, "B, of course")]
    rows += [row(free, 3, 1, None, "refusal")]
    keep(database, STUDY, found, rows)
    return found


def test_wrong_unreadable_refused_and_failed_are_four_things_and_counted_as_the_release_counts(
    each_database: Database,
) -> None:
    """And the rows are the same after a rebuild, and a change of them is found."""
    database = each_database
    filled(database)
    assert score(database, STUDY.name) == 16
    told = {
        one.name: (dict(one.outcomes), one.counted, one.right, one.wanted)
        for one in method_progress(database, "chatbench")
    }
    assert told == {
        "letter_only_zero_shot": ({"answered": 2, "unparsed": 1, "refused": 2, "failed": 1}, 3, 1, 6),
        "letter_only_few_shot": ({"answered": 5}, 5, 5, 6),
        "free_text": ({"answered": 2, "unparsed": 1, "refused": 1, "failed": 1}, 2, 1, 6),
    }
    (found,) = alone_table(database)
    assert (found["model"], found["dataset"], found["question_id"]) == ("tutor-a", DATASET, f"{DATASET}-redux-0")
    zero = {"count": 3, "acc": 1 / 3, "invalid": 1, "acc_valid": 1 / 2, "none": None}
    few = {"count": 5, "acc": 1.0, "invalid": 0, "acc_valid": 1.0, "none": None}
    free = {"count": 2, "acc": 1 / 2, "invalid": 0, "acc_valid": 1 / 2, "none": None}
    for method, counts in zip(registry.RELEASED, (zero, few, free), strict=True):
        assert {name: found[f"{method}_{name}"] for name in counts} == counts
    before = read_tables(database)
    assert len(before["ai_alone_answers"]) == 1
    assert len(before["questions"]) == 60, "the examples are none of the study's questions"
    rebuild(database)
    assert read_tables(database) == before
    assert list(differences(database)) == []
    table = released("ai_alone_answers").table()
    with writer(database) as connection, connection.begin():
        connection.execute(update(table).values(free_text_acc=0.75))
    (differs,) = differences(database)
    assert "free_text_acc is 0.75" in differs


def test_the_usual_answer_is_the_most_frequent_and_of_equals_the_first(database: Database) -> None:
    found = plan()
    zero, few, free = (cell.key for cell in found)
    rows = [row(zero, n, 0, text) for n, text in enumerate("BCC")] + [
        row(few, n, 0, text) for n, text in enumerate("CB")
    ]
    keep(database, STUDY, found, [*rows, row(free, 0, 0, None, "refusal")])
    score(database, STUDY.name)
    usual = {method: usual_answers(database, STUDY.name, "tutor-a", method) for method in registry.RELEASED}
    problem = f"{DATASET}-redux-0"
    assert list(usual.values()) == [{(DATASET, problem): "C"}, {(DATASET, problem): "C"}, {}]
    assert usual_answers(database, STUDY.name, "tutor-b", registry.RELEASED[0]) == {}


PROBLEM = plan()[0].problem
CALLS = st.lists(
    st.tuples(st.sampled_from(["B", "C", "x", READ % "B", ""]), st.sampled_from([None, None, "refusal", "status_429"])),
    max_size=3,
)


@given(st.sampled_from(registry.names()), CALLS, st.booleans())
def test_a_sample_is_refused_only_by_the_model_itself_and_never_read_past_what_failed(
    name: str, calls: list[tuple[str, str | None]], gap: bool
) -> None:
    method = METHODS.find(name)
    rows = [
        StoredReply("c", 0, step + gap, None if reason else text, reason, None)
        for step, (text, reason) in enumerate(calls[: method.steps])
    ]
    found = outcome(method, PROBLEM, rows)
    lost = next((one for one in rows if one.reason), None)
    if gap and rows:
        assert found is None
    elif lost is not None:
        assert found is not None
        before = method.read(PROBLEM, [one.text or "" for one in rows[: lost.step]])
        refused = lost.reason == "refusal" and lost.step < method.own
        assert found.kind == ("refused" if refused else "failed"), before
        assert found.right is None
    else:
        assert found == method.read(PROBLEM, [text for text, _ in calls[: method.steps]])
