"""Backups: taken under load they are what the database was at one moment; restored, people go on from there."""

from __future__ import annotations

import asyncio
import os
import random
import re
import sqlite3
import stat
import time
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest

from storage.db import backup
from storage.db.backup import back_up, check_backup, restore
from storage.db.engine import open_database
from storage.errors import StorageError
from storage.log.projections import differences
from tests.fakes import studies
from tests.fakes.commanding import parley
from tests.fakes.forked import Forked, command
from tests.fakes.http_bot import HttpBot
from tests.fakes.nobody import NOBODY
from tests.fakes.served import Process, serving, settings_for
from tests.wiring.reading import check_facts, check_rows, facts, query

pytestmark = pytest.mark.anyio
# How many pages are copied at once here, so that commits come between.
PAGES = 5


@pytest.fixture
def slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backup, "STEP", PAGES)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    open_database(f"sqlite:///{tmp_path}/parley.db").dispose()
    return tmp_path / "parley.db"


@pytest.mark.usefixtures("slowly")
async def test_a_backup_under_load_is_a_prefix_of_the_log_and_sound(tmp_path: Path, seed: int) -> None:
    settings = settings_for(tmp_path)
    steps: list[int] = []
    done = asyncio.Event()

    async def take_part(number: int) -> list[HttpBot]:
        came = []
        while not done.is_set():
            async with HttpBot(served.url, f"{seed}:{number}:{len(came)}") as bot:
                await bot.arrive("short")
                await bot.finish()
            came.append(bot)
        return came

    async with serving(settings, studies.short(tmp_path)) as served:
        going = [asyncio.create_task(take_part(number)) for number in range(3)]
        while (before := query(served.database, "SELECT count(*) FROM event")[0][0]) < 30:
            await asyncio.sleep(0.05)

        def told(copied: int, total: int) -> None:
            steps.append(copied)
            time.sleep(0.01)

        checked = await asyncio.to_thread(back_up, tmp_path / "parley.db", tmp_path / "backup.db", told)
        after = query(served.database, "SELECT count(*) FROM event")[0][0]
        done.set()
        bots = [bot for came in await asyncio.gather(*going) for bot in came]
        assert steps == sorted(steps), "no commit began the copy anew"
        assert len(steps) > 20
        assert before <= checked.facts < after, "people were writing all the while"
        copied = open_database(f"sqlite:///{tmp_path}/backup.db")
        for bot in bots:
            whole, then = facts(served.database, bot.stream), facts(copied, bot.stream)
            assert then == whole[: len(then)]
        assert list(differences(copied)) == []
        last = query(copied, "SELECT max(recorded_us) FROM event")[0][0]
        missed = "SELECT count(*) FROM event WHERE recorded_us < :last"
        assert query(copied, missed, last=last) == query(served.database, missed, last=last)
        copied.dispose()


@pytest.mark.timeout(300)  # a busy machine starts a process slowly
async def test_who_was_there_goes_on_after_a_restore(tmp_path: Path, seed: int) -> None:
    process = Process(tmp_path, (studies.short(tmp_path),))
    await asyncio.to_thread(process.start)
    try:
        async with HttpBot(process.url, f"{seed}", patience_s=60) as bot:
            await bot.arrive("short")
            for _ in range(3):
                await bot.step()
            made = await asyncio.to_thread(parley, "db", "backup", "kept.db", folder=tmp_path)
            assert (made.returncode, "no damage" in made.stdout) == (0, True)
            acts, screen = list(bot.acts), bot.screen
            await bot.step()
            refused = await asyncio.to_thread(parley, "db", "restore", "kept.db", folder=tmp_path)
            assert (refused.returncode, "is in use" in refused.stderr) == (2, True)
            await asyncio.to_thread(process.stop)
            restored = await asyncio.to_thread(parley, "db", "restore", "kept.db", folder=tmp_path)
            assert restored.returncode == 0, restored.stderr
            await asyncio.to_thread(process.start)
            bot.acts[:] = acts
            assert await bot.look() == screen
            await bot.finish()
        await asyncio.to_thread(process.stop)
    finally:
        process.kill()
    database = open_database(process.database_url)
    check_facts(database, bot)
    check_rows(database, bot)
    database.dispose()
    (aside,) = tmp_path.glob("parley-before-restore-*.db")
    assert check_backup(aside).facts > check_backup(tmp_path / "kept.db").facts


def test_a_backup_takes_nobodys_place_and_leaves_nothing_behind(file: Path, tmp_path: Path) -> None:
    made = back_up(file, tmp_path / "backup.db")
    beside = tmp_path / "backup.db.sha256"
    assert beside.read_text(encoding="utf-8") == f"{sha256(made.file.read_bytes()).hexdigest()}  backup.db\n"
    assert {stat.S_IMODE(path.stat().st_mode) for path in (made.file, beside)} == {0o600}
    with pytest.raises(StorageError, match="the file exists already"):
        back_up(file, made.file)
    with pytest.raises(StorageError, match="no database to back up"):
        back_up(tmp_path / "other.db", tmp_path / "backup2.db")
    with pytest.raises(StorageError, match=r"cannot be written"):
        back_up(file, Path("/proc/monday.db"))
    assert {path.name for path in tmp_path.iterdir()} == {"parley.db", "backup.db", "backup.db.sha256"}


