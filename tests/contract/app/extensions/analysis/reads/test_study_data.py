"""What an analysis reads: the released rows, of whom they are, without who was excluded; and when anything is new."""

from __future__ import annotations

import asyncio
import csv
import random
import shutil
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import pandas as pd
import pytest
from sqlalchemy import insert, select, update

from app.clock import VirtualClock
from app.extensions.analysis import public as notebook
from app.extensions.analysis.data_frames import SESSION
from app.extensions.analysis.estimates import Finding
from app.extensions.analysis.public import frame, instrument_frame, results, survey_frame
from app.extensions.analysis.reads.study_data import data_version, flow, origins_of, recorded
from app.extensions.analysis.report import build_report, html
from app.extensions.analysis.report.build import flow_stages
from app.extensions.analysis.report.charts import forest_chart
from app.extensions.analysis.results import figure_names, patterns
from app.session.service import Sessions
from storage import tables
from storage.datasets.imports.importer import import_files
from storage.db.engine import Database, writer
from storage.registers.studies import Studies
from storage.reports.sessions import SessionQuery, count_by_origin, sessions
from storage.schemas.registry import released, schema
from tests.fakes.databases import Mould, export, fill
from tests.fakes.once import file_of

# The studies, and whose analyses each has.
FAMILIES = {
    "chatbench": ("chatbench", "accuracy", "survey", "fidelity"),
    "mathconverse": ("mathconverse", "survey", "fidelity"),
    "demo": ("chatbench", "accuracy", "mathconverse", "survey", "fidelity"),
    "arena": ("arena", "survey", "fidelity"),
    "dices-350": ("dices", "survey"),
}
NAMES = list(FAMILIES)
# The eight questions that CheckMate registered beforehand (questions_to_ask.txt), each with the findings about it.
QUESTIONS = {
    "How do ratings change over the course of a conversation?": (
        "mathconverse.trend", "mathconverse.by_turn.helpfulness", "mathconverse.by_turn.correctness",
    ),
    "How many steps do participants take, and when do they stop?": (
        "mathconverse.turns", "mathconverse.turns_by_model", "mathconverse.stopped_after",
    ),
    "What kinds of queries do people make?": (
        "taxonomy.label", "taxonomy.labels", "taxonomy.by_model", "taxonomy.by_turn",
    ),
    "How do ratings differ with experience?": (
        "mathconverse.by_expertise.helpfulness", "mathconverse.by_expertise.correctness", "taxonomy.by_expertise",
    ),
    "Is GPT-4 consistently preferred?": (
        "mathconverse.preferred", "mathconverse.strict_best", "mathconverse.mean_rank",
        "mathconverse.mean_rank_complete",
    ),
    "Do helpfulness and correctness predict the preference?": ("mathconverse.predicts_preference",),
    "Are helpfulness and correctness correlated?": (
        "mathconverse.pearson", "mathconverse.spearman", "mathconverse.divergence",
    ),
    "Does confidence before the chat change ratings?": (
        "mathconverse.by_confidence.helpfulness", "mathconverse.by_confidence.correctness", "mathconverse.spearman",
        "taxonomy.by_confidence",
    ),
}  # fmt: skip
SEAT = tables.seats.c


@pytest.fixture
def every(filled: Database) -> Database:
    return filled


@pytest.fixture(scope="module")
def own_mould(tmp_path_factory: pytest.TempPathFactory) -> Mould:
    demo = file_of(tmp_path_factory, "own", lambda database: asyncio.run(fill(database, ["demo"], 4, "1")))
    return Mould(tmp_path_factory.mktemp("mould"), demo)


@pytest.fixture
def own(own_mould: Mould) -> Database:
    return own_mould.cast()


def seats(database: Database) -> list[str]:
    with database.connect() as connection:
        return list(connection.execute(select(SEAT.stream).order_by(SEAT.stream)).scalars())


def change(database: Database, stream: str, **values: object) -> None:
    with writer(database) as connection, connection.begin():
        connection.execute(update(tables.seats).where(SEAT.stream == stream).values(**values))


def test_a_frame_holds_what_an_export_holds(every: Database, tmp_path: Path) -> None:
    done = export(every, "chatbench", "chatbench", tmp_path)
    file = next(file for file in done.files if file.table.name == "user_answers")
    written = pd.read_csv(tmp_path / file.path, dtype=str, keep_default_na=False)
    read = frame(every, "chatbench", "user_answers", "bot")
    assert list(read.columns) == [*written.columns, SESSION]
    assert read["acc"].dtype == "Int64"
    order = ["worker_id", "position", "answer_type"]
    plain = read.drop(columns=SESSION).astype(object).map(lambda cell: "" if pd.isna(cell) else str(cell))
    pd.testing.assert_frame_equal(
        plain.sort_values(order).reset_index(drop=True),
        written.sort_values(order).reset_index(drop=True),
        check_dtype=False,
    )


