"""Sessions of one reply each, written as they stand in the log, for whatever watches what models are like."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import orjson
from sqlalchemy import insert

from storage import tables
from storage.db.engine import Database, writer

HOUR_US = 3_600_000_000


@dataclass(frozen=True, slots=True)
class OneReply:
    """A reply, and whether it kept the rule of its arm (None: unknown)."""

    kept: bool | None = True
    words: int = 20
    latency_s: float = 1.0
    version: str = "m-1"
    arm: str = "tutor"


def write_sessions(database: Database, study: str, replies: Iterable[OneReply], begin_us: int, first: int = 0) -> None:
    """A finished session of a person each hour, numbered from `first`."""
    with writer(database) as connection, connection.begin():
        for number, one in enumerate(replies, first):
            stream, at_us, condition = f"{study}-{number}", begin_us + number * HOUR_US, {"role": one.arm}
            about = {"stream": stream, "recorded_us": at_us, "at_us": at_us, "path": "chat"}
            replied = {
                "model": "m", "text": "word " * one.words, "version": one.version, "total_us": 9_000_000,
                "first_token_us": round(one.latency_s * 1e6),
            }  # fmt: skip
            checked = {
                "rule": "asks", "check": "question@1", "of": 1, "turn": 1, "condition": condition, "model": "m",
                "version": one.version, "shown": True, "kept": one.kept, "value": one.kept,
            }  # fmt: skip
            facts = [(1, "model", "replied", replied), (2, "system", "fidelity_checked", checked)]
            rows = [about | {"seq": seq, "by": by, "kind": kind, "data": data} for seq, by, kind, data in facts]
            connection.execute(insert(tables.events), rows)
            seat = {"study": study, "origin": "person", "cell": orjson.dumps(condition).decode(), "outcome": "complete"}
            times = {"until_us": at_us, "begun_us": at_us, "last_us": at_us}
            connection.execute(insert(tables.seats), {"stream": stream, **seat, **times})
