"""Where an SQLite database may be: in a folder with the rights that it needs, on a writable disk of this machine."""

from __future__ import annotations

import re
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from app.config.secret import load_secret
from storage.db.engine import open_database
from storage.errors import StorageError
from tests.fakes.nobody import as_nobody
from tests.fakes.served import settings_for


def _refusal(folder: Path, name: str = "parley.db") -> str:
    with pytest.raises(StorageError) as refused:
        open_database(f"sqlite:///{folder}/{name}")
    return str(refused.value)


@pytest.mark.parametrize("mode", [0o500, 0o000], ids=["to read and enter", "not even to enter"])
@pytest.mark.parametrize("name", ["parley.db", "new.db"])
def test_a_folder_without_rights_is_named_with_the_right_that_is_missing(mode: int, name: str) -> None:
    def opened(folder: Path) -> None:
        (folder / "data").mkdir()
        open_database(f"sqlite:///{folder}/data/parley.db").dispose()

    def again(folder: Path) -> str:
        (folder / "data").chmod(mode)
        try:
            return _refusal(folder / "data", name)
        finally:
            (folder / "data").chmod(0o700)

    said = as_nobody(opened, again)
    assert "/data: Parley cannot write" in said
    assert "needs the rights to read, write and enter it" in said


@pytest.mark.parametrize(
    ("options", "fill", "advice"), [("ro", False, "mounted read-only"), ("rw", True, "disk is full|free some space")]
)
def test_a_disk_that_takes_nothing_is_told_at_the_start(tmp_path: Path, options: str, fill: bool, advice: str) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size=64k,{options}", "tmpfs", disk]).returncode:
        pytest.skip("nobody but root may mount a disk")
    try:
        if fill:
            with suppress(OSError), (disk / "fill").open("wb", buffering=0) as file:
                while True:
                    file.write(bytes(4096))
        assert re.search(advice, _refusal(disk))
        settings = settings_for(disk, secret=None)
        with pytest.raises(StorageError, match=advice.rpartition("|")[2]):
            load_secret(settings)
        assert not [*disk.glob("*.secret*")]
    finally:
        subprocess.run(["umount", disk], check=True)
