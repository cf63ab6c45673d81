"""Every state of a study and every decision about it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import product
from pathlib import Path

import pytest

from app.studies.loader import load_study
from experiments.errors import NotPossible
from experiments.session.study_status import ALWAYS, CHANGES, KINDS, PLAN, Decision, StudyState
from experiments.study.resolve import restore
from storage.db.engine import Database
from storage.registers.study_status import operations_of, set_status
from storage.registers.study_versions import publish
from tests.fakes import studies

WAYS: dict[StudyState, Sequence[Decision]] = {
    "published": (),
    "pilot": ("piloted",),
    "open": ("opened",),
    "paused": ("opened", "paused"),
    "closed": ("opened", "closed"),
}
# Recorded beside the status: metadata, draws of samples, and what happened to a plan.
NO_STATUS = ("described", "sampled", "offered", "differed", "recruiting", "recruited", *PLAN)


def allowed(state: StudyState, decision: Decision) -> bool:
    return decision in (*CHANGES[state], *ALWAYS)


@cache
def document(folder: Path) -> str:
    return load_study(str(studies.short(folder))).document


def study_in(database: Database, folder: Path, state: StudyState, name: str) -> str:
    """A study that was published, and brought to a state."""
    publish(
        database, restore(document(folder).replace('"study":"short"', f'"study":"{name}"')), by="researcher", at_us=1
    )
    for kind in WAYS[state]:
        set_status(database, name, kind, {"why": kind}, by="researcher", at_us=1)
    assert operations_of(database, name).state == state
    return name


def test_the_register_takes_a_decision_only_where_the_state_allows_it(tmp_path: Path, database: Database) -> None:
    for state, kind in product(WAYS, KINDS):
        name = f"{state}-{kind}"
        study_in(database, tmp_path, state, name)
        before = operations_of(database, name)
        data = {"why": "so", "where": {}, "most": 3, "amount": 3.0, "hash": "other", "version": 2}
        if allowed(state, kind):
            set_status(database, name, kind, data, by="researcher", at_us=2)
            assert (operations_of(database, name) != before) == (kind not in NO_STATUS), name
        else:
            with pytest.raises(NotPossible):
                set_status(database, name, kind, data, by="researcher", at_us=2)
            assert operations_of(database, name) == before, name
