"""What a server was told by who came last."""

from experiments.events import Event
from storage.db.engine import open_database
from tests.fakes.served import Process
from tests.wiring.reading import facts, query

NEWEST = "SELECT stream FROM event WHERE seq = 1 ORDER BY at_us DESC LIMIT 1"


def newest_facts(process: Process) -> list[Event]:
    """The facts of the session that was begun last."""
    database = open_database(process.database_url)
    try:
        ((stream,),) = query(database, NEWEST)
        return facts(database, stream)
    finally:
        database.dispose()


def attempts(process: Process) -> int:
    """How often a model was asked in that session."""
    database = open_database(process.database_url)
    try:
        return len(query(database, f"SELECT reason FROM attempt WHERE stream = ({NEWEST})"))
    finally:
        database.dispose()


def count(process: Process, kind: str) -> int:
    """How many facts of a kind there are in that session."""
    return sum(event.kind == kind for event in newest_facts(process))


def sessions(process: Process) -> int:
    """How many sessions there are."""
    database = open_database(process.database_url)
    try:
        return int(query(database, "SELECT count(*) FROM session")[0][0])
    finally:
        database.dispose()
