"""Downloads of the console: a link works for whoever made it, for a while, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.types import Receive, Scope, Send

from app.bots.simulate import START_US
from app.clock import SystemClock, VirtualClock
from app.web.console.current_user import VISITOR, CurrentUser
from app.web.console.downloads import ANOTHERS, LIFE_S, LOCK, Downloads, Link
from app.web.console.security import KNOWN
from storage.datasets.exports.exporter import export
from storage.datasets.exports.plan import ExportRequest
from storage.db.engine import Database, open_database
from tests.fakes.console import begin_as_canary
from tests.fakes.databases import fill
from tests.fakes.forked import Forked

pytestmark = pytest.mark.anyio
ANN, BOB = CurrentUser("ann", "owner"), CurrentUser("bob", "analyst")
WISH = ExportRequest("mathconverse", "mathconverse", "bot")


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Database:
    """Some simulated sessions, and a person whom a recruiter calls by a telling id."""
    database = open_database(f"sqlite:///{tmp_path_factory.mktemp('lab') / 'parley.db'}")
    asyncio.run(fill(database, ["mathconverse"], 3, "1"))
    asyncio.run(begin_as_canary(database, "mathconverse"))
    return database


@dataclass
class Room:
    """A little server with the downloads, and a client for each visitor."""

    downloads: Downloads
    clock: VirtualClock
    root: Path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        who = dict(scope["headers"]).get(b"x-who", b"").decode()
        scope[VISITOR] = {"ann": ANN, "bob": BOB}.get(who)
        await Starlette(routes=[self.downloads.route()])(scope, receive, send)

    async def get(self, token: str, who: str = "ann") -> httpx2.Response:
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=self), base_url="http://console") as client:
            return await client.get(f"/download/{token}", headers={"x-who": who})

    def made(self, database: Database, export_request: ExportRequest, user: CurrentUser = ANN) -> Link:
        return self.downloads.make(user, database, export_request)

    def files(self) -> list[Path]:
        return [path for path in self.root.rglob("*") if path.is_file() and path.name != LOCK]


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Room]:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    clock = VirtualClock(START_US)
    room = Room(Downloads(clock), clock, tmp_path)
    yield room
    room.downloads.close()
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [], "nothing is left behind"


async def test_a_link_gives_its_maker_the_whole_export_and_nobody_else(
    room: Room, lab: Database, tmp_path: Path
) -> None:
    link = room.made(lab, WISH)
    answer = await room.get(link.token)
    assert answer.status_code == 200
    assert answer.headers["content-disposition"] == 'attachment; filename="mathconverse-mathconverse.zip"'
    assert answer.headers["content-type"] == "application/zip"
    assert answer.headers["cache-control"] == "no-store"
    assert (len(answer.content), sha256(answer.content).hexdigest()) == (link.bytes, link.sha256)
    own = tmp_path / "own"
    export(lab, WISH, own)
    with ZipFile(BytesIO(answer.content)) as packed:
        assert {name: packed.read(name) for name in packed.namelist()} == {
            path.relative_to(own).as_posix(): path.read_bytes() for path in own.rglob("*") if path.is_file()
        }
    for path in own.rglob("*"):
        path.unlink()
    for who in ("bob", ""):
        refused = await room.get(link.token, who)
        assert refused.status_code == 403
        assert refused.text == ANOTHERS
    assert room.downloads.links(BOB) == []


async def test_a_link_expires_and_its_file_goes(room: Room, lab: Database) -> None:
    link = room.made(lab, WISH)
    assert [path.name for path in room.files()] == [link.path.name]
    folders = {path for path in room.root.rglob("*") if path.is_dir()}
    assert all(stat.S_IMODE(folder.stat().st_mode) == 0o700 for folder in folders)
    room.clock.advance(LIFE_S - 1)
    assert (await room.get(link.token)).status_code == 200
    room.clock.advance(2)
    refused = await room.get(link.token)
    assert refused.status_code == 404
    assert room.downloads.links(ANN) == []
    assert room.files() == []


def killed(url: str, folder: str) -> None:
    tempfile.tempdir = folder
    downloads = Downloads(SystemClock())
    print(downloads.make(ANN, open_database(url), WISH).path, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


async def test_a_killed_consoles_exports_go_at_the_next_start_and_nobody_elses(
    room: Room, lab: Database, tmp_path: Path
) -> None:
    own = room.made(lab, WISH)
    out = tmp_path / "said.txt"
    console = Forked(killed, lab.url.render_as_string(), str(tmp_path), folder=tmp_path, out=out)
    left = Path(console.said().strip())
    assert console.wait() == -signal.SIGKILL
    out.unlink()
    assert left.is_relative_to(tmp_path)
    assert left.is_file()
    kept = tmp_path / "kept"
    for folder in (kept, tmp_path / "parley-downloads-without"):
        folder.mkdir()
        (folder / "list.csv").touch()
    (kept / LOCK).touch()
    (tmp_path / "parley-downloads-link").symlink_to(kept)
    again = Downloads(room.clock)
    assert not left.parent.exists()
    assert not left.exists()
    assert (await room.get(own.token)).status_code == 200
    assert (kept / "list.csv").exists()
    again.close()
    for folder in (kept, tmp_path / "parley-downloads-without"):
        shutil.rmtree(folder)


async def test_a_token_that_nobody_was_given_leads_nowhere(room: Room, lab: Database) -> None:
    token = room.made(lab, WISH).token
    forged = token[:-5] + ("a" if token[-5] != "a" else "b") + token[-4:]
    for wrong in (forged, "x", f"x{token}"):
        assert (await room.get(wrong)).status_code == 404
    assert "mathconverse" not in token
    assert KNOWN["GET"].fullmatch(f"/download/{token}"), "the gate lets it through"
    assert "/." not in f"/download/{token}"
    again = Downloads(room.clock)
    assert (await Room(again, room.clock, room.root).get(token)).status_code == 404, "after a restart it is gone"