def test_every_released_table_can_be_read_by_its_released_names(every: Database) -> None:
    for table in ("conversations", "questions", "mathconverse_interactions", "dices_350", "dices_990", "arena_votes"):
        columns = [column.name for column in released(table).columns]
        for study in NAMES:
            assert list(frame(every, study, table, "bot").columns) == [*columns, SESSION]
    assert len(frame(every, "chatbench", "questions", "bot"))


def test_surveys_are_of_the_sessions_that_are_analysed(own: Database) -> None:
    out, gone, left, rest = seats(own)
    assert {*survey_frame(own, "demo", "bot")[SESSION]} == {out, gone, left, rest}
    change(own, out, excluded="pasted everything")
    change(own, left, outcome="timed_out")
    asyncio.run(withdraw(own, gone))
    assert {*survey_frame(own, "demo", "bot")[SESSION]} == {left, rest}
    for read in (survey_frame, instrument_frame, partial(frame, table="user_answers")):
        found = {*read(own, "demo", origin="bot", complete=True)[SESSION]}
        assert found <= {rest}
        assert found or read is instrument_frame
    made = {unfinished: results(own, "demo", "bot", unfinished=unfinished) for unfinished in (False, True)}
    assert [one.analysed for one in made.values()] == [1, 2]
    assert "complete=True" in made[False].findings[0].code
    assert "complete=True" not in made[True].findings[0].code
    assert (flow(own, "demo", "bot").arrived, sum(flow(own, "demo", "bot").outcomes.values())) == (4, 4)


async def withdraw(database: Database, stream: str) -> None:
    await Sessions(database, VirtualClock(10**16)).withdraw(stream)


def test_what_counts_is_what_the_filtered_file_of_an_export_holds(own: Database, tmp_path: Path) -> None:
    out, left, *rest = seats(own)
    change(own, out, excluded="pasted everything")
    change(own, left, outcome=None)
    done = export(own, "demo", "chatbench", tmp_path)
    file = next(file for file in done.files if file.table.name == "user_answers_filtered")
    written = pd.read_csv(tmp_path / file.path)
    read = frame(own, "demo", "user_answers_filtered", "bot")
    assert set(read[SESSION]) == set(rest)
    assert sorted(read["worker_id"]) == sorted(written["worker_id"])
    found = results(own, "demo", "bot", whole=True, unfinished=True)
    figures = {one.name: one for finding in found.findings for one in finding.estimates}
    completed = results(own, "demo", "bot", whole=True)
    assert (found.analysed, completed.analysed) == (3, 2)
    counted = [one.n for name, one in figures.items() if name.startswith("chatbench.count.user")]
    assert sum(counted) == len(written) < len(frame(own, "demo", "user_answers", "bot"))
    for stream in rest:
        change(own, stream, outcome=None)
    assert frame(own, "demo", "user_answers_filtered", "bot").empty


# The comma is in a group of raters as DICES names it.
PLAIN = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-()/+,")


def sorted_(finding: Finding) -> Finding:
    """With its estimates in the order of their names, and without code: a report has the study's and the papers' order,
    and says in the code which sessions are meant."""
    return replace(finding, estimates=tuple(sorted(finding.estimates, key=lambda one: one.name)), code="")


def check(database: Database, study: str, origin: str) -> set[str]:
    """The names of the findings of a whole analysis, each with names, code and figure that hold."""
    found = results(database, study, origin, whole=True).findings
    known = {**vars(notebook), "database": database, "study": study, "origin": origin}
    given = cache(lambda code: eval(code, dict(known)))  # many findings are given by one code
    for finding in found:
        assert sorted_(finding) in map(sorted_, given(finding.code)), finding.name
        assert len(forest_chart(finding)["data"]["values"]) == len(finding.estimates)
        for one in finding.estimates:
            assert len(patterns(one.name, figure_names())) == 1, one.name
            assert set(one.name) <= PLAIN or one.name.startswith("survey.share."), one.name  # options are texts
    names = [one.name for finding in found for one in finding.estimates]
    assert len(set(names)) == len(names)
    return {finding.name for finding in found}


