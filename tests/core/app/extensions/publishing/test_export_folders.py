"""The gate before a deposit: what it finds in an export's folder, and what resolves a finding."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from hashlib import sha256
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from app.extensions.publishing.export_folders import (
    Decision,
    ExportFolder,
    Record,
    examine,
    open_export,
    read_record,
    record_file,
    write_record,
)
from storage.errors import StorageError
from tests.fakes.repositories.deposited import write_export

MAIL = "anna.m@example.org"
WHEN = "2026-11-26T10:00:00.000+00:00"


def rewrite(folder: Path, path: str, changed: dict[str, Sequence[Any]]) -> None:
    """Give columns of a file other cells, and one row for each of them, as if the export had written them."""
    file = folder / path
    text = file.read_text(encoding="utf-8")
    first = json.loads(text)[0] if file.suffix == ".json" else next(csv.DictReader(StringIO(text)))
    rows = [{**first, **dict(zip(changed, cells, strict=True))} for cells in zip(*changed.values(), strict=True)]
    out = StringIO()
    writer = csv.DictWriter(out, first, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    file.write_text(json.dumps(rows) if file.suffix == ".json" else out.getvalue(), encoding="utf-8")
    sums = folder / "SHA256SUMS"
    lines = [line.split("  ", 1) for line in sums.read_text(encoding="utf-8").splitlines()]
    new = sha256(file.read_bytes()).hexdigest()
    sums.write_text("".join(f"{new if name == path else old}  {name}\n" for old, name in lines), encoding="utf-8")


DICES = "diverse_safety_adversarial_dialog_350.csv"


def raters(folder: Path, people: Sequence[tuple[str, str]]) -> None:
    """Give the export of DICES-350 these raters: gender and race, and all else alike."""
    ids = [str(number) for number, _ in enumerate(people)]
    columns = {"rater_id": ids, "rater_gender": [one for one, _ in people], "rater_race": [two for _, two in people]}
    same = {name: ["x"] * len(people) for name in ("rater_age", "rater_education", "rater_raw_race")}
    rewrite(folder, DICES, columns | same)


@pytest.fixture
def chatbench(tmp_path: Path) -> Path:
    return write_export(tmp_path / "data", "chatbench")


@pytest.fixture
def dices(tmp_path: Path) -> Path:
    return write_export(tmp_path / "data", "dices-350")


def decided(export: ExportFolder, *columns: str, demographics: tuple[str, ...] | None = None) -> list[Decision]:
    return [Decision(data=export.data, by="Ada", at=WHEN, reviewed=columns, demographics=demographics)]


def test_free_text_is_open_until_somebody_has_looked_at_it(chatbench: Path) -> None:
    export = open_export(chatbench)
    assert [(one.kind, one.columns) for one in examine(export).open] == [("free text", ("chat_history",))]
    after = examine(export, decided(export, "chat_history"))
    assert not after.open
    assert after.findings[0].reviews == {"chat_history": "Ada, 2026-11-26"}
    of_other_data = Decision(data="other", by="Ada", at=WHEN, reviewed=("chat_history",))
    assert examine(export, [of_other_data]).open


SAID = f"Mail {MAIL} or +49 30 1234567, again {MAIL}"
TALK = "full_study/conversations.json"


@pytest.mark.parametrize(
    ("schema", "path", "column", "cell"),
    [
        ("chatbench", TALK, "chat_history", [{"role": "user", "content": SAID}]),
        ("mathconverse", "mathconverse_parsed_interactions.csv", "human_interactions", repr([f"User: {SAID}"])),
    ],
)
def test_personal_data_are_counted_by_kind_and_never_repeated(
    tmp_path: Path, schema: str, path: str, column: str, cell: Any
) -> None:
    folder = write_export(tmp_path / "data", schema)
    rewrite(folder, path, {column: [cell, cell]})
    report = examine(open_export(folder))
    (found,) = [one for one in report.findings if one.kind == "personal data"]
    assert (found.columns, found.detail) == ((column,), "4 × email, 2 × phone")
    assert MAIL not in repr(report)


def test_demographics_that_few_share_are_found(dices: Path) -> None:
    raters(dices, [("Woman", "White")] * 6 + [("Man", "White")] * 6 + [("Woman", "Asian")] * 2)
    report = examine(open_export(dices))
    found, together = [one for one in report.findings if one.kind == "small cells"]
    assert (report.k, report.people) == (2, 14)
    assert found.columns == ("rater_race",)
    assert together.columns == report.demographics


def test_only_a_review_of_every_column_resolves_a_combination(dices: Path) -> None:
    people = [("Woman", "White")] * 6 + [("Man", "White")] * 6 + [("Woman", "Asian")] * 6 + [("Man", "Asian")]
    raters(dices, people)

    def open_now(*columns: str) -> list[tuple[str, ...]]:
        export = open_export(dices)
        report = examine(export, decided(export, *columns))
        return [one.columns for one in report.open if one.kind == "small cells"]

    together = examine(open_export(dices)).demographics
    assert open_now() == open_now("rater_gender") == [("rater_gender", "rater_race"), together]
    assert open_now("rater_gender", "rater_race") == [together]
    assert open_now(*together) == []


def test_a_changed_export_is_refused(chatbench: Path) -> None:
    with (chatbench / "full_study/user_answers.csv").open("a", encoding="utf-8") as file:
        file.write("\n")
    (chatbench / "study.json").unlink()
    with pytest.raises(StorageError, match=r"full_study/user_answers.csv, study.json|study.json, full_study"):
        open_export(chatbench)


def test_decisions_are_read_again_and_a_damaged_record_is_not_taken_for_an_empty_one(chatbench: Path) -> None:
    assert read_record(chatbench) == Record()
    record = Record(decisions=tuple(decided(open_export(chatbench), "chat_history")))
    write_record(chatbench, record)
    assert read_record(chatbench) == record
    record_file(chatbench).write_text('{"deposits": [{"to": "zenodo"}]}', encoding="utf-8")
    with pytest.raises(StorageError, match=r"deposits\.0\.server"):
        read_record(chatbench)


def test_paths_outside_of_the_folder_are_refused(chatbench: Path) -> None:
    (chatbench.parent / "secret.txt").write_text("x", encoding="utf-8")
    with (chatbench / "SHA256SUMS").open("a", encoding="utf-8") as file:
        file.write(f"{sha256(b'x').hexdigest()}  ../secret.txt\n")
    with pytest.raises(StorageError, match=r"\.\./secret.txt"):
        open_export(chatbench)
