"""The publication metadata of a study's data: `described` events of the study's own stream, the last of which counts.

They belong to the study, not to a version of it, so that a DOI can be added when the data have been collected. Imported
data have them in the same way.
"""

from __future__ import annotations

from sqlalchemy import Connection, select

from experiments.events import Actor
from experiments.study.sections.dataset_info import DatasetInfo
from storage import tables
from storage.db.engine import Database
from storage.registers.stream_ids import study_stream
from storage.registers.study_status import StatusTransaction, decided

_fact = tables.events.c


def dataset_info_in(connection: Connection, study: str) -> DatasetInfo | None:
    return next(reversed(_recorded(connection, study)), None)


def dataset_info_of(database: Database, study: str) -> DatasetInfo | None:
    with database.connect() as connection:
        return dataset_info_in(connection, study)


def record_dataset_info(
    database: Database, study: str, info: DatasetInfo | None, *, by: Actor, at_us: int, once: bool = False
) -> bool:
    """As `describe_in`, in a transaction of its own."""
    return decided(database, study, lambda now: describe_in(now, info, by=by, at_us=at_us, once=once))


def describe_in(
    transaction: StatusTransaction, info: DatasetInfo | None, *, by: Actor, at_us: int, once: bool = False
) -> bool:
    """Make these the current metadata; returns False if nothing was recorded, because they were or are None.

    With `once`, metadata that were recorded at any time before are not recorded again, so that an old study file with
    which a server is restarted does not replace later metadata.
    """
    before = _recorded(transaction.connection, transaction.study)
    if info is None or info in (before if once else before[-1:]):
        return False
    data = info.model_dump(mode="json", exclude_defaults=True)
    transaction.add("described", {"dataset": data}, by=by, at_us=at_us)
    return True


def _recorded(connection: Connection, study: str) -> list[DatasetInfo]:
    conditions = _fact.stream == study_stream(study), _fact.kind == "described"
    found = connection.execute(select(_fact.data).where(*conditions).order_by(_fact.seq)).scalars()
    return [DatasetInfo.model_validate(data["dataset"]) for data in found]
