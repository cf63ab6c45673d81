"""A study's sessions besides released rows: those that are analysed, and labels of problems."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from experiments.views.problem_history import problem_turns
from storage.db.engine import Database
from storage.log.folded_sessions import FoldedSession, folded_sessions
from storage.log.seats import sessions_left_out
from storage.registers.origins import Origin, origins


def analysed_sessions(
    database: Database, study: str, origin: str, *, complete: bool = False
) -> Iterator[FoldedSession]:
    """The sessions of one origin; those that were excluded or (with `complete`) were not completed are left out."""
    return folded_sessions(database, study, (origin,), sessions_left_out(study, origin, complete=complete))


@dataclass(frozen=True, slots=True)
class Label:
    """One form that somebody sent about a problem; `rater` is the session's stream."""

    rater: str
    problem: str
    values: Mapping[str, Any]


def labels(database: Database, study: str, origin: str | None, step: str) -> Iterator[Label]:
    """The answers about problems in a step; people's, unless there are none. Excluded sessions are left out."""
    with database.connect() as connection:
        own = next((one for one in origins(connection, study, origin) if one != Origin.IMPORT), None)
    for session in analysed_sessions(database, study, own) if own else ():
        for unit in problem_turns(session.study, session.state):
            for done in unit.steps:
                if done.id == step and done.submitted is not None:
                    yield Label(session.stream, unit.problem.id, done.submitted.data)
