"""Databases filled by sessions that take turns, and what stands in their released tables."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sqlalchemy import Table, select

from app.bots.random_bot import RandomBot
from app.bots.simulate import START_US, simulate
from app.clock import VirtualClock
from app.config.settings import Settings
from app.session.service import Sessions, SessionService
from experiments.events import Action
from experiments.session.annotations import ConversationRef
from experiments.study.study import Study
from storage.datasets.exports import exporter
from storage.datasets.exports.plan import ExportRequest
from storage.datasets.manifest import ExportManifest
from storage.db.engine import Database, open_database, writer
from storage.log.projections import rebuild
from storage.log.seats import release
from storage.log.telemetry import TelemetryBatch
from storage.schemas.registry import schemas
from tests.fakes.annotated import annotation
from tests.fakes.clicks import click, present
from tests.fakes.sessions import study

# How many sessions of each study the contract tests' database has.
SESSIONS = 4
# How often something of a session is annotated between two clicks.
ANNOTATED = 0.2

Tables = Mapping[str, Sequence[tuple[Any, ...]]]


class Mould:
    """An empty database, or one made before, again and again by one engine, as that knows every statement by now.

    Whoever has it next takes it from whoever had it before.
    """

    def __init__(self, folder: Path, made: bytes | None = None) -> None:
        self._file = folder / "parley.db"
        self._database = open_database(f"sqlite:///{self._file}")
        self._database.dispose()
        self._made = made or self._file.read_bytes()

    def cast(self) -> Database:
        self._database.dispose()
        if len([*self._file.parent.iterdir()]) > 1:  # what SQLite lays beside it stays where a test failed within
            self._file = self._file.with_name("again") / self._file.name
            self._file.parent.mkdir()
            self._database = open_database(f"sqlite:///{self._file}")
            self._database.dispose()
        self._file.write_bytes(self._made)
        return self._database


def read_tables(database: Database) -> Tables:
    found = {}
    with database.connect() as connection:
        for schema in schemas().values():
            for released in schema.tables:
                table = released.table()
                rows = connection.execute(select(table).order_by(*table.primary_key))
                found[released.name] = [tuple(row) for row in rows]
    return found


async def interleaved(sessions: Sequence[tuple[str, int]], order: random.Random) -> tuple[Tables, Tables]:
    """Sessions of several studies acting in a random order, some left unfinished, while a model annotates what was
    said; live tables and rebuilt ones."""
    with TemporaryDirectory() as folder:
        database = open_database(f"sqlite:///{Path(folder) / 'parley.db'}")
        clock = VirtualClock(0)
        runtime = SessionService(database, Settings(), clock)
        beside = Sessions(database, clock)
        beside.log.close()
        beside.log = runtime.log
        playing = []
        for number, (name, _) in enumerate(sessions):
            runtime.studies.register(study(name))
            live = await runtime.enrol(study(name), origin="bot", seed=f"{order.random()}")
            playing.append((live.stream, RandomBot(f"{number}"), order.randint(1, 120)))
        while playing:
            stream, bot, left = playing.pop(order.randrange(len(playing)))
            await _annotate(runtime, beside, stream, order)
            if left and await _act(runtime, clock, stream, bot):
                playing.append((stream, bot, left - 1))
        before = read_tables(database)
        await runtime.close()
        rebuild(database)
        after = read_tables(database)
        database.dispose()
        return before, after


async def _act(service: SessionService, clock: VirtualClock, stream: str, bot: RandomBot) -> bool:
    live = await present(service, stream)
    screen = live.screen
    if screen.ended:
        return False
    kind, values = bot.act(screen)
    clock.advance(bot.seconds(screen, values))
    await service.participant(stream, kind, screen.path, values, seen=screen.seen, key=f"{live.state.seq}-click")
    return True


async def _annotate(service: SessionService, beside: Sessions, stream: str, chance: random.Random) -> None:
    """Now and then, from another process: what a server knows of the session is then old."""
    live = await service.get(stream)
    if live is None or chance.random() > ANNOTATED:
        return
    said = [path for path, facts in live.state.facts.items() if any(event.kind == "said" for event in facts)]
    if said:
        found = [annotation(ConversationRef(chance.choice(said)), chance)]
        await beside.annotate(live.study.name, {stream: found})


async def fill(database: Database, studies: Sequence[str | Study], count: int, seed: str) -> None:
    clock = VirtualClock(START_US)
    runtime = SessionService(database, Settings(), clock)
    for one in studies:
        found = study(one) if isinstance(one, str) else one
        runtime.studies.register(found)
        async for _ in simulate(runtime, clock, found, count, seed):
            pass
    await runtime.close()


def export(database: Database, study: str, schema: str, folder: Path, origin: str | None = None) -> ExportManifest:
    return exporter.export(database, ExportRequest(study, schema, origin), folder)


def rows(database: Database, table: Table) -> list[dict[str, Any]]:
    with database.connect() as connection:
        found = connection.execute(select(table).order_by(*table.primary_key))
        return [row._asdict() for row in found]


async def busy(database: Database, name: str = "demo", origin: str = "person") -> list[str]:
    """Sessions that ended, stopped on the way, withdrew, were excluded, taken back and pasted in; their streams."""
    await fill(database, [name], 3, "1")
    clock = VirtualClock(1_000_000)
    runtime = SessionService(database, Settings(), clock)
    streams = []
    for number in range(5):
        live = await runtime.enrol(study(name), origin=origin, seed=str(number))
        streams.append(live.stream)
        bot = RandomBot(str(number))
        for _ in range(2 + 3 * number):
            clock.advance(20)
            kind, values = bot.act(live.screen)
            live = await click(runtime, live, kind, **values)
            if live.state.outcome or live.screen.panel.chat:
                break
    await note(runtime, streams[1], "excluded", {"why": "a friend of ours"})
    await note(runtime, streams[2], "excluded", {"why": "twice here"})
    await note(runtime, streams[2], "included", {"why": "not so"})
    for stream in streams[3:]:
        data = {"pasted": {"box": "comment", "chars": 3, "blocked": False}, "left": {}}
        told: list[dict[str, Any]] = [
            {"path": "consent", "at_us": 5, "kind": kind, "data": data[kind]} for kind in ("pasted", "left", "pasted")
        ]
        await asyncio.wrap_future(runtime.log.record_telemetry(TelemetryBatch(stream, "a" * 32, tuple(told))))
    clock.advance(7)
    await runtime.act(streams[4], Action("withdraw", "", {}, clock.now_us()))
    await runtime.close()
    with writer(database) as connection, connection.begin():
        assert release(connection, streams[0], 77)
    return streams


async def note(service: SessionService, stream: str, kind: str, data: dict[str, str]) -> None:
    await service.act(stream, Action(kind, "", data, service.now_us(), by="researcher"))
