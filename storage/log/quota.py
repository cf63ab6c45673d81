"""What the other sessions of a study have, as the transaction sees it that is about to add one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy import Connection

from experiments.session.study_status import Operations
from experiments.study.cells import Counts, cells, open_cells
from experiments.study.recruitment import Cap
from experiments.study.resolve import Study
from storage.db.engine import Database
from storage.log.item_counts import taken
from storage.log.seats import counts
from storage.registers.origins import Origin
from storage.registers.study_status import operations_in


def is_full(database: Database, study: Study, caps: Sequence[Cap], now_us: int) -> bool:
    """Whether caps leave no place for a person, at a glance: who begins is counted again as they do."""
    if not caps:
        return False
    with database.connect() as connection:
        known = Others(connection, now_us).counts(study, Origin.PERSON)
    return not open_cells(cells(study.factors, study.pools), known, caps)


@dataclass(frozen=True, slots=True)
class Others:
    """A view of a study's other sessions; it holds as long as the transaction, and nobody else counts meanwhile."""

    connection: Connection
    now_us: int
    _counts: dict[tuple[str, str], Counts] = field(default_factory=dict)

    def operations(self, study: Study) -> Operations:
        """What was decided about the study."""
        return operations_in(self.connection, study.name)

    def counts(self, study: Study, origin: str) -> Counts:
        """How many are in each cell."""
        key = (study.name, origin)
        if key not in self._counts:
            lease_s = study.file.session_limits.hold_place_s
            self._counts[key] = counts(self.connection, study.name, origin, self.now_us, lease_s)
        return self._counts[key]

    def taken(self, study: Study, origin: str, path: str) -> Mapping[str, int]:
        """How often each problem is taken in the loop at a path."""
        return taken(self.connection, study.name, origin, path, self.now_us, study.file.session_limits.hold_place_s)
