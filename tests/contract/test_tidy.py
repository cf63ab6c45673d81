"""The tidy export: everything that was asked, for every study, with the keys of the released files."""

from __future__ import annotations

import asyncio
import csv
import json
import os
import re
import shlex
import shutil
import subprocess
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from sqlalchemy import event as sql_event
from sqlalchemy import select, update

from app.analysis import load
from app.clock import VirtualClock
from app.config.settings import Settings
from app.session.service import Sessions, SessionService
from app.studies.loader import read_yaml
from experiments.session.conversation import messages_of
from experiments.study.sections.dataset_info import DatasetInfo
from storage import tables
from storage.datasets.describe.tidy_documents import dataset_description
from storage.datasets.exports import exporter, session_rows
from storage.datasets.exports.plan import ExportRequest, plan_export
from storage.datasets.exports.preview import export_options, preview
from storage.datasets.exports.session_filter import SessionFilter
from storage.datasets.manifest import ExportManifest
from storage.datasets.tidy.columns import NAME, file_of, session_id, wide_columns
from storage.db.engine import Database
from storage.errors import StorageError
from storage.log.event_log import facts
from storage.registers.participants import ParticipantId, Participants
from storage.reports.sessions import find_sessions
from storage.schemas.registry import schemas
from tests.fakes.databases import SESSIONS, busy, export, fill
from tests.fakes.served import SECRET
from tests.fakes.sessions import NAMES, study
from tests.fakes.studies import short, write

ROOT = Path(__file__).parents[2]
TABLES = (
    "sessions", "answers", "answers_wide", "scores", "messages", "ratings", "events", "timings", "model_calls",
    "integrity",
)  # fmt: skip
STUDIES = tuple(study(name).name for name in NAMES)
BESIDE = {"of", "order", "passed", "tries", "check", "turn", "onward"}
"""Values in events that answer no question."""
Rows = list[dict[str, str]]


def read(folder: Path, table: str) -> Rows:
    with (folder / file_of(table)).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def released(folder: Path, file: str) -> Rows:
    with (folder / file).open(encoding="utf-8", newline="") as text:
        return list(csv.DictReader(text))


