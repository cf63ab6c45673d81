"""Model servers that an owner saves in the console: every process uses them, and nobody sees a key again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from app.backends.model_ref import parse_model_ref
from app.calls.model_pool import ModelPool
from app.clock import SystemClock
from app.config.saved_servers import SavedServers
from app.config.settings import Settings
from app.errors import SettingsError
from app.recruiters.prolific import prolific_client
from app.session.replies.buffer import ReplyBuffer
from app.session.replies.model_check import check_model
from storage.accounts.model_servers import SavedServer, save_server
from storage.db.backup import back_up
from storage.db.database_url import sqlite_path
from storage.db.engine import Database
from tests.fakes.console import Room, console
from tests.fakes.model_server import Server
from tests.fakes.prolific_api import TOKEN, prolific_api
from tests.fakes.researcher import Researcher, text, value
from tests.fakes.served import SECRET, settings_for
from tests.wiring.reading import query

pytestmark = pytest.mark.anyio
KEY, NEW = "sk-zqfirstkeyqz", "sk-zqsecondkeyqz"
Console = tuple[Room, Researcher]


@pytest.fixture
async def at(tmp_path: Path, database: Database) -> AsyncIterator[Console]:
    async with console(tmp_path, database) as (room, researcher):
        await researcher.open(tab="servers")
        yield room, researcher


async def save(researcher: Researcher, url: str, key: str = KEY, name: str = "lab") -> Any:
    values = {"server-kind": "vllm", "server-name": name, "server-url": url, "server-key": key}
    return await researcher.on("server-save", "click", **values)


async def key_used(models: Server, settings: Settings, pool: ModelPool | None = None) -> str:
    """The key with which a model of the saved server is called."""
    made = pool or ModelPool(settings, SystemClock(), SystemClock().sleep)
    ref = parse_model_ref(None, "openai:gpt-fake@lab")
    attempt = await check_model(made, ref, settings, SystemClock(), ReplyBuffer())
    if pool is None:
        await made.close()
    assert attempt.result.error is None, attempt.result.error
    return str(models.requests[-1])


async def test_a_saved_server_replies_with_its_key_until_that_is_replaced_or_removed(
    at: Console, database: Database, tmp_path: Path, models: Server
) -> None:
    _, researcher = at
    plain = settings_for(tmp_path)
    settings = plain.with_lookup(SavedServers(plain, database, fresh_s=0))
    pool = ModelPool(settings, SystemClock(), SystemClock().sleep)
    await save(researcher, models.base_url)
    assert KEY in await key_used(models, settings, pool)
    await save(researcher, models.base_url, NEW)
    assert NEW in await key_used(models, settings, pool), "a process that runs takes the new key"
    await researcher.on("server-remove", "click", **{"server-old": "lab", "server-sure": True})
    with pytest.raises(SettingsError, match="no model server 'lab'"):
        settings.server("lab")
    await pool.close()


async def test_no_key_leaves_the_console_or_is_stored_in_plain(
    at: Console, database: Database, tmp_path: Path, models: Server, caplog: pytest.LogCaptureFixture
) -> None:
    _, researcher = at
    with caplog.at_level("DEBUG"):
        shown = await save(researcher, models.base_url)
        await save(researcher, "ftp://wrong", KEY)
        await save(researcher, models.base_url, KEY + "é")
        await save(researcher, models.base_url, KEY, name="not a name")
        await researcher.open(tab="servers")
        await researcher.enter("accounts")
    assert value(shown["server-key"]) == ""
    assert "key stored" in text(shown["servers"])
    rows = repr(query(database, "SELECT * FROM model_server")) + repr(query(database, "SELECT * FROM deed"))
    places = {"answers": b"\n".join(researcher.heard), "the log": caplog.text.encode(), "the rows": rows.encode()}
    if (file := sqlite_path(str(database.url))) is not None:
        places["a backup"] = back_up(file, tmp_path / "backup.db", lambda done, total: None).file.read_bytes()
        places |= {path.name: path.read_bytes() for path in file.parent.glob(f"{file.name}*")}
    assert [where for where, found in places.items() if KEY.encode() in found] == []
    assert query(database, "SELECT who, what, about FROM deed WHERE what LIKE '%server%'") == [
        ("Ada", "saved a model server", f"lab: {models.base_url}, with a key")
    ]


async def test_the_token_of_prolific_is_saved_like_a_key_and_used_to_recruit(
    at: Console, database: Database, tmp_path: Path
) -> None:
    _, researcher = at
    with prolific_api() as fake:
        server = {"server-kind": "prolific", "server-name": "lab", "server-url": fake.url, "server-key": TOKEN}
        assert "note bad" in value((await researcher.on("server-save", "click", **server))["note"])
        shown = await researcher.on("server-save", "click", **server | {"server-name": "prolific"})
        assert "key stored" in text(shown["servers"])
        plain = settings_for(tmp_path)
        with prolific_client(plain.with_lookup(SavedServers(plain, database, fresh_s=0))) as client:
            assert client.account().currency_code
    assert TOKEN.encode() not in b"".join(researcher.heard)


async def test_another_secret_asks_for_the_key_again(at: Console, database: Database, tmp_path: Path) -> None:
    _, researcher = at
    await save(researcher, "https://models.example/v1")
    plain = settings_for(tmp_path, secret="another" + SECRET)
    with pytest.raises(SettingsError, match=r"'lab' cannot be opened with this secret .* Enter the key again"):
        SavedServers(plain, database).find("lab")
    other = SavedServer("lab", "vllm", "https://models.example/v1", "Ada", 0, b"")
    save_server(database, "another" + SECRET, other, KEY, lambda: 1)
    assert "enter it again" in text((await researcher.open(tab="servers"))["servers"])


async def test_an_analyst_sees_servers_and_changes_none(at: Console, database: Database) -> None:
    room, researcher = at
    await save(researcher, "https://models.example/v1")
    room.as_("analyst")
    seen = await researcher.open(tab="servers")
    assert "https://models.example/v1" in text(seen["servers"])
    for button in ("server-save", "server-remove"):
        answer = await researcher.on(button, "click", **{"server-name": "x", "server-old": "lab", "server-sure": True})
        assert "Only owners" in value(answer["note"])
    assert len(query(database, "SELECT * FROM model_server")) == 1
