"""What `tests.bench.exports` measures, each in a process of its own: `python -m tests.bench.engines TASK DATABASE ...`.

Each task prints how many rows it moved, in how many seconds, and the most memory that its process had. A rival reads
the same rows of the same columns, in the same order unless it is `plain`, and writes them with nothing else to do.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import sqlite3
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from storage.schemas.chatbench import ANSWER_COLUMNS, CONVERSATION_COLUMNS, FULL_STUDY

IMPORTED, LIVE = "release", "chatbench"
"""The studies that hold the imported and the live-like rows; the second is the bundled one, so that it is known."""
ORDERS = {
    "import": "WHERE _study = 'release' AND _part = 'full_study' ORDER BY _seq",
    "person": (
        "JOIN session ON session.stream = _session WHERE session.study = 'chatbench' AND origin = 'person' "
        "AND _study = 'chatbench' AND _part = 'full_study' ORDER BY ordinal, _seq"
    ),
    "plain": "",
}
AT_THE_SAME_TIME = 50
"""How many live-like sessions take turns, as rows of people who are there at once lie between each other."""


def peak_mb() -> float:
    """The most memory of this process; Linux's own word, as ru_maxrss begins with what the parent had."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text().split("VmHWM:")[1].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def import_(database: Path, *paths: str) -> int:
    from storage.datasets.imports.importer import import_files
    from storage.db.engine import open_database

    done = import_files(open_database(f"sqlite:///{database}"), "chatbench", [Path(path) for path in paths], IMPORTED)
    return sum(file.new for file in done)


def ours(database: Path, origin: str, file: str, to: str) -> int:
    from storage.datasets.exports.exporter import stream
    from storage.datasets.exports.plan import ExportRequest
    from storage.db.engine import open_database

    request = ExportRequest(IMPORTED if origin == "import" else LIVE, "chatbench", origin)
    with open(to, "wb") as out:
        return stream(open_database(f"sqlite:///{database}"), request, out, file)


def adbc(database: Path, order: str, to: str) -> int:
    import adbc_driver_sqlite.dbapi as driver
    import pyarrow.csv  # type: ignore[import-untyped]

    count = 0
    names = ", ".join(column.name for column in ANSWER_COLUMNS)
    with driver.connect(str(database)) as connection, connection.cursor() as cursor:
        cursor.execute(f"SELECT {names} FROM user_answers {ORDERS[order]}")
        batches = cursor.fetch_record_batch()
        with pyarrow.csv.CSVWriter(to, batches.schema) as writer:
            for batch in batches:
                writer.write_batch(batch)
                count += batch.num_rows
    return count


def lines(database: Path, order: str, to: str) -> int:
    import orjson

    names = [column.name for column in CONVERSATION_COLUMNS]
    told = names.index("chat_history")
    rows = sqlite3.connect(database).execute(f"SELECT {', '.join(names)} FROM conversations {ORDERS[order]}")
    count = 0
    with open(to, "wb", buffering=1 << 20) as out:
        for row in rows:
            cells = [*row[:told], orjson.Fragment(row[told]), *row[told + 1 :]]
            out.write(orjson.dumps(dict(zip(names, cells, strict=True)), option=orjson.OPT_APPEND_NEWLINE))
            count += 1
    return count


def live(database: Path, imported: str) -> int:
    """A database with the same rows as live sessions have them: sessions in order of arrival, many at the same time."""
    from app.studies.loader import load_study
    from storage.db.engine import open_database
    from storage.registers.studies import Studies

    engine, study = open_database(f"sqlite:///{database}"), load_study(LIVE)
    Studies(engine).register(study)
    engine.dispose()
    with sqlite3.connect(database) as connection:
        connection.execute("ATTACH ? AS old", (imported,))
        own = "'chatbench', _session, _part, _seq, NULL"
        arrival = f"ORDER BY s.ordinal / {AT_THE_SAME_TIME}, n"
        nth = "row_number() OVER (PARTITION BY _session ORDER BY _seq) AS n"
        connection.execute(
            "INSERT INTO session SELECT stream, 'chatbench', ?, 'person', ordinal FROM old.session", (study.hash,)
        )
        connection.execute(
            "INSERT INTO event SELECT stream, 1, 0, 0, 'system', '', 'finished', '{}', NULL FROM old.session"
        )
        for table, columns in (("user_answers", ANSWER_COLUMNS), ("conversations", CONVERSATION_COLUMNS)):
            names = ", ".join(column.name for column in columns)
            connection.execute(
                f"INSERT INTO {table} (_study, _session, _part, _seq, _written, {names}) SELECT {own}, {names} "
                f"FROM (SELECT *, {nth} FROM old.{table}) JOIN old.session s ON s.stream = _session {arrival}"
            )
        count = connection.execute("SELECT count(*) FROM user_answers WHERE _part = ?", (FULL_STUDY,)).fetchone()[0]
    return int(count)


TASKS: Mapping[str, Callable[..., int]] = {"import": import_, "ours": ours, "adbc": adbc, "lines": lines, "live": live}

NEEDS = {
    "import": ("storage.datasets.imports.importer",),
    "ours": ("storage.datasets.exports.exporter",),
    "adbc": ("adbc_driver_sqlite.dbapi", "pyarrow.csv"),
    "lines": ("orjson",),
    "live": (),
}
"""What is imported before the clock runs."""


def main() -> None:
    task, database, *rest = sys.argv[1:]
    for name in NEEDS[task]:
        importlib.import_module(name)
    begun = time.perf_counter()
    count = TASKS[task](Path(database), *rest)
    seconds = time.perf_counter() - begun
    sys.stdout.write(json.dumps({"rows": count, "seconds": seconds, "mb": peak_mb()}) + os.linesep)


if __name__ == "__main__":
    main()