@pytest.fixture(scope="module")
def folders(filled: Database, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """A tidy export of each study there is."""
    folder = tmp_path_factory.mktemp("tidy")
    for name in STUDIES:
        export(filled, name, NAME, folder / name)
    return {name: folder / name for name in STUDIES}


@pytest.fixture(scope="module")
def manifests(filled: Database, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, ExportManifest]:
    folder = tmp_path_factory.mktemp("again")
    return {name: export(filled, name, NAME, folder / name) for name in STUDIES}


def check_cells(done: ExportManifest) -> None:
    """Each cell is one that its column allows."""
    for file in done.files:
        rows = read(done.folder, file.table.name)
        assert len(rows) == file.rows
        assert len({column.name for column in file.columns}) == len(file.columns)
        for row in rows:
            for column in file.columns:
                cell = row[column.name]
                assert column.form.read(cell) is not None if cell else column.form.blank, (file.path, column.name, cell)


def sessions_of(database: Database, name: str) -> Mapping[str, tuple[Any, ...]]:
    """The events of each session of a study, by its id in the tidy export."""
    t = tables.sessions.c
    with database.connect() as connection:
        streams = connection.execute(select(t.stream).where(t.study == name).order_by(t.ordinal)).scalars().all()
        found = [facts(connection, stream) for stream in streams]
    return {session_id(events[0].data["seed"]): events for events in found}


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_has_every_table_and_each_cell_is_as_its_column_says(
    name: str, manifests: Mapping[str, ExportManifest]
) -> None:
    done = manifests[name]
    assert tuple(file.table.name for file in done.files) == TABLES
    check_cells(done)
    whole = {file.table.name: file.rows for file in done.files}
    assert whole["sessions"] == whole["answers_wide"] == done.sessions == SESSIONS


@pytest.mark.parametrize("name", STUDIES)
def test_everything_that_was_asked_and_said_is_there_once(
    name: str, filled: Database, folders: Mapping[str, Path]
) -> None:
    given = Counter(
        (row["session"], row["seq"]) for table in ("answers", "ratings") for row in read(folders[name], table)
    )
    said = Counter((row["session"], row["role"]) for row in read(folders[name], "messages"))
    happened = Counter(row["session"] for row in read(folders[name], "events"))
    for session, events in sessions_of(filled, name).items():
        for event in events:
            told: Mapping[str, Any] = {
                "submitted": event.data,
                "missed": event.data.get("values", {}),
                "rated": event.data,
                "voted": event.data,
            }.get(event.kind, {})
            assert given[session, str(event.seq)] == len(told.keys() - BESIDE), (event.path, event.kind, event.data)
        spoken = Counter({"said": "user", "replied": "assistant"}[event.kind] for event in messages_of(events))
        assert {role: said[session, role] for role in spoken} == spoken
        assert happened[session] == sum(event.by != "researcher" for event in events)


def test_schemas_with_a_column_for_people_say_how_its_ids_are_made() -> None:
    named = {one.name for one in schemas().values() if any(table.person for table in one.tables)}
    made = {one.name for one in schemas().values() if one.participant is not None}
    assert named - made == {"arena-2025"}, "which has ids of conversations only"
    assert len({one.participant("a") for one in schemas().values() if one.participant}) == 4


def test_chatbench_answers_join_with_the_released_ones(
    filled: Database, folders: Mapping[str, Path], tmp_path: Path
) -> None:
    export(filled, "chatbench", "chatbench", tmp_path)
    ours = {
        (row["participant"], row["position"], row["step"]): (row["value"], row["correct"], row["model"], row["problem"])
        for row in read(folders["chatbench"], "answers")
        if row["question"] == "answer"
    }
    kinds = {"user-alone": "answer", "user-AI": "chat"}
    theirs = {
        (row["worker_id"], row["position"], kinds[row["answer_type"]]): (
            row["selected_answer"],
            row["acc"],
            row["model"],
            row["question_id"],
        )
        for row in released(tmp_path, "full_study/user_answers.csv")
    }
    assert theirs
    assert {key: ours[key] for key in theirs} == theirs
    assert {row["participant"] for row in read(folders["chatbench"], "sessions")} == {key[0] for key in theirs}
    talks = json.loads((tmp_path / "full_study/conversations.json").read_bytes())
    told = [m["content"] for talk in talks for m in talk["chat_history"]]
    texts = Counter(row["text"] for row in read(folders["chatbench"], "messages"))
    assert not Counter(told) - texts


def test_mathconverse_ratings_join_with_the_released_ones(
    filled: Database, folders: Mapping[str, Path], tmp_path: Path
) -> None:
    export(filled, "mathconverse", "mathconverse", tmp_path)
    ratings = read(folders["mathconverse"], "ratings")
    for row in released(tmp_path, "mathconverse_parsed_interactions.csv"):
        mine = [one for one in ratings if (one["participant"], one["problem"]) == (row["uid"], row["problem_name"])]
        for scale in ("helpfulness", "correctness"):
            found = [one for one in mine if one["rating"] == scale]
            assert str([int(one["number"]) for one in found]) == row[f"{scale}_ratings"]
            assert [one["turn"] for one in found] == [str(n + 1) for n in range(len(found))]
            assert {one["model"] for one in found} <= {row["model"]}
        ranks = {
            one["model"]: int(one["number"])
            for one in ratings
            if one["rating"] == "rank" and one["participant"] == row["uid"]
        }
        assert row["final_prefs"] == "MISSING" or set(ranks) == set(eval(row["final_prefs"]))


def test_dices_ratings_join_with_the_released_ones(
    filled: Database, folders: Mapping[str, Path], tmp_path: Path
) -> None:
    export(filled, "dices-350", "dices-350", tmp_path)
    ours = {
        (row["participant"], row["problem"], row["rating"]): row["value"]
        for row in read(folders["dices-350"], "ratings")
    }
    rows = released(tmp_path, "diverse_safety_adversarial_dialog_350.csv")
    assert rows
    for row in rows:
        asked = {name for _, _, name in ours}
        assert len(asked) == 20
        assert {name: ours[row["rater_id"], row["item_id"], name] for name in asked} == {
            name: row[name] for name in asked
        }


def test_arena_votes_join_with_the_released_ones(filled: Database, folders: Mapping[str, Path], tmp_path: Path) -> None:
    export(filled, "arena", "arena", tmp_path)
    votes = released(tmp_path, "arena_votes.csv")
    ours = [row for row in read(folders["arena"], "ratings") if row["rating"] == "winner"]
    won = [(row["participant"], row["turn"], row["slot"], row["model"]) for row in ours]
    assert votes
    assert won == [
        (row["participant"], row["turn"], row["winner"].partition("_")[2], row[row["winner"]])
        if row["winner"].startswith("model_")
        else (row["participant"], row["turn"], "", "")
        for row in votes
    ]


@pytest.mark.parametrize("name", STUDIES)
def test_the_same_again_is_the_same_to_the_byte(
    name: str, folders: Mapping[str, Path], manifests: Mapping[str, ExportManifest]
) -> None:
    one, other = folders[name], manifests[name].folder
    names = sorted(path.relative_to(one) for path in one.rglob("*") if path.is_file())
    assert names == sorted(path.relative_to(other) for path in other.rglob("*") if path.is_file())
    assert all((one / path).read_bytes() == (other / path).read_bytes() for path in names)


def test_the_log_is_read_by_pages(
    filled: Database, folders: Mapping[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_rows, "AT_ONCE", 1)
    export(filled, "demo", NAME, tmp_path)
    for table in TABLES:
        assert (tmp_path / file_of(table)).read_bytes() == (folders["demo"] / file_of(table)).read_bytes()


def test_no_page_is_read_before_it_is_needed(filled: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_rows, "AT_ONCE", 1)
    with filled.connect() as connection:
        told: list[str] = []
        sql_event.listen(connection, "before_cursor_execute", lambda c, cursor, statement, *_: told.append(statement))
        chosen = plan_export(connection, ExportRequest("demo", NAME)).named(file_of("events"))
        rows = chosen.stream(connection, texts=False)
        for pages in (1, 2):
            next(rows)
            assert sum("FROM event" in statement for statement in told) == pages


def test_wide_answers_are_the_long_ones(filled: Database, folders: Mapping[str, Path]) -> None:
    for name in NAMES:
        folder = folders[study(name).name]
        long = {
            (r["session"], r["path"], r["question"]): r["value"]
            for r in read(folder, "answers")
            if r["status"] == "submitted"
        }
        wide = {row["session"]: row for row in read(folder, "answers_wide")}
        columns = wide_columns((study(name),))
        assert columns
        for (session, path, question), value in long.items():
            if (column := columns.get((path, question))) is not None:
                assert wide[session][column.name] == value


def test_sessions_under_way_have_the_rows_that_they_reached(database: Database, tmp_path: Path) -> None:
    streams = asyncio.run(busy(database))
    done = export(database, "demo", NAME, tmp_path)
    check_cells(done)
    assert (done.origin, done.sessions, done.withdrawn) == ("person", 3, 1)
    sessions, timings = read(tmp_path, "sessions"), read(tmp_path, "timings")
    assert [row["outcome"] for row in sessions] == ["", "", ""]
    assert {row["hash"] for row in sessions} == {study.hash for study in done.studies}
    assert {row["session"] for row in timings} == {row["session"] for row in sessions}
    (pasted,) = [row for row in timings if (row["pasted"], row["pasted_chars"], row["left"]) == ("2", "6", "1")]
    with database.connect() as connection:
        seed = facts(connection, streams[3])[0].data["seed"]
    assert (pasted["session"], pasted["path"], pasted["step"]) == (session_id(seed), "consent", "consent")
    assert any(not row["seconds"] for row in timings)


# Psych-DS, by its schema (https://github.com/psych-ds/psych-DS, 1.0)


@pytest.mark.parametrize("name", STUDIES)
def test_psych_ds_finds_what_it_requires(name: str, folders: Mapping[str, Path]) -> None:
    folder = folders[name]
    described = json.loads((folder / "dataset_description.json").read_bytes())
    assert described["@context"] == "https://schema.org/"
    assert described["@type"] == "Dataset"
    assert described["name"]
    assert described["description"]
    files = sorted((folder / "data").iterdir())
    wanted = re.compile(r"([a-z]+-[a-zA-Z0-9]+)(_[a-z]+-[a-zA-Z0-9]+)*_data\.csv")
    assert len(files) == len(TABLES)
    assert all(wanted.fullmatch(file.name) for file in files)
    headers = [next(csv.reader(file.read_text(encoding="utf-8").splitlines())) for file in files]
    variables = [one["name"] for one in described["variableMeasured"]]
    assert len(variables) == len(set(variables))
    assert set(variables) == {name for header in headers for name in header}
    assert all(one["@type"] == "PropertyValue" and one["description"] for one in described["variableMeasured"])


def test_publication_metadata_are_in_the_description(manifests: Mapping[str, ExportManifest]) -> None:
    author = {"given_names": "Ada", "family_names": "Lovelace", "orcid": "0000-0002-1825-0097"}
    info = DatasetInfo.model_validate({"title": "Engines", "license": "CC0-1.0", "authors": [author]})
    described = dataset_description(replace(manifests["demo"], dataset=info))
    assert described["name"] == "Engines"
    assert described["license"] == "https://spdx.org/licenses/CC0-1.0"
    (person,) = described["author"]
    assert (person["@type"], person["name"]) == ("Person", "Ada Lovelace")
    assert "Lovelace" in described["citation"]
    assert "## Citing" not in (manifests["demo"].folder / "README.md").read_text(encoding="utf-8")


def validator() -> list[str]:
    """The command of psychds-validator: of PSYCHDS_VALIDATOR, or as `make psychds` installs it."""
    if given := os.environ.get("PSYCHDS_VALIDATOR"):
        return shlex.split(given)
    installed = ROOT / "build/psychds/node_modules/.bin/validate"
    if not installed.exists():
        pytest.skip("psychds-validator is not installed: make psychds")
    return [str(installed)]


@pytest.mark.parametrize("name", STUDIES)
def test_the_validator_of_psych_ds_finds_no_error(name: str, folders: Mapping[str, Path]) -> None:
    done = subprocess.run([*validator(), str(folders[name]), "--json"], capture_output=True, text=True, check=False)
    found = json.loads(done.stdout[done.stdout.index("{") :])
    assert found["valid"], [issue for issue in found["issues"] if issue["severity"] == "error"]


# Whose data


def test_excluded_and_withdrawn_sessions_are_left_out(database: Database, tmp_path: Path) -> None:
    asyncio.run(fill(database, ["demo"], 4, "1"))
    seat, t = tables.seats, tables.sessions.c
    with database.begin() as connection:
        streams = connection.execute(select(t.stream).order_by(t.ordinal)).scalars().all()
        connection.execute(update(seat).where(seat.c.stream == streams[0]).values(excluded="a machine"))
    asyncio.run(_withdraw(database, streams[1]))
    done = export(database, "demo", NAME, tmp_path / "some")
    every = {row["session"] for table in TABLES for row in read(tmp_path / "some", table)}
    assert (done.sessions, len(every), done.withdrawn) == (2, 2, 1)
    request = ExportRequest("demo", NAME, selection=SessionFilter(with_excluded=True))
    exporter.export(database, request, tmp_path / "more")
    assert Counter(row["excluded"] for row in read(tmp_path / "more", "sessions")) == {"0": 2, "1": 1}
    only = ExportRequest(
        "demo", NAME, selection=SessionFilter(where=(("condition", "answer-first"),), with_excluded=True)
    )
    exporter.export(database, only, tmp_path / "one")
    assert {row["condition"] for row in read(tmp_path / "one", "sessions")} == {"answer-first"}


async def _withdraw(database: Database, stream: str) -> None:
    runtime = SessionService(database, Settings(), VirtualClock(10**16))
    await Sessions(database, VirtualClock(10**16), runtime.log).withdraw(stream)
    await runtime.close()


def test_nothing_in_it_identifies_anybody_and_every_id_leads_back(database: Database, tmp_path: Path) -> None:
    """Neither the recruiter's id, nor the seed and stream of the session, nor what a researcher wrote."""
    people = Participants(database, SECRET)
    stream = asyncio.run(_begin_and_note(database, people))
    export(database, "everything", NAME, tmp_path)
    whole = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    for secret in (b"5f3a0c6e-canary", b"a-seed", stream.encode(), b"She told me her name"):
        assert secret not in whole
    (row,) = read(tmp_path, "sessions")
    for called in (row["session"], row["participant"]):
        assert find_sessions(database, people, called) == (stream,)


async def _begin_and_note(database: Database, people: Participants) -> str:
    name = str(ROOT / "tests/core/studies/everything.yaml")
    runtime = SessionService(database, Settings(), VirtualClock(0))
    runtime.studies.register(study(name))
    identity = people.entry(study(name).name, ParticipantId("prolific", "5f3a0c6e-canary"))
    live = await runtime.enrol(study(name), origin="person", seed="a-seed", identity=identity)
    await Sessions(database, VirtualClock(10), runtime.log).remark(live.stream, "noted", "She told me her name", "ada")
    await runtime.close()
    return str(live.stream)


def test_a_study_that_names_no_schema_has_it_and_an_imported_one_has_not(database: Database, tmp_path: Path) -> None:
    raw = read_yaml(short(tmp_path))
    del raw["export_schemas"]
    asyncio.run(fill(database, [str(write(tmp_path, raw))], 1, "1"))
    assert export_options(database, "short").schemas == {"bot": (NAME,)}
    export(database, "short", NAME, tmp_path / "out")
    (row,) = read(tmp_path / "out", "sessions")
    assert find_sessions(database, Participants(database, SECRET), row["participant"])
    assert preview(database, ExportRequest("short", NAME), file_of("answers"), most=3).rows[0][0] == row["participant"]
    with pytest.raises(StorageError, match="no sessions of the study"):
        export(database, "shrot", NAME, tmp_path)


def test_files_of_others_are_not_overwritten(filled: Database, tmp_path: Path) -> None:
    (tmp_path / "load.R").write_text("mine")
    export(filled, "arena", "arena", tmp_path)
    with pytest.raises(StorageError, match=r"load\.R"):
        export(filled, "arena", NAME, tmp_path)
    assert (tmp_path / "load.R").read_text() == "mine"


# Data frames


def test_one_line_gives_the_tables_as_data_frames(filled: Database, folders: Mapping[str, Path]) -> None:
    data = load("demo", database=filled)
    for table in TABLES:
        frame = getattr(data, table)
        rows = pd.read_csv(folders["demo"] / file_of(table), keep_default_na=False, na_values=[""], dtype="str")
        assert [*frame.columns] == [*rows.columns]
        assert len(frame) == len(rows)
        assert frame["session"].tolist() == rows["session"].tolist()
        assert frame.notna().sum().tolist() == rows.notna().sum().tolist()
    answered = data.answers.query("question == 'answer'")
    assert answered.correct.mean() == sum(row["correct"] == "1" for row in read(folders["demo"], "answers")) / len(
        answered
    )
    assert str(data.answers.time.dtype).endswith("UTC]")
    assert data.sessions.outcome.cat.categories[0] == "complete"
    with pytest.raises(StorageError, match="Did you mean 'demo'"):
        load("dmo", database=filled)


def test_loading_makes_no_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARLEY_DATABASE_URL", f"sqlite:///{tmp_path}/none.db")
    with pytest.raises(StorageError, match=r"none\.db"):
        load("demo")
    assert not [*tmp_path.iterdir()]


def test_one_line_reads_the_tables_into_r(folders: Mapping[str, Path]) -> None:
    program = shutil.which("Rscript")
    if program is None:
        pytest.skip("Rscript is not installed")
    for name in STUDIES:
        line = (
            f'tables <- source("{folders[name]}/load.R", chdir = TRUE)$value; '
            'for (name in names(tables)) cat(name, nrow(tables[[name]]), sum(!is.na(tables[[name]])), "\\n"); '
            "cat(class(tables$answers$number), class(tables$sessions$outcome))"
        )
        done = subprocess.run([program, "-e", line], capture_output=True, text=True, check=True)
        *lines, types = done.stdout.splitlines()
        told = {words[0]: (int(words[1]), int(words[2])) for words in map(str.split, lines)}
        assert types == "numeric factor"
        for table in TABLES:
            rows = read(folders[name], table)
            assert told[table] == (len(rows), sum(bool(cell) for row in rows for cell in row.values()))
