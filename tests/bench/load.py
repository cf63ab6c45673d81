"""Parley with so many people at once: `python -m tests.bench.load`.

The shipped server runs on the machine's first core with its gate and its limits of rates, but for the limit of an
address, as all come from one; those who load it, and the model server, have the second. People do what page.js and
watch.js do: load the page, look, type, click, chat, tell of it, one after another for ever. `--facts` puts so many
events of earlier participants beside them. `--tools` has a scripted model that uses a tool before each reply: of no
server (`none`, to compare with), of one over HTTP (`url`), or of one for each participant (`command`).
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sqlite3
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlencode

import orjson
import uvloop

from app.studies.loader import read_yaml
from storage.db.engine import open_database, writer
from storage.log.writer import recount_usage
from tests.bench import bars, servers
from tests.bench.model_server import DRIVERS_CORE, EACH_S, FIRST_S, TOKENS, model_server, on_core
from tests.bench.wire import Wire
from tests.fakes import studies
from tests.fakes.served import Process, ticket
from tests.fakes.tool_server import RUN, over_http

STUDY = "load"
# At p95.
MOST_MS = {"click": 100, "first token": 100}
MOST_MB = 350
PEOPLE = 300
MODEL: Mapping[str, Any] = {"backend": "openai", "model": "load-1", "options": {"reasoning_until": ""}}
# How long a visit takes. People come over as long as that, or they would all chat at the same time.
VISIT_S = 18.0
# Before a click; until the page keeps what is typed; between what it tells of itself.
THINK_S, DRAFT_S, TOLD_S = (1.0, 3.0), 2.0, 30.0
SCREEN = {"kind": "screen", "shown_ms": 2000, "visible_ms": 2000, "reading_ms": 1500, "typing_ms": 300, "ago_ms": 10}
HEARD = {"type": "single_choice", "name": "heard", "text": "How did you hear of us?"}
MESSAGES = ("Here is my question: what is the value of f(x) at the point where both are equal?", "So which one is it?")
# What a participant does, screen by screen.
SCRIPT: tuple[tuple[str, Mapping[str, Any]], ...] = (
    ("submit", {"agreed": "on"}),
    ("submit", {"heard": "From a friend"}),
    ("submit", {"confidence": "somewhat-confident"}),
    ("submit", {"answer": "B"}),
    *(("say", {"text": text}) for text in MESSAGES),
    ("submit", {"answer": "A"}),
)
EARLIER_US = 6 * 3_600_000_000
TIMES = ("at_us", "begun_us", "last_us", "until_us", "due_us", "started_us", "recorded_us", "released_us")


@dataclass
class Found:
    """Milliseconds by what was done, and what went wrong; only while `measuring`."""

    times: dict[str, list[float]] = field(default_factory=dict)
    errors: Counter[str] = field(default_factory=Counter)
    measuring: bool = False
    cpu_ms: float = 0.0
    """Of the server's processor, for a click with everything that comes with it."""
    mb: float = 0.0

    def note(self, what: str, seconds: float) -> None:
        if self.measuring:
            self.times.setdefault(what, []).append(1e3 * seconds)

    def p(self, what: str, share: float) -> float:
        some = sorted(self.times.get(what, [float("nan")]))
        return some[min(len(some) - 1, int(share * len(some)))]

    def missed(self) -> list[str]:
        told = [f"{what} p95" for what, most in MOST_MS.items() if not self.p(what, 0.95) <= most]
        return told + ["memory"] * (self.mb > MOST_MB) + ["errors"] * bool(self.errors)


