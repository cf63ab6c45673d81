"""Bad files: each is told with its row, its column, its value and what was allowed, and nothing of it is imported."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from storage.datasets.imports import records
from storage.datasets.imports.importer import deviations, import_files
from storage.datasets.imports.records import CellDeviation
from storage.db.engine import Database
from storage.errors import BadFile
from storage.log.projections import differences
from storage.schemas.registry import schemas
from tests.fakes.databases import export, read_tables

TURNS = repr(["User: Hm?", 'User: "So"'])
MATHS = {
    "": "0",
    "model": "chatgpt",
    "human_interactions": TURNS,
    "model_responses": TURNS,
    "time_taken": "12.5",
    "helpfulness_ratings": "[6, 0]",
    "correctness_ratings": "[5, 0]",
    "solo_solve": "3",
    "problem_name": "a, b.html",
    "final_prefs": "{'instructgpt': 3, 'chatgpt': 2, 'chatgpt4': 1}",
    "interaction_set_idx": "0",
    "uid": "6a1c4f3e-6f0e-4b7e-9a55-1f0a6d2c9b11",
    "mth_bkgrd": "PhD in mathematics",
    "ai_play_bkgrd": "Never",
    "selected_topic": "Algebra",
    "seen_problem_sets": "[17]",
}
ANSWER = {
    "worker_id": "a1B2c3D4e5",
    "model": "gpt-4o",
    "condition": "answer-first",
    "subject": "math",
    "batch": "3",
    "phase": "2",
    "position": "4",
    "answer_type": "user-AI",
    "dataset": "moral_scenarios",
    "question_id": "moral_scenarios-redux-7",
    "confidence": "very-confident",
    "selected_answer": "A",
    "acc": "1",
}
NEXT = {"question_id": "moral_scenarios-redux-8"}
TALK: dict[str, Any] = ANSWER | {"batch": 3, "phase": 2, "position": 4, "acc": 1}
TALK |= {"chat_history": [{"role": "You", "content": "Hé?"}], "user_effort": "tried"}
TALK |= {"attempted_answer": True, "answer_val": "4", "answer_letter": "B"}

ALONE: dict[str, str] = {"model": "gpt-4o", "dataset": "moral_scenarios", "question_id": "moral_scenarios-redux-7"}
for method in ("letter_only_zero_shot", "letter_only_few_shot", "free_text"):
    ALONE |= {f"{method}_count": "50", f"{method}_acc": "0.5", f"{method}_invalid": "2", f"{method}_acc_valid": "0.52"}

MATHS_CSV, ANSWERS_CSV, TALKS_JSON = "mathconverse_parsed_interactions.csv", "user_answers.csv", "conversations.json"


def table(*rows: Mapping[str, str], header: list[str] | None = None, delimiter: str = ",") -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n", delimiter=delimiter)
    writer.writerows([header or list(rows[0]), *(row.values() for row in rows)])
    return out.getvalue()


def maths(**changed: str) -> bytes:
    return table(MATHS, MATHS | {"": "1"} | changed).encode()


def answers(**changed: str) -> bytes:
    return table(ANSWER, ANSWER | NEXT | {"position": "5"} | changed).encode()


def talks(**changed: Any) -> bytes:
    return json.dumps([TALK, TALK | NEXT | {"position": 5} | changed]).encode()


class Bad(NamedTuple):
    """A file that is not right, and what its error must name."""

    schema: str
    file: str
    content: bytes
    said: tuple[str, ...]


def bad_maths(content: bytes, *said: str) -> Bad:
    return Bad("mathconverse", MATHS_CSV, content, said)


def bad_answers(content: bytes, *said: str) -> Bad:
    return Bad("chatbench", ANSWERS_CSV, content, said)


def bad_talks(content: bytes, *said: str) -> Bad:
    return Bad("chatbench", TALKS_JSON, content, said)


def bad_alone(*said: str, **changed: str) -> Bad:
    content = table(ALONE, ALONE | {"model": "llama-3.1-8b"} | changed).encode()
    return Bad("chatbench", "ai_alone_answers.csv", content, (SECOND, *said))


def without(row: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key != name}


SECOND = "row 2 (line 3)"
GOOD = maths()
BAD = {
    "cut within quotes": bad_maths(GOOD[: GOOD.rindex(b'"') - 5], SECOND, "'final_prefs'", "ends within quotes"),
    "cut within the last cell": bad_maths(GOOD[:-2], SECOND, "'seen_problem_sets'", "'[17'", "a list of the numbers"),
    "cut before a last cell that may be blank": bad_answers(answers()[:-2], SECOND, "'acc'", "perhaps cut off"),
    "JSON cut": bad_talks(talks()[:-20], "row 2 (line 1)", "ends within a record", "up to `]`"),
    "JSON that goes on": bad_talks(talks() + b"[1]", "row 2", "continues after its list", "'[1]'"),
    "semicolons": bad_answers(table(ANSWER, delimiter=";").encode(), "header (line 1)", "';'", "by a comma"),
    "Latin-1": bad_maths(
        table(MATHS, MATHS | {"problem_name": "Gödel"}).encode("latin-1"),
        *(SECOND, "'problem_name'", "the byte 0xf6", "UTF-8"),
    ),
    "UTF-16": bad_maths(GOOD.decode().encode("utf-16"), "header (line 1)", "byte order mark of UTF-16", "UTF-8"),
    "half a surrogate pair in JSON": bad_talks(
        talks(model="\ud83d"), "row 2", "'model'", r"'\ud83d'", "surrogate pairs"
    ),
    "NUL in JSON": bad_talks(
        talks(chat_history=[{"role": "You", "content": "a\0"}]), "row 2", "'chat_history'", "without NUL"
    ),
    "NUL": bad_answers(answers(model="gpt\0"), SECOND, "'model'", r"'gpt\x00'", "without NUL"),
    "a missing column": bad_answers(table(without(ANSWER, "batch")).encode(), "header", "'batch'", "missing", "all 13"),
    "a surplus column": bad_answers(table(ANSWER | {"age": "7"}).encode(), "header", "'age'", "no column", "its 13"),
    "a row too long": bad_answers(answers() + b"a,b\n" + b"," * 13 + b"\n", "row 3", "2 cells", "row 4", "14 cells"),
    "a rating of 7": bad_maths(
        maths(helpfulness_ratings="[7, 0]"), SECOND, "'helpfulness_ratings'", "'[7, 0]'", "ratings from 0 to 6"
    ),
    "an unbalanced list": bad_maths(
        maths(human_interactions="['User: a'"), SECOND, "'human_interactions'", '''"['User: a'"''', "a list of texts"
    ),
    "a list that is deep": bad_maths(maths(seen_problem_sets="[" * 5_000), "'seen_problem_sets'", "(5,002 characters)"),
    "a number too large": bad_answers(answers(position="9" * 20), SECOND, "'position'", "9" * 20, "at most 63 bits"),
    "no number": bad_talks(talks(acc=float("inf")), "row 2 (line 1)", "Infinity is not JSON"),
    "a time that is not a number": bad_maths(
        maths(time_taken="nan"), SECOND, "'time_taken'", "'nan'", "a number from 0"
    ),
    "nothing where something must be": bad_answers(answers(question_id=""), SECOND, "'question_id'", "''", "a text"),
    "a file with two of the columns": Bad(
        "dices-350",
        "rows.csv",
        table(dict.fromkeys(("id", "rater_id", *(f"q{n}" for n in range(123))), "0")).encode(),
        ("1 deviation", "header (line 1)", "2 of the 41 columns of", "and 123 others: probably another file"),
    ),
    "an empty file": bad_maths(b"", "header (line 1)", "an empty file", "a header"),
    "JSON that is an object": bad_talks(json.dumps(TALK).encode(), "does not start with a list", "a list of objects"),
    "a missing key": bad_talks(
        json.dumps([TALK, without(TALK, "user_effort")]).encode(),
        "row 2 (line 1)",
        "'user_effort'",
        "missing",
        "the columns of the first record",
    ),
    "a share in place of a count": bad_alone(
        "'free_text_invalid'", "'0.25'", "a whole number from 0", free_text_invalid="0.25"
    ),
    "a quote within a cell": bad_answers(answers() + b'x"y,"z"w\n', "row 3 (line 4)", "'model'", "doubled"),
}


def everything(database: Database) -> Any:
    with database.connect() as connection:
        names = connection.execute(text("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")).scalars()
        return read_tables(database), {
            name: sorted(map(repr, connection.execute(text(f'SELECT * FROM "{name}"')))) for name in names.all()
        }


def refused(database: Database, schema: str, paths: list[Path], said: tuple[str, ...]) -> str:
    before = everything(database)
    with pytest.raises(BadFile) as caught:
        import_files(database, schema, paths, "s")
    for words in said:
        assert words in str(caught.value)
    assert everything(database) == before
    return str(caught.value)


def listed(schema: str, path: Path) -> list[str]:
    return [str(item) for item in deviations(schema, [path]) if isinstance(item, CellDeviation)]


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_a_bad_file_is_told_and_nothing_of_it_is_imported(bad: Bad, database: Database, tmp_path: Path) -> None:
    path = tmp_path / bad.file
    path.write_bytes(bad.content)
    message = refused(database, bad.schema, [path], bad.said)
    found = listed(bad.schema, path)
    assert found
    for line in found:
        assert line in message
        assert line.startswith(bad.file)
        assert "; allowed: " in line


@pytest.mark.parametrize(
    "bad",
    [
        bad_answers(f"{table(ANSWER)}a1,{'x' * 1_200_000}".encode(), "row 2 (line 3)", "a line of more than 65,536"),
        bad_talks(talks(model="x" * 1_200_000), "row 2 (line 1)", "a record is longer than 65,536 characters"),
    ],
    ids=["csv", "json"],
)
def test_a_line_beyond_all_measure_is_told(
    bad: Bad, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "MOST", 1 << 16)
    path = tmp_path / bad.file
    path.write_bytes(bad.content)
    assert len(refused(database, bad.schema, [path], bad.said)) < 1_000
    assert len(listed(bad.schema, path)) == 1


ROTTEN = (
    *(b"\0", b"\xff", b"\xc3", b"\r", b"\xed\xa0\xbd", b"\x1b", b'"', b"\\ud800", b"\\u0000", b"\xef\xbb\xbf"),
    b"\n",
)
NUMBERS = count()
FILES = {
    ANSWERS_CSV: ("chatbench", answers()),
    TALKS_JSON: ("chatbench", talks()),
    MATHS_CSV: ("mathconverse", maths()),
}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(
    name=st.sampled_from(sorted(FILES)),
    place=st.floats(0, 1, exclude_max=True),
    more=st.sampled_from(ROTTEN) | st.binary(max_size=4),
    whole=st.none() | st.binary(max_size=200) | st.sampled_from(["utf-16", "utf-16-le", "utf-32", "utf-8-sig"]),
)
def test_any_bytes_are_imported_whole_or_told_and_nothing_of_them_is_imported(
    name: str, place: float, more: bytes, whole: bytes | str | None, database: Database, tmp_path: Path
) -> None:
    schema, good = FILES[name]
    at = int(place * len(good))
    content = good[:at] + more + good[at:] if whole is None else whole
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else good.decode().encode(content))
    before = everything(database)
    refused = None
    try:
        import_files(database, schema, [path], f"study-{next(NUMBERS)}")
    except BadFile as error:
        refused = error
    after = everything(database)
    assert (after == before) == bool(refused), refused
    assert "\\x00" not in repr(after[0]).replace("\\\\", "")


def test_of_many_faults_the_first_are_told_and_validate_lists_them_all(database: Database, tmp_path: Path) -> None:
    path = tmp_path / ANSWERS_CSV
    path.write_text(table(*(ANSWER | {"position": str(n), "acc": "7"} for n in range(5_000))))
    told = refused(
        database,
        "chatbench",
        [path],
        ("at least ", "deviations from chatbench", "`parley import chatbench --check` lists"),
    )
    assert told.count("'acc'") == 20
    assert len(listed("chatbench", path)) == 5_000


def test_what_contradicts_an_earlier_import_is_told(database: Database, tmp_path: Path) -> None:
    path = tmp_path / MATHS_CSV
    path.write_bytes(maths())
    import_files(database, "mathconverse", [path], "s")
    path.write_bytes(maths(solo_solve="6"))
    assert listed("mathconverse", path) == []
    refused(database, "mathconverse", [path], ("row 2", "'solo_solve'", "'6'", "'3', as it was imported before"))
    assert import_files(database, "mathconverse", [path], "another")[0].new == 2


@pytest.mark.nightly
@pytest.mark.parametrize("schema", schemas())
def test_files_without_rows_are_read_and_come_back(schema: str, database: Database, tmp_path: Path) -> None:
    release = tmp_path / "release"
    for table in schemas()[schema].tables:
        path = release / table.path(table.parts[0])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("[]" if path.suffix == ".json" else ",".join(map(quoted, table.header)) + "\n")
    assert [item for item in deviations(schema, [release]) if isinstance(item, CellDeviation)] == []
    for _ in range(2):
        assert {(file.rows, file.new) for file in import_files(database, schema, [release], "s")} == {(0, 0)}
    for file in export(database, "s", schema, tmp_path / "out").files:
        read, written = (release / file.path).read_text(), (tmp_path / "out" / file.path).read_text()
        assert written == read if file.path.endswith(".csv") else json.loads(written) == []
    assert list(differences(database)) == []


def quoted(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"' if {",", '"'} & set(name) else name