def summed(file: Path) -> Path:
    """The file, with its checksum beside it as `sha256sum` writes it."""
    hashed = sha256(file.read_bytes()).hexdigest()
    file.with_name(f"{file.name}.sha256").write_text(f"{hashed}  {file.name}\n", encoding="utf-8")
    return file


def test_what_is_damaged_is_neither_kept_nor_restored(file: Path, tmp_path: Path) -> None:
    backup = back_up(file, tmp_path / "backup.db").file
    was = file.read_bytes()
    backup.write_bytes(backup.read_bytes()[:-5_000])
    (tmp_path / "words.db").write_text("no database", encoding="utf-8")
    for bad in (backup, tmp_path / "words.db"):
        with pytest.raises(StorageError, match=rf"{bad.name}\.sha256"):  # it is another, or missing
            restore(bad, file, tmp_path / "aside.db")
        with pytest.raises(StorageError, match=r"damaged"):
            restore(summed(bad), file, tmp_path / "aside.db")
    gap = back_up(file, tmp_path / "gap.db").file
    with closing(sqlite3.connect(gap)) as connection, connection:
        connection.execute("INSERT INTO event VALUES ('s', 2, 0, 0, 'system', '', 'began', '{}', NULL)")
    with pytest.raises(StorageError, match="events of s are missing"):
        restore(summed(gap), file, tmp_path / "aside.db")
    assert file.read_bytes() == was
    assert not (tmp_path / "aside.db").exists()


def test_what_is_put_back_is_told_and_belongs_to_whom_the_database_did(lab: Path, tmp_path: Path) -> None:
    file = tmp_path / "parley.db"
    with closing(sqlite3.connect(lab)) as source, closing(sqlite3.connect(file)) as copy:
        source.backup(copy)  # what is in its journal as well
    done = parley("db", "backup", "monday.db", folder=tmp_path)
    told = done.stdout
    held = re.search(r"2 sessions and \d+ events of demo, the newest of \d{4}-\d\d-\d\d \d\d:\d\d UTC", told)
    assert held, done
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("INSERT INTO erasure VALUES ('gone', 0, 'participant', 'withdrew')")
    file.chmod(0o640)
    if os.geteuid() == 0:
        os.chown(file, NOBODY, NOBODY)
    owned = (file.stat().st_uid, file.stat().st_gid, stat.S_IMODE(file.stat().st_mode))
    restored = parley("db", "restore", "monday.db", folder=tmp_path).stdout
    assert held[0] in restored
    assert restored.rstrip().endswith("gone"), "who withdrew since is named"
    assert (file.stat().st_uid, file.stat().st_gid, stat.S_IMODE(file.stat().st_mode)) == owned


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lab")
    made = Forked(command, "simulate", "demo", "-n", "2", folder=folder, out=folder / "said.txt")
    assert made.wait() == 0, "it has let go of the file"
    return folder / "parley.db"


def flipped(file: Path, rng: random.Random, count: int) -> None:
    written = bytearray(file.read_bytes())
    for place in rng.sample(range(len(written)), count):
        written[place] ^= 1 << rng.randrange(8)
    file.write_bytes(written)


@pytest.mark.parametrize("count", [1, pytest.param(400, marks=pytest.mark.soak)])
def test_a_backup_with_flipped_bytes_is_never_restored(
    lab: Path, tmp_path: Path, seed: int, soak: bool, count: int
) -> None:
    rng, taken = random.Random(seed), 0
    backup = back_up(lab, tmp_path / "backup.db").file
    good = backup.read_bytes()
    file = tmp_path / "parley.db"
    for number in range(300 if soak else 8):
        file.write_bytes(lab.read_bytes())
        backup.write_bytes(good)
        flipped(backup, rng, count)
        try:
            restore(backup, file, tmp_path / f"aside{number}.db")
        except StorageError:
            assert file.read_bytes() == lab.read_bytes()
            assert not (tmp_path / f"aside{number}.db").exists()
        else:
            taken += 1
    assert taken == 0


def test_what_a_killed_backup_left_is_swept_and_nothing_of_one_that_runs(file: Path, tmp_path: Path) -> None:
    left, young, others = (tmp_path / name for name in ("parley-backup-1.db.part", "parley-backup-2.db.part", "a.part"))
    for path in (left, young, others):
        path.touch()
    for path in (left, others):
        os.utime(path, (0, 0))
    assert parley("db", "backup", folder=tmp_path).returncode == 0
    assert [path.exists() for path in (left, young, others)] == [False, True, True]