class Participant:
    """One of them, over a connection of their own."""

    def __init__(self, wire: Wire, found: Found, chance: random.Random) -> None:
        self._wire, self._found, self._chance = wire, found, chance
        self._now: dict[str, Any] = {}
        self._left: list[dict[str, Any]] = []
        self._told = time.monotonic()

    async def takes_part(self) -> None:
        came = time.perf_counter()
        await self._wire.ask("GET", f"/s/{STUDY}")
        await self._wire.ask("POST", f"/s/{STUDY}", urlencode(ticket(STUDY)).encode(), status=303)
        await self._wire.ask("GET", "/")
        self._now = orjson.loads(await self._wire.ask("POST", "/api/look", self._asking({})))
        self._found.note("arrival", time.perf_counter() - came)
        for kind, values in SCRIPT:
            await self._think(values)
            await self._act(kind, values)
            if time.monotonic() > self._told + TOLD_S or self._now["ended"]:
                await self._tell()
        if not self._now["ended"]:
            raise RuntimeError("is not at the end")

    async def _think(self, values: Mapping[str, Any]) -> None:
        """Think and type, until some moment of it; what is typed is kept after a pause."""
        think_s = self._chance.uniform(*THINK_S)
        typing_s = self._chance.uniform(0, think_s)
        if think_s < typing_s + DRAFT_S:
            await asyncio.sleep(think_s)
            return
        await asyncio.sleep(typing_s + DRAFT_S)
        body = {"path": self._now["path"], "whose": self._now.get("whose"), "values": values}
        await self._wire.ask("POST", "/api/draft", orjson.dumps(body))
        await asyncio.sleep(think_s - typing_s - DRAFT_S)

    async def _act(self, kind: str, values: Mapping[str, Any]) -> None:
        at = {"path": self._now["path"], "seen": self._now["seen"]}
        own = {"whose": self._now.get("whose"), "key": f"{self._chance.getrandbits(128):032x}"}
        body = self._asking({"kind": kind, **at, **own, "values": values, "follow": True})
        if kind == "say":
            await self._say(body)
        else:
            begun = time.perf_counter()
            self._now = orjson.loads(await self._wire.ask("POST", "/api/act", body))
            self._found.note("click", time.perf_counter() - begun)
        self._left.append({**at, **SCREEN})
        if self._now["note"] or self._now["faults"]:
            raise RuntimeError(f"{kind} was refused: {self._now['note']} {self._now['faults']}")

    async def _tell(self) -> None:
        records, self._left, self._told = self._left, [], time.monotonic()
        if self._now["telemetry"]:
            own = {"key": f"{self._chance.getrandbits(128):032x}", "whose": self._now.get("whose")}
            await self._wire.ask("POST", "/api/telemetry", orjson.dumps({**own, "records": records}), status=204)

    async def _say(self, body: bytes) -> None:
        begun, words, pieces = time.perf_counter(), list[float](), list[bytes]()

        def heard(piece: bytes) -> None:
            now = time.perf_counter()
            if not pieces and piece.startswith(b"event: screen"):
                self._found.note("click", now - begun)
            pieces.append(piece)
            said = piece.partition(b"event: delta")[2]
            if not words and b'"text":"' in said and b'"text":""' not in said:
                words.append(now)

        told = await self._wire.ask("POST", "/api/act", body, heard=heard)
        while True:  # a tool's call ends what is followed, and the reply is followed after it
            _, done, after = told.rpartition(b"event: done\ndata: ")
            if not done:
                raise RuntimeError(f"a reply was not whole: {told[:200].decode(errors='replace')}")
            self._now = orjson.loads(after)
            if not self._now["slots"]:
                break
            following = urlencode({"slot": "", "offset": 0, "view": "page", "shown": self._now["shown"]})
            told = await self._wire.ask("GET", f"/api/reply?{following}", heard=heard)
        if not words:
            raise RuntimeError(f"a reply had no word: {told[:200].decode(errors='replace')}")
        self._found.note("first token", words[0] - begun - FIRST_S)
        self._found.note("whole reply", time.perf_counter() - begun - FIRST_S - EACH_S * (TOKENS - 1))

    def _asking(self, body: Mapping[str, Any]) -> bytes:
        return orjson.dumps({**body, "shown": self._now.get("shown"), "view": "page"})


async def crowd(port: int, number: int, found: Found, ramp_s: float) -> None:
    async def place(index: int) -> None:
        await asyncio.sleep(ramp_s * index / number)
        for nth in range(1_000_000):
            wire = Wire(port)
            try:
                await Participant(wire, found, random.Random(f"{index} {nth}")).takes_part()
            except (RuntimeError, OSError, TimeoutError, KeyError, orjson.JSONDecodeError) as error:
                found.errors[f"{type(error).__name__}: {error}"[:160]] += 1
                await asyncio.sleep(1)
            finally:
                wire.close()

    async with asyncio.TaskGroup() as tasks:
        for index in range(number):
            tasks.create_task(place(index))


async def loaded(process: Process, people: int, seconds: float) -> Found:
    found, ramp_s = Found(), max(VISIT_S, people / 60)
    coming = asyncio.create_task(crowd(process.port, people, found, ramp_s))
    await asyncio.sleep(ramp_s + 5)
    found.errors.clear()
    before_s, found.measuring = servers.used_s(process), True
    await asyncio.wait([coming], timeout=seconds)
    found.measuring = False
    found.cpu_ms = 1e3 * (servers.used_s(process) - before_s) / max(1, len(found.times.get("click", [])))
    found.mb = bars.peak_mb(process.pid)
    coming.cancel()
    await asyncio.gather(coming, return_exceptions=True)
    return found


def study_file(folder: Path, tools: Mapping[str, Any] | None = None) -> Path:
    """Consent, a question about oneself, one question answered alone and then with a chatbot, the end. With `tools`,
    which may be none, the chatbot is scripted, and uses them."""
    raw = read_yaml(studies.chat(folder, STUDY, **MODEL))
    raw["flow"][1]["do"] = "answer-first@1"
    if tools is not None:
        calls = [[{"tool": "find", "arguments": {"order": "7"}}]] * len(MESSAGES) if tools else []
        options = {"first_ms": round(1e3 * FIRST_S), "pace_ms": round(1e3 * EACH_S), "calls": calls}
        raw["models"]["only"] = {"backend": "scripted", "options": options}
        raw |= {"tools": {"desk": dict(tools)}} if tools else {}
        chat = {"step": "chat", "id": "with_ai", "model": "only", "answer": True, "min_messages": 1}
        alone = [{"step": "confidence"}, {"step": "answer", "id": "alone"}]
        raw["flow"][1]["flow"] = [*alone, chat | ({"tools": "desk"} if tools else {})]
        del raw["flow"][1]["do"]
    asked = [HEARD | {"options": ["From a friend", "Elsewhere"]}]
    raw["flow"].insert(1, {"step": "survey", "id": "about", "title": "About you", "questions": asked})
    return studies.write(folder, raw)


