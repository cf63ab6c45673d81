"""What was erased leaves SQLite's journal too, also while somebody reads."""

from pathlib import Path
from threading import Timer

from sqlalchemy import insert, select

from storage import tables
from storage.db.engine import open_database, writer
from storage.log.erasure import truncate_wal


def test_the_journal_is_emptied_once_a_short_reader_has_ended(tmp_path: Path) -> None:
    database = open_database(f"sqlite:///{tmp_path}/parley.db")
    with database.connect() as reader, writer(database) as connection:
        reader.execute(select(tables.deeds))
        with connection.begin():
            connection.execute(insert(tables.deeds), [{"at_us": 1, "who": "a", "what": "b", "about": "c"}])
        ending = Timer(0.1, reader.rollback)
        ending.start()
        truncate_wal(connection)
        ending.join()
        assert (tmp_path / "parley.db-wal").stat().st_size == 0
