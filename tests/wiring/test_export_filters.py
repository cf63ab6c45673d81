"""`parley export` of some sessions, as an analyst asks for it."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from sqlalchemy import select, update

from storage import tables
from storage.engine import open_database
from tests.fakes.commanding import Done, parley

ANSWERS = "full_study/user_answers.csv"
DAYS = ("2026-03-01", "2026-03-02", "2026-03-03", "2026-03-04", "2026-03-05", "2026-03-06")
WORDS = ("export", "chatbench", "--schema", "chatbench", "-o")


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six simulated sessions begun on six days at noon; the second was excluded, the last is in German and live."""
    folder = tmp_path_factory.mktemp("lab")
    assert parley("simulate", "chatbench", "-n", "6", folder=folder).returncode == 0
    database = open_database(f"sqlite:///{folder}/parley.db")
    seat, session = tables.seats.c, tables.sessions.c
    with database.begin() as connection:
        streams = connection.execute(select(session.stream).order_by(session.ordinal)).scalars().all()
        for number, stream in enumerate(streams):
            noon_us = 1_772_366_400_000_000 + number * 86_400_000_000
            told = {"begun_us": noon_us, "language": "en", "excluded": "a bot" if number == 1 else None}
            told |= {"outcome": None, "language": "de"} if number == 5 else {}
            connection.execute(update(tables.seats).where(seat.stream == stream).values(told))
    database.dispose()
    return folder


def people(folder: Path) -> list[str]:
    with (folder / ANSWERS).open(encoding="utf-8", newline="") as file:
        return list(dict.fromkeys(row["worker_id"] for row in csv.DictReader(file)))


def exported(lab: Path, to: Path, *words: str) -> tuple[list[str], Done]:
    done = parley(*WORDS, str(to), *words, folder=lab)
    assert done.returncode == 0, done.stderr
    return people(to), done


def test_the_options_choose_sessions_and_what_they_leave_out_is_told(lab: Path, tmp_path: Path) -> None:
    everybody, _ = exported(lab, tmp_path / "all", "--with-excluded")
    assert len(everybody) == 6
    kept, done = exported(lab, tmp_path / "kept")
    assert kept == [everybody[n] for n in (0, 2, 3, 4, 5)]
    assert "left out: 1 excluded by a researcher" in done.stdout
    dated, done = exported(lab, tmp_path / "dated", "--since", DAYS[1], "--until", DAYS[3], "--with-excluded")
    assert dated == everybody[1:4], "the day of the end is in it"
    assert "left out: 1 begun earlier" in done.stdout
    assert "left out: 2 begun later" in done.stdout
    until_noon, _ = exported(lab, tmp_path / "noon", "--until", f"{DAYS[3]}T12:00")
    assert until_noon == [everybody[0], everybody[2]]
    complete, _ = exported(lab, tmp_path / "complete", "--complete")
    assert complete == [everybody[n] for n in (0, 2, 3, 4)]
    german, _ = exported(lab, tmp_path / "german", "--language", "de")
    assert german == [everybody[5]]
    first, _ = exported(lab, tmp_path / "first", "--where", "condition=answer-first", "--with-excluded")
    direct, _ = exported(lab, tmp_path / "direct", "--where", "condition=direct-to-AI", "--with-excluded")
    assert first
    assert direct
    assert {*first, *direct} == {*everybody}
    both = ("--where", "condition=answer-first", "--where", "condition=direct-to-AI", "--with-excluded")
    assert exported(lab, tmp_path / "both", *both)[0] == everybody


def test_the_filters_hold_for_standard_output_and_the_zip_too(lab: Path, tmp_path: Path) -> None:
    exported(lab, tmp_path / "some", "--complete", "--zip")
    assert (tmp_path / "some.zip").is_file()
    streamed = parley(*WORDS, "-", "--complete", folder=lab)
    assert streamed.stdout == (tmp_path / "some" / ANSWERS).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--where", "condition"), "write it as condition=answer-first"),
        (("--where", "conditon=x"), "no session of 'chatbench' has a factor 'conditon'; allowed: "),
        (("--where", "condition=answer-frist"), "Did you mean 'answer-first'?"),
        (("--since", "tomorrow"), "write 2026-01-31 or 2026-01-31T14:00, in UTC"),
        (("--since", DAYS[2], "--until", DAYS[1]), "give a later end"),
        (("--language", "fr"), "allowed: de, en"),
    ],
)
def test_a_filter_that_cannot_hold_exits_with_2(lab: Path, tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    done = parley(*WORDS, str(tmp_path / "no"), *words, folder=lab)
    assert done.returncode == 2
    assert said in done.stderr
    assert not (tmp_path / "no").exists()


def test_imported_data_take_no_filter(lab: Path, tmp_path: Path) -> None:
    exported(lab, tmp_path / "all")
    assert parley("import", "chatbench", str(tmp_path / "all"), "--study", "copy", folder=tmp_path).returncode == 0
    words = ("export", "copy", "--schema", "chatbench", "-o", str(tmp_path / "again"))
    done = parley(*words, "--complete", folder=tmp_path)
    assert done.returncode == 2
    assert "'copy' was imported" in done.stderr
    assert parley(*words, "--origin", "import", folder=tmp_path).returncode == 0
