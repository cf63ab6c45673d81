"""What is spent while spending is read: who ends in between is not missed, whatever a database lets a reader see."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event, insert

from app.library import load_study
from storage import tables
from storage.engine import Database
from storage.spending import spending
from tests.fakes import studies

LIMIT, COST, NOW_US = 0.5, 0.25, 10**15
FEWEST = 3
"""So many statements there are at least between which somebody may end."""


class Session:
    """One who is in the midst of a study, and spends twice what each attempt costs."""

    def __init__(self, database: Database, study: Any) -> None:
        self._database, self._study = database, study
        self._spent = self._facts = 0
        self._add(tables.sessions, study=study.name, hash=study.hash, origin="person", ordinal=1, stream="one")
        seat = {"begun_us": NOW_US, "until_us": NOW_US, "cell": "{}", "placed": True}
        self._add(tables.seats, study=study.name, origin="person", stream="one", **seat)
        self._fact("enrolled")
        self.spends()

    def spends(self) -> None:
        """Pay for an attempt."""
        self._spent += 1
        own = {"study": self._study.name, "path": "", "started_us": NOW_US, "model": "only", "backend": "scripted"}
        what = {"request": {}, "text": "", "total_us": 1, "cost": COST}
        self._add(tables.attempts, stream="one", turn=self._spent, slot="", number=1, **own, **what)

    def ends(self) -> None:
        """Come to the end."""
        self._fact("finished")

    def _fact(self, kind: str) -> None:
        self._facts += 1
        told = {"recorded_us": NOW_US, "at_us": NOW_US, "by": "system", "path": "", "kind": kind, "data": {}}
        self._add(tables.events, stream="one", seq=self._facts, **told)

    def _add(self, table: Any, **values: Any) -> None:
        with self._database.begin() as connection:
            connection.execute(insert(table).values(**values))


@pytest.mark.parametrize("after", range(1, FEWEST + 1))
def test_who_spends_and_ends_while_it_is_read_is_not_missed(
    tmp_path: Path, each_database: Database, after: int
) -> None:
    raw = studies.read_yaml(studies.chat(tmp_path, price={"prompt": 1, "completion": 1})) | {"cost_limit": LIMIT}
    study = load_study(str(studies.write(tmp_path, raw)))
    session = Session(each_database, study)
    read = 0

    def meanwhile(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        nonlocal read
        read += statement.startswith("SELECT")
        if read == after and statement.startswith("SELECT"):
            session.spends()
            session.ends()

    event.listen(each_database, "after_cursor_execute", meanwhile)
    found = spending(each_database, study, (), NOW_US)
    event.remove(each_database, "after_cursor_execute", meanwhile)
    assert read >= FEWEST
    assert found.bound == pytest.approx(2 * COST), "spent by then, or promised"
