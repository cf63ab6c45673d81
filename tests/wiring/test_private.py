"""What people gave, and who they are, is nobody else's on the machine: from the first byte on, whatever the umask."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from storage.db.engine import open_database
from storage.db.private_files import create, make_folder, writing
from storage.errors import StorageError
from tests.docs.pages import parley
from tests.fakes.databases import fill
from tests.fakes.served import Process

pytestmark = pytest.mark.skipif(os.name != "posix", reason="modes are of POSIX")


@pytest.fixture(autouse=True)
def open_to_all() -> Iterator[None]:
    """As most machines have it: what is made may be read by everybody."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, str]:
    """What others may do with anything in a folder, where it is more than nothing."""
    found = {path.relative_to(folder).as_posix(): stat.S_IMODE(path.lstat().st_mode) for path in folder.rglob("*")}
    return {name: oct(mode) for name, mode in found.items() if mode & 0o077}


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    """A folder with a database of simulated sessions."""
    folder = tmp_path / "lab"
    folder.mkdir(0o700)
    database = open_database(f"sqlite:///{folder / 'parley.db'}")
    asyncio.run(fill(database, ["mathconverse"], 2, "1"))
    database.dispose()
    return folder


COMMANDS = (
    "recruit links mathconverse -n 3 -o links.csv",
    "payments mathconverse -o money/november",
    "export mathconverse --schema mathconverse --origin bot -o data/november",
    "export mathconverse --schema mathconverse --origin bot -o data/packed --zip",
    "report mathconverse --origin bot -o report.html",
    "show screens mathconverse --origin bot -o times.csv",
    "show calls mathconverse -o attempts.jsonl",
    "db backup",
)
"""Whatever writes what people gave into a file that is not the database."""


@pytest.mark.slow
def test_nothing_that_a_command_writes_may_be_read_by_others(lab: Path) -> None:
    replaced = ("links.csv", "report.html", "times.csv", "attempts.jsonl")
    for name in replaced:
        (lab / name).write_text("an older version's", encoding="utf-8")
        (lab / name).chmod(0o644)
    for command in COMMANDS:
        parley(lab, command)
    assert all("an older" not in (lab / name).read_text(encoding="utf-8") for name in replaced)
    assert {"money", "data", "report.html"} <= {path.name for path in lab.iterdir()}
    assert modes(lab) == {}


def test_while_a_file_is_written_it_is_nobody_elses_and_not_under_its_name(tmp_path: Path) -> None:
    """Whoever opens it in between would go on reading, whatever its mode is afterwards."""
    theirs = tmp_path / "theirs"
    theirs.write_text("theirs", encoding="utf-8")
    (tmp_path / ".list.csv.unfinished").symlink_to(theirs)
    os.umask(0)
    make_folder(tmp_path / "a" / "b")
    with writing(tmp_path / "list.csv") as file:
        file.write(b"ids")
        file.flush()
        assert {name for name in modes(tmp_path) if name != "theirs"} == set()
        assert not (tmp_path / "list.csv").exists()
    assert (tmp_path / "list.csv").read_bytes() == b"ids"
    assert theirs.read_text(encoding="utf-8") == "theirs"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "list.csv", "theirs"]
    with pytest.raises(FileExistsError):
        create(tmp_path / "list.csv")


def test_what_is_written_in_vain_leaves_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_bytes(b"before")
    with suppress(ZeroDivisionError), writing(tmp_path / "list.csv") as file:
        file.write(b"half")
        raise ZeroDivisionError
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"list.csv": b"before"}
    for wrong in (tmp_path / "none" / "list.csv", tmp_path):
        with pytest.raises(StorageError, match="cannot be written"), writing(wrong):
            pass
    with writing(Path("/dev/null")) as file:
        file.write(b"a device is none of ours")
    assert Path("/dev/null").is_char_device()


@pytest.mark.parametrize("command", ["serve", pytest.param("console", marks=pytest.mark.soak)])
def test_files_of_older_versions_are_closed_at_the_start_and_that_is_said_once(tmp_path: Path, command: str) -> None:
    database = open_database(f"sqlite:///{tmp_path / 'parley.db'}")
    with database.connect() as held:  # so that its journal is there as well
        held.exec_driver_sql("SELECT 1 FROM event").close()
        wide = ["parley.db", "parley.db-wal", "parley.db-shm", "parley-backup-20251122-043913.db", "parley.secret"]
        for name in wide:
            (tmp_path / name).open("ab").close()
            (tmp_path / name).chmod(0o644)
        for name, mode in {"parley-revision-0001-a.db": 0o640, "study.yaml": 0o644, "parley.yaml": 0o644}.items():
            (tmp_path / name).touch(mode)
        process = Process(tmp_path, (), command=command)
        for _ in range(2):
            process.start()
            process.stop()
    found = modes(tmp_path)
    assert {name: found.get(name) for name in (*wide, "parley-revision-0001-a.db", "study.yaml", "parley.yaml")} == {
        **dict.fromkeys(wide),
        "parley-revision-0001-a.db": "0o640",
        "study.yaml": "0o644",
        "parley.yaml": "0o644",
    }
    lines = process.log.splitlines()
    assert [sum(f"/{name} " in line for line in lines) for name in wide] == [1] * len(wide)
    assert sum("/parley-revision-0001-a.db " in line for line in lines) == 2, "as somebody may have meant it"