@contextmanager
def tool_place(kind: str) -> Iterator[Mapping[str, Any] | None]:
    """The set of tools for `--tools`; None without."""
    if kind == "url":
        with on_core(DRIVERS_CORE), over_http() as url:
            yield {"url": url}
    else:
        yield {"command": [sys.executable, "-c", RUN]} if kind == "command" else {} if kind else None


def measure(folder: Path, people: int, seconds: float, tools: str = "") -> Found:
    limits = {"address_rate_multiplier": people, "sessions_per_address_per_hour": 1_000_000}
    with model_server() as models, tool_place(tools) as place:
        settings = limits | {"openai_base_url": models.base_url, "openai_api_key": "sk-load"}
        with servers.parley(folder, study_file(folder, place), **settings) as process:
            with on_core(DRIVERS_CORE):
                found = uvloop.run(loaded(process, people, seconds))
            print(process.log[-1_500:] if found.errors else "", end="", file=sys.stderr)
            return found


def grow(path: Path, facts: int) -> None:
    """Copy the sessions that ended, under other names and at earlier times, until there are so many facts of them."""
    with closing(sqlite3.connect(path)) as database, database:
        of_ended = "(SELECT stream FROM seat WHERE outcome IS NOT NULL)"
        (there,) = database.execute(f"SELECT count(*) FROM event WHERE stream IN {of_ended}").fetchone()
        (last,) = database.execute("SELECT max(ordinal) FROM session").fetchone()
        database.execute(f"CREATE TEMP TABLE ended AS SELECT stream AS one FROM {of_ended}")
        database.execute(
            "CREATE TEMP TABLE copy AS WITH RECURSIVE up(nth) AS (SELECT 1 UNION ALL SELECT nth + 1 FROM up "
            f"WHERE nth < {-(-facts // there)}) SELECT nth FROM up"
        )
        for (table,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            names = [told[1] for told in database.execute(f'PRAGMA table_info("{table}")')]
            stream = next((name for name in ("_session", "stream") if name in names), "")
            if not stream or table == "participant_identity":  # whose rows may not be there twice
                continue
            made = {name: f'"{name}" - nth * {EARLIER_US}' for name in TIMES}
            made |= {stream: f"substr(\"{stream}\", 1, 30) || printf('%06x', nth)"}
            made |= {"ordinal": f"ordinal + nth * {last}"}
            columns = ", ".join(f'"{name}"' for name in names)
            values = ", ".join(made.get(name, f'"{name}"') for name in names)
            rows = f'temp.ended JOIN "{table}" ON "{stream}" = one CROSS JOIN temp.copy'
            database.execute(f'INSERT INTO "{table}" ({columns}) SELECT {values} FROM {rows}')
    database_ = open_database(f"sqlite:///{path}")
    with writer(database_) as connection, connection.begin():
        recount_usage(connection)
        connection.exec_driver_sql("ANALYZE")
    database_.dispose()


def main(given: list[str] | None = None) -> int:
    """Measure and print; 1 where a bar for 300 people is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, nargs="*", default=(PEOPLE, 2 * PEOPLE))
    parser.add_argument("--seconds", type=float, default=40)
    parser.add_argument("--facts", type=int, default=0, help="events of earlier participants in the database")
    parser.add_argument("--tools", choices=("none", "url", "command"), default="")
    wanted = parser.parse_args(given)
    rows, missed = [], []
    for people in wanted.people:
        with TemporaryDirectory() as name:
            if wanted.facts:
                measure(Path(name), people, VISIT_S)
                grow(Path(name) / "parley.db", wanted.facts)
            found = measure(Path(name), people, wanted.seconds, wanted.tools)
        missed += found.missed() if people == PEOPLE else []
        three = [
            " / ".join(f"{found.p(what, share):.0f}" for share in (0.5, 0.95, 0.99))
            for what in ("click", "arrival", "first token", "whole reply")
        ]
        rows.append((f"{people}", *three, f"{found.errors.total()}", f"{found.cpu_ms:.2f}", f"{found.mb:.0f}"))
        for error, often in found.errors.most_common(3):
            print(f"  {often} x {error}")
    header = ("people", "click p50/95/99, ms", "arrival", "first token over", "whole reply over", "errors")
    title = f"Under load beside {wanted.facts:,} facts"
    return bars.told(title, (*header, "CPU-ms a click", "MB"), rows, missed)


if __name__ == "__main__":
    sys.exit(main())
