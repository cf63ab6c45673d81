"""What people gave, and who they are, is nobody else's on the machine: from the first byte on, whatever the umask."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.cli.commands import COMMANDS as INSTALLED
from storage.db.engine import open_database
from storage.db.private_files import create, make_folder, writing
from tests.docs.pages import parley
from tests.fakes.databases import fill

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
    folder = tmp_path / "lab"
    folder.mkdir(0o700)
    database = open_database(f"sqlite:///{folder / 'parley.db'}")
    asyncio.run(fill(database, ["mathconverse"], 2, "1"))
    database.dispose()
    return folder


OF_EXTENSIONS = {"report": "report mathconverse --origin bot -o report.html"}
# Whatever writes what people gave into a file that is not the database.
COMMANDS = (
    "recruit links mathconverse -n 3 -o links.csv",
    "payments mathconverse -o money/november",
    "export mathconverse --schema mathconverse --origin bot -o data/november",
    "export mathconverse --schema mathconverse --origin bot -o data/packed --zip",
    "show calls mathconverse -o attempts.jsonl",
    "db backup",
)


@pytest.mark.slow
def test_nothing_that_a_command_writes_may_be_read_by_others(lab: Path) -> None:
    replaced = ("links.csv", "attempts.jsonl")
    for name in replaced:
        (lab / name).write_text("an older version's", encoding="utf-8")
        (lab / name).chmod(0o644)
    extended = [command for name, command in OF_EXTENSIONS.items() if name in INSTALLED]
    for command in (*COMMANDS, *extended):
        parley(lab, command)
    assert all("an older" not in (lab / name).read_text(encoding="utf-8") for name in replaced)
    assert {"money", "data"} <= {path.name for path in lab.iterdir()}
    assert modes(lab) == {}


def test_while_a_file_is_written_it_is_nobody_elses_and_not_under_its_name(tmp_path: Path) -> None:
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
