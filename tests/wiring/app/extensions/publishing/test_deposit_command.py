"""`parley deposit`: the gate, its decisions, drafts and publication."""

from __future__ import annotations

import csv
import json
import shlex
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest

from app.extensions.publishing.export_folders import read_record, record_file
from experiments.instruments.scales import WRITE_IN_HEADER
from storage.db.engine import Database
from storage.schemas.registry import schema
from tests.fakes.commanding import Done, parley
from tests.fakes.http_server import serve
from tests.fakes.repositories.deposited import download, write_export
from tests.fakes.repositories.server import TOKEN
from tests.fakes.repositories.zenodo import ZenodoFake
from tests.fakes.visits import begin

pytestmark = pytest.mark.anyio

MAIL = "anna.m@example.org"
REVIEWED = ("--reviewed", "chat_history", "--by", "Ada")


@pytest.fixture
def zenodo() -> Iterator[ZenodoFake]:
    with serve(ZenodoFake()) as found:
        yield found


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_export(tmp_path / "data", "chatbench")


def settings(fake: ZenodoFake) -> dict[str, str]:
    return {"PARLEY_ZENODO_URL": fake.url, "PARLEY_ZENODO_TOKEN": TOKEN}


def deposit(data: Path, fake: ZenodoFake, *words: str) -> Done:
    done = parley("deposit", "data", *words, folder=data.parent, **settings(fake))
    assert TOKEN not in done.stdout + done.stderr
    return done


def test_without_a_repository_only_the_gate_is_shown(data: Path, zenodo: ZenodoFake) -> None:
    done = deposit(data, zenodo)
    assert done.returncode == 1
    assert not zenodo.requests
    assert not record_file(data).exists()


def test_what_is_advised_can_be_pasted_into_a_shell(tmp_path: Path) -> None:
    """The column of taxonomy's texts has parentheses, and ends in two spaces that nobody sees."""
    table = schema("taxonomy").tables[0]
    with (tmp_path / table.file).open("w", newline="") as file:
        row = ["Ask Anna" if name == WRITE_IN_HEADER else "0" for name in table.header]
        csv.writer(file).writerows([table.header, row])
    parley("import", "taxonomy", table.file, folder=tmp_path)
    parley("export", "taxonomy", "--schema", "taxonomy", "-o", "my data", folder=tmp_path)
    told = parley("deposit", "my data", "--reviewed", "user_query", "--by", "Ada", folder=tmp_path).stdout
    (_, *words), (_, *review) = (
        shlex.split(line.partition(": ")[2], comments=True)
        for line in told.splitlines()
        if f"{WRITE_IN_HEADER}'" in line
    )
    assert parley(*words, folder=tmp_path).returncode == 0
    assert WRITE_IN_HEADER not in (tmp_path / "ANOTHER_FOLDER" / table.file).read_text()
    done = parley("deposit", "my data", "--reviewed", *review, "--by", "Ada", folder=tmp_path)
    assert (done.returncode, "The gate is passed" in done.stdout) == (0, True), done.stdout


def test_a_decision_is_recorded_and_the_deposit_is_a_draft(data: Path, zenodo: ZenodoFake, tmp_path: Path) -> None:
    done = deposit(data, zenodo, "--to", "zenodo", *REVIEWED)
    assert done.returncode == 0, done.stderr
    record = read_record(data)
    assert [(one.reviewed, one.by) for one in record.decisions] == [(("chat_history",), "Ada")]
    (made,) = record.deposits
    assert (made.published, made.id, made.doi) == (False, "1001", "10.5072/zenodo.1001")
    assert not zenodo.depositions[1001].submitted
    assert download(zenodo, tmp_path / "again").data == made.data


def test_json_is_all_that_is_printed(data: Path, zenodo: ZenodoFake) -> None:
    found = json.loads(deposit(data, zenodo, "--json").stdout)
    assert (found["gate"]["passed"], found["deposit"]) == (False, None)
    found = json.loads(deposit(data, zenodo, "--to", "zenodo", "--publish", *REVIEWED, "--json").stdout)
    assert (found["gate"]["passed"], found["deposit"]["published"]) == (True, True)


def test_without_a_token_it_names_the_setting(data: Path) -> None:
    done = parley("deposit", "data", "--to", "zenodo", *REVIEWED, folder=data.parent)
    assert done.returncode == 2
    assert "PARLEY_ZENODO_TOKEN" in done.stderr


def test_a_token_is_not_sent_unencrypted(data: Path) -> None:
    done = parley(
        "deposit",
        "data",
        "--to",
        "zenodo",
        *REVIEWED,
        folder=data.parent,
        PARLEY_ZENODO_URL="http://zenodo.example.org",
    )
    assert done.returncode == 2
    assert "https://" in done.stderr


def test_simulated_sessions_need_no_decision(tmp_path: Path, zenodo: ZenodoFake) -> None:
    parley("simulate", "demo", "-n", "2", folder=tmp_path)
    parley("export", "demo", "--schema", "tidy", "-o", "data", folder=tmp_path)
    done = deposit(tmp_path / "data", zenodo)
    assert (done.returncode, "No person took part" in done.stdout) == (0, True)


async def test_the_findings_of_peoples_tidy_data_are_resolved_by_another_export(
    tmp_path: Path, database: Database, zenodo: ZenodoFake
) -> None:
    visits = begin(tmp_path, database)
    for number in range(2):
        await visits.take_part(f"{number}f3a0c6e9d1b2a7c4e8f0d12", f"Yours, {MAIL}")
    await visits.runtime.close()
    words = ("export", "short", "--schema", "tidy", "-o")
    parley(*words, "data", folder=tmp_path)
    found = json.loads(deposit(tmp_path / "data", zenodo, "--json").stdout)["gate"]["findings"]
    kinds = {(one["kind"], *one["columns"]) for one in found}
    assert {("personal data", "text"), ("personal data", "comment"), ("demographics",)} <= kinds
    few = deposit(tmp_path / "data", zenodo, "--demographics", "age", "--by", "Ada", "--json")
    gate = json.loads(few.stdout)["gate"]
    assert gate["k"] is not None
    assert "small cells" in {one["kind"] for one in gate["findings"]}

    done = parley(*words, "less", "--mask-personal-data", "--without", "age", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    answers = list(csv.DictReader(StringIO((tmp_path / "less/answers.csv").read_text("utf-8"))))
    assert answers
    assert "age" not in {row["question"] for row in answers}
    looked = [word for column in ("text", "comment", "value") for word in ("--reviewed", column)]
    done = parley("deposit", "less", "--demographics", "none", *looked, "--by", "Ada", folder=tmp_path)
    assert done.returncode == 0, done.stdout
    assert "The gate is passed." in done.stdout
    assert MAIL not in few.stdout + record_file(tmp_path / "less").read_text(encoding="utf-8")
