"""Every state of a study and every decision about it, by both doors: commands and the console allow the same."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
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
from tests.fakes.commanding import parley
from tests.fakes.console import console
from tests.fakes.researcher import value

pytestmark = pytest.mark.anyio
WAYS: dict[StudyState, Sequence[Decision]] = {
    "draft": (),
    "pilot": ("piloted",),
    "open": ("opened",),
    "paused": ("opened", "paused"),
    "closed": ("opened", "closed"),
}
COMMANDS: dict[Decision, Sequence[str]] = {
    "piloted": ("recruit", "pilot"),
    "opened": ("recruit", "open"),
    "paused": ("recruit", "pause"),
    "closed": ("recruit", "close"),
    "capped": ("recruit", "quota", "3"),
    "budgeted": ("recruit", "budget", "3"),
}
"""What decides so on the command line, where the study stands after the second word."""
CLICKS: dict[Decision, str] = {
    **{kind: f"decide-{kind}" for kind in ("piloted", "opened", "paused")},  # type: ignore[dict-item]
    "closed": "close-yes",
    "capped": "cap-set",
}


NO_STATUS = ("described", "sampled", *PLAN)
"""Recorded beside the status: metadata, draws of samples, and what happened to a plan."""


def allowed(state: StudyState, kind: Decision) -> bool:
    return kind in (*CHANGES[state], *ALWAYS)


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


def each(*doors: str) -> Iterator[tuple[StudyState, Decision, str]]:
    for state, kind in product(WAYS, KINDS):
        yield from ((state, kind, f"{door}-{state}-{kind}") for door in doors)


def test_the_register_takes_a_decision_only_where_the_state_allows_it(tmp_path: Path, database: Database) -> None:
    for state, kind, name in each("register"):
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


async def test_commands_and_the_console_decide_alike(tmp_path: Path, database: Database) -> None:
    every = [(state, kind, name) for state, kind, name in each("both") if kind in COMMANDS]
    for state, _, name in every:
        study_in(database, tmp_path, state, name)
    async with console(tmp_path, database) as (_, researcher):
        await researcher.open(tab="studies", study=every[0][2])
        for state, kind, name in every:
            before = operations_of(database, name)
            if not allowed(state, kind):  # as on a page that was painted before another decision
                clicked = await researcher.on(CLICKS[kind], "click", study=name)
                assert 'class="note bad"' in value(clicked["note"]), name
                assert operations_of(database, name) == before, name
            group, command, *words = COMMANDS[kind]
            done = await asyncio.to_thread(parley, group, command, name, *words, folder=tmp_path)
            assert (done.returncode == 0) == allowed(state, kind), (name, done)
            assert (operations_of(database, name) != before) == allowed(state, kind), name