def test_a_whole_analysis_can_be_had_again_by_its_code(every: Database, seed: int, soak: bool) -> None:
    for name in NAMES if soak else [random.Random(seed).choice(NAMES)]:
        found = check(every, name, "bot")
        assert {finding.name for finding in results(every, name, "bot").findings} < found
        assert {finding.split(".")[0] for finding in found} == {*FAMILIES[name]}


def test_the_published_rows_are_analysed_after_their_import(database: Database, shared: Path, tmp_path: Path) -> None:
    for name, part in (("mathconverse", "mathconverse_part.csv"), ("taxonomy", "annotated_taxonomy_part.csv")):
        path = tmp_path / schema(name).tables[0].file
        shutil.copy(shared / part, path)
        import_files(database, name, [path], "old")
    found = check(database, "old", "import")
    assert {name for about in QUESTIONS.values() for name in about} <= found


@pytest.mark.parametrize("talks", [False, True], ids=["labels alone", "labels and conversations"])
def test_rows_of_nobody_are_no_participant_anywhere(every: Database, talks: bool, tmp_path: Path) -> None:
    people = 0
    if talks:
        people = export(every, "mathconverse", "mathconverse", tmp_path).sessions
        import_files(every, "mathconverse", [tmp_path / schema("mathconverse").tables[0].file], "old")
    labels = schema("taxonomy").tables[0]
    path = tmp_path / labels.file
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([labels.header, ["0"] * len(labels.header)])
    import_files(every, "taxonomy", [path], "old")
    assert len(frame(every, "old", labels.name, "import")) == 1
    report = build_report(every, "old", "import", 0)
    assert (report.flow.arrived, report.results.analysed) == (people, people)
    assert count_by_origin(every, "old").get("import", 0) == people
    assert sessions(every, "old", SessionQuery(), 0).matching == people
    told = html(report)
    assert f"<strong>{people}</strong> in the release" in told
    assert ("belong to no participant" in told) == (not people)


def test_the_flow_adds_up(own: Database) -> None:
    one, other, *_ = seats(own)
    change(own, one, excluded="pasted everything")
    change(own, other, outcome=None)
    found = flow(own, "demo", "bot")
    assert (found.arrived, dict(found.outcomes), dict(found.excluded)) == (
        4,
        {"": 1, "complete": 3},
        {"pasted everything": 1},
    )
    assert set(found.factors) == {"condition", "model"}
    for values in found.factors.values():
        assert sum(came for came, _ in values.values()) == 4
        assert sum(done for _, done in values.values()) == 2
    started, completed, analysed = flow_stages(build_report(own, "demo", "bot", 0))
    assert analysed.out is not None
    assert completed.number == sum(arm.complete for arm in started.arms) + analysed.out.number
    assert len(Studies(own).with_sessions("demo", "bot")) == 1
    assert flow(own, "demo", "person").arrived == 0


def test_whatever_happens_makes_another_mark(own: Database) -> None:
    one, another, *_ = seats(own)
    marks = [data_version(own, "demo", "bot")]
    for values in ({"last_us": 9 * 10**15}, {"excluded": "too fast"}, {"excluded": "twice"}, {"outcome": None}):
        change(own, one, **values)
        marks.append(data_version(own, "demo", "bot"))
    change(own, one, excluded=None)
    change(own, another, excluded="twice")  # in place of the other
    marks.append(data_version(own, "demo", "bot"))
    change(own, another, last_us=8 * 10**15)  # by a clock that is behind
    marks.append(data_version(own, "demo", "bot"))
    with writer(own) as connection, connection.begin():
        row = dict(connection.execute(select(tables.seats).where(SEAT.stream == one)).one()._mapping)
        connection.execute(insert(tables.seats), [row | {"stream": "new"}])
    marks.append(data_version(own, "demo", "bot"))
    assert len(set(marks)) == len(marks)
    assert data_version(own, "demo", "bot") == marks[-1]
    assert origins_of(own, "demo") == ("bot",)


def test_it_reads_from_every_kind_of_database(each_database: Database) -> None:
    database = each_database
    asyncio.run(fill(database, ["demo"], 2, "1"))
    one, other = seats(database)
    change(database, one, excluded="pasted everything")
    assert set(frame(database, "demo", "mathconverse_interactions", "bot")[SESSION]) == {other}
    assert results(database, "demo", "bot").analysed == 1
    assert flow(database, "demo", "bot").excluded == {"pasted everything": 1}
    assert data_version(database, "demo", "bot")[0] == 2
    assert (recorded(database, "demo"), origins_of(database, "demo")) == (("chatbench", "mathconverse"), ("bot",))
