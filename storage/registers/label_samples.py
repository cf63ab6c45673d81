"""Random samples of annotated conversations that people are to label: `sampled` events of the study's own stream.

    sampled {label_study, annotator, model, origin, seed, population, sample}

`population` and `sample` are the ids of conversations in label studies, which only the deployment's secret can trace
back. Whether human labels stand for all conversations depends on how the labelled ones were chosen, so it is recorded
when they are drawn, and not asked for later.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from sqlalchemy import Connection

from experiments.events import Actor
from storage.db.engine import Database
from storage.registers.study_status import StatusTransaction, decided, study_events

SAMPLED = "sampled"


@dataclass(frozen=True, slots=True)
class LabelSample:
    """The parameters by which the conversations of a label study were drawn."""

    label_study: str
    annotator: str
    model: str
    """The model whose annotations were drawn from; empty for all."""
    origin: str
    seed: str
    population: tuple[str, ...]
    sample: tuple[str, ...]


def record_label_sample(database: Database, study: str, sample: LabelSample, *, by: Actor, at_us: int) -> bool:
    """Record a draw; returns False if the same one was recorded before."""

    def add(transaction: StatusTransaction) -> bool:
        if sample in _recorded(transaction.connection, study):
            return False
        transaction.add("sampled", asdict(sample), by=by, at_us=at_us)
        return True

    return decided(database, study, add)


def _recorded(connection: Connection, study: str) -> list[LabelSample]:
    found = (event.data for event in study_events(connection, study, SAMPLED))
    ids = ("population", "sample")
    return [LabelSample(**{**data, **{name: tuple(data[name]) for name in ids}}) for data in found]
