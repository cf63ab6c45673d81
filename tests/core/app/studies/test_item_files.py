"""Files of items in a draft: kept only if they can be read, under names that lead nowhere else, within limits."""

from __future__ import annotations

import io
import os
import stat
import zipfile
from pathlib import Path

import pytest

from app.studies import draft_files
from app.studies.item_files import LARGEST_BYTES, ItemFiles
from problems.errors import ProblemError
from problems.tables import MOST_BYTES

CSV = "Frage;eins;zwei;Lösung\nWas ist 1 + 1?;2;3;2\nWas ist 2 + 2?;5;4;4\n".encode()


@pytest.fixture
def files(tmp_path: Path) -> ItemFiles:
    return ItemFiles(tmp_path)


def test_a_file_is_kept_read_replaced_and_removed(files: ItemFiles, tmp_path: Path) -> None:
    table = files.keep("Fragen für alle.csv", CSV)
    assert table.columns == ("Frage", "eins", "zwei", "Lösung")
    assert files.names() == ("Fragen für alle.csv",)
    assert stat.S_IMODE((tmp_path / "Fragen für alle.csv").stat().st_mode) == 0o600
    files.keep("Fragen für alle.csv", CSV + b"Was ist 3?;3;4;3\n")
    assert len(files.read("Fragen für alle.csv").rows) == 3
    with pytest.raises(ProblemError, match="pool sums"):
        files.remove("Fragen für alle.csv", {"sums": {"path": "Fragen für alle.csv"}})
    files.remove("Fragen für alle.csv", {"other": {"path": "other.csv"}})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("q.csv", CSV.decode().encode("latin-1"), "UTF-8"),
        ("q.xlsx", CSV, "no Excel file"),
        ("q.jsonl", b"{", "not JSON"),
        ("q.csv", b"", "is empty"),
        ("q.csv", b"a" * (LARGEST_BYTES + 1), "at most"),
        ("q.exe", CSV, r"allowed: \.csv"),
        ("study.yaml", CSV, r"allowed: \.csv"),
        *((name, CSV, "not a name for a file") for name in ("", ".csv", "../q.csv", "a/b.csv", "c:q.csv", "\\q.csv")),
        *((name, CSV, "not a name for a file") for name in ("q\n.csv", "q.csv ", "\u202eq.csv", "q\0.csv", "q" * 101)),
    ],
)
def test_a_file_that_cannot_be_read_leaves_the_one_before(
    name: str, content: bytes, says: str, files: ItemFiles, tmp_path: Path
) -> None:
    (tmp_path / "q.csv").write_bytes(CSV)
    with pytest.raises(ProblemError, match=says) as refused:
        files.keep(name, content)
    assert str(tmp_path) not in str(refused.value)
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [CSV]


def test_a_file_that_unpacks_to_too_much_is_not_unpacked(files: ItemFiles) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", b" " * (MOST_BYTES + 1))
    with pytest.raises(ProblemError, match="bytes once unpacked"):
        files.keep("q.xlsx", packed.getvalue())


def test_what_a_killed_console_left_is_deleted(tmp_path: Path) -> None:
    draft = tmp_path / "sums"
    killed, busy, part, young = (draft / name for name in (".upload-killed", ".upload-busy", ".old.part", ".new.part"))
    for folder in (killed, busy):
        folder.mkdir(parents=True)
        (folder / "q.csv").write_bytes(CSV)
    for file in (part, young, draft / "study.yaml"):
        file.write_text("study: sums\n")
    os.utime(part, (0, 0))
    with draft_files.held_lock(busy / draft_files.LOCK):
        draft_files.sweep_uploads(tmp_path)
    assert {path.name for path in draft.iterdir()} == {".upload-busy", ".new.part", "study.yaml"}


@pytest.mark.parametrize("name", ["study.yaml", "secret.csv", "../outside.csv", "linked.csv"])
def test_only_tables_in_the_folder_are_read_or_removed(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "draft"
    folder.mkdir()
    (tmp_path / "outside.csv").write_bytes(CSV)
    (folder / "linked.csv").symlink_to(tmp_path / "outside.csv")
    (folder / "study.yaml").write_text("study: draft\n", encoding="utf-8")
    files = ItemFiles(folder)
    assert files.names() == ()
    for act in (files.read, files.size, lambda name: files.remove(name, {})):
        with pytest.raises(ProblemError, match="no file"):
            act(name)
    assert (tmp_path / "outside.csv").exists()
