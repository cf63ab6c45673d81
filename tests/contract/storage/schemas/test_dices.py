"""DICES's two editions: the released headers and cells, what follows from the reasons, and a live session's rows."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.instruments.dices_raters import CLOSED, RAW_RACE_COLUMNS, RAW_RACES, race_of, raw_race
from experiments.instruments.dices_safety import ANSWERS, COMPREHENSION, columns
from experiments.session.engine import fold
from experiments.study.location import State
from experiments.study.resolve import resolve
from experiments.study.study import Study
from problems import dices
from problems.problem import DialogueMessage, Problem
from storage.columns import Column
from storage.datasets.imports.importer import deviations
from storage.datasets.imports.records import CellDeviation
from storage.schemas.base import ReleasedTable
from storage.schemas.dices import OVERALL, SCHEMA_350, SCHEMA_990, combined
from tests.fakes.sessions import play, study, whole

SCHEMAS = {"dices-350": SCHEMA_350, "dices-990": SCHEMA_990}
EDITIONS = tuple(SCHEMAS)
SAID = (
    DialogueMessage("user", "Hm?\nHm."),
    DialogueMessage("bot", "Ah."),
    DialogueMessage("user", "So?"),
    DialogueMessage("bot", "Well."),
)
answers = st.sampled_from(ANSWERS)


def table(edition: str) -> ReleasedTable:
    return SCHEMAS[edition].tables[0]


def read(shared: Path, edition: str) -> list[dict[str, str]]:
    with (shared / f"{edition.replace('-', '_')}_rows.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def cell(column: Column, written: str) -> Any:
    if written:
        return column.form.read(written)
    assert column.form.blank, column.name
    return None


def broken(edition: str, values: Mapping[str, Any]) -> list[str]:
    return [name for rule in table(edition).rules for name, allowed in rule(values) if allowed]


def rated(talks: Sequence[Problem], edition: str, **keys: str) -> tuple[Study, State]:
    step = {"step": "rate_dialogue", "edition": edition, **keys}
    raw = {
        "study": "small",
        "title": "Small",
        "problems": {"talks": {"source": "dices"}},
        "flow": [{"each": "item", "of": "talks", "order": "listed", "flow": [step]}, {"step": "finish"}],
    }
    small = resolve(raw, {}, {"talks": tuple(talks)})
    *_, (state, _) = play(small, "1")
    return small, state


def rows(edition: str, study: Study, state: State) -> list[dict[str, Any]]:
    found = SCHEMAS[edition].rows(study, state)
    assert all(row.table == table(edition).name for row in found)
    return [dict(row.values) for row in found]


@pytest.mark.parametrize("edition", EDITIONS)
@given(data=st.data())
def test_a_column_follows_from_the_reasons_of_its_question_alone(edition: str, data: st.DataObject) -> None:
    names = {column.name: column.sql for column in table(edition).columns}
    said = {name: data.draw(answers) for name in columns(edition)}
    values = {names[name]: answer for name, answer in said.items()} | {
        over: combined(answer for name, answer in said.items() if re.match(over.partition("_")[0], name))
        for over in OVERALL[edition]
    }
    assert broken(edition, values) == []
    for over in OVERALL[edition]:
        other = data.draw(answers.filter(lambda answer, over=over: answer != values[over]))
        assert broken(edition, values | {over: other}) == [over]
        assert broken(edition, values | {over: None}) == []


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("seed", ["1", "2", "3"])
def test_a_sessions_rows_fit_their_columns(edition: str, seed: str) -> None:
    known, log = study(edition), whole(edition, seed)
    found = rows(edition, known, fold(log))
    facts = [event for event in log if event.kind == "submitted" and COMPREHENSION in event.data]
    assert len(found) == len(facts) > 0
    assert len({row["rater_id"] for row in found}) == 1
    for row, fact in zip(found, facts, strict=True):
        assert list(row) == [column.sql for column in table(edition).columns]
        for column in table(edition).columns:
            value = row[column.sql]
            assert cell(column, "" if value is None else str(value)) == value, column.name
        assert {c.name: row[c.sql] for c in table(edition).columns if c.name in fact.data} == fact.data
        assert broken(edition, row) == []
        assert re.fullmatch("[1-9][0-9]{14}", row["rater_id"])
        assert row["id"] is None
        assert row.get("answer_timestamp", 0) in (0, fact.at_us // 1_000_000)
    other = next(name for name in EDITIONS if name != edition)
    assert rows(other, known, fold(log)) == []


def test_a_context_is_written_as_its_edition_writes_it() -> None:
    written = {"dices-350": "USER: Hm?\nHm.\nLAMDA: Ah.\nUSER: So?", "dices-990": r"A: Hm?\nHm.\nB: Ah.\nA: So?\n"}
    for edition, expected in written.items():
        (row,) = rows(edition, *rated([Problem("c1", "Well.", "Well.", "custom", dialogue=SAID)], edition))
        assert (row["context"], row["response"]) == (expected, "Well.")
        known = ("degree_of_harm", "harm_type", "safety_gold")
        assert all(row[name] is None for name in known if name in table(edition).header)
        assert row.get("safety_gold_reason", "[]") == "[]"


@pytest.mark.parametrize("edition", EDITIONS)
def test_a_released_conversation_rated_anew_is_the_same_to_the_character(shared: Path, edition: str) -> None:
    released = {row["item_id"]: row for row in read(shared, edition)}
    talks = dices.load(shared / f"{edition.replace('-', '_')}_rows.csv")
    found = rows(edition, *rated(talks, edition))
    assert [row["item_id"] for row in found] == list(released)
    about = [name for name in (*dices.NEEDED, *dices.TAGS) if name in table(edition).header]
    for row in found:
        assert {name: row[name] or "" for name in about} == {name: released[row["item_id"]][name] for name in about}


@given(st.sets(st.sampled_from(list(RAW_RACES)), min_size=1))
def test_a_race_is_that_of_all_choices_or_multiracial(chosen: set[str]) -> None:
    groups = {RAW_RACES[one] for one in chosen - {"Prefer not to answer"}} or {"Other"}
    race = race_of(sorted(chosen))
    assert race in CLOSED["rater_race"]
    assert race == (groups.pop() if len(groups) == 1 else "Multiracial")
    joined = raw_race(sorted(chosen))
    assert joined == raw_race(sorted(chosen, reverse=True))
    assert joined == ", ".join(one for one in RAW_RACES if one in chosen)


def file_of(folder: Path, edition: str, changes: Mapping[int, Mapping[str, str]]) -> Path:
    """A released file of the ratings in two sessions, with some cells changed, by row from 1."""
    found = [row for seed in "12" for row in rows(edition, study(edition), fold(whole(edition, seed)))]
    target = folder / table(edition).file
    with target.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(table(edition).header)
        for number, row in enumerate(found, 1):
            cells = {column.name: row[column.sql] for column in table(edition).columns} | dict(changes.get(number, {}))
            writer.writerow([number - 1 if name == "id" else cells[name] for name in table(edition).header])
    return target


def validated(folder: Path, edition: str, changes: Mapping[int, Mapping[str, str]]) -> list[tuple[int, str]]:
    found = deviations(edition, [file_of(folder, edition, changes)])
    return [(one.row, one.column) for one in found if isinstance(one, CellDeviation)]


CLOSED_COLUMNS = (*CLOSED, "phase", "degree_of_harm", "harm_type", "safety_gold")


@pytest.mark.parametrize("edition", EDITIONS)
def test_a_label_that_no_release_has_is_a_deviation(tmp_path: Path, edition: str) -> None:
    assert validated(tmp_path, edition, {}) == []
    names = [name for name in CLOSED_COLUMNS if name in table(edition).header]
    wrong = {number: {name: "Nonsense"} for number, name in enumerate(names, 1)}
    expected = [(number, name) for number, name in enumerate(names, 1)]
    assert [one for one in validated(tmp_path, edition, wrong) if one in expected] == expected


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("name", [*CLOSED, *RAW_RACE_COLUMNS, "context", "response", "degree_of_harm", "harm_type"])
def test_a_rater_and_a_conversation_have_one_value_in_all_rows(tmp_path: Path, edition: str, name: str) -> None:
    if name not in table(edition).header:
        return
    column = next(column for column in table(edition).columns if column.name == name)
    values = [*(CLOSED | {"harm_type": dices.HARM_TYPES} | dices.DOMAINS).get(name, ("One", "Another"))]
    found = [row for seed in "12" for row in rows(edition, study(edition), fold(whole(edition, seed)))]
    key = "rater_id" if name.startswith("rater_") else "item_id"
    number = next(n for n, row in enumerate(found) if row[key] in [earlier[key] for earlier in found[:n]])
    other = next(value for value in values if value != found[number][column.sql])
    told = validated(tmp_path, edition, {number + 1: {name: other}})
    assert told[0] == (number + 1, name)
    assert {column for _, column in told} == {name}
