"""Facts, which the log holds, and actions, which can be requested of a session.

An Action is a request (a verb: submit, say, rate); an Event is a fact (a past participle: submitted, said, rated).
Only `session.decide` turns the one into the other. A fact, once released, is never redefined; a new kind is added.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Actor = Literal["participant", "model", "system", "researcher"]
Data = Mapping[str, Any]

ASKED, HELPED, GIVEN = "asked_for_help", "helped", "time_given"
# What is written about reminders (experiments/session/reminders.py).
REMINDING = ("subscribed", "unsubscribed", "reminded", "reminder_sent", "reminder_failed")
# No note changes a screen.
NOTES = frozenset({"noted", "flagged", "annotated", "fidelity_checked", "withheld", "excluded", "included", "paid"})
NOTES |= {"recalled", "remembered", ASKED, HELPED, GIVEN, *REMINDING}
# Nor does what a model wrote and nobody has read yet.
SILENT = NOTES | {"written"}


@dataclass(frozen=True, slots=True)
class Event:
    """One fact of a session: `seq` counts from 1 without gaps, `at_us` is microseconds UTC, `path` names the place."""

    seq: int
    at_us: int
    by: Actor
    path: str
    kind: str
    data: Data
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Action:
    """A request: `seen` is the number of the last fact that changed the asker's screen, `key` makes it idempotent."""

    kind: str
    path: str
    data: Data
    at_us: int
    by: Actor = "participant"
    seen: int | None = None
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Fact:
    """The outcome of an action in a step: a kind and its data, not yet numbered or dated. `by` and `path` are the
    action's by default."""

    kind: str
    data: Data = field(default_factory=dict)
    by: Actor | None = None
    path: str | None = None


@dataclass(frozen=True, slots=True)
class PendingTask:
    """Something the world still has to do for a session: all at once, but for a reply, which comes from
    a model, and a call of a tool.

    An assignment needs to know how many are in each cell: the action's `counts`, and which are `closed`. A draw with a
    `target` in its data needs to know how often each problem is taken: the action's `taken`, by id. To recall earlier
    waves needs what is known of them (`memory.history_of`). `slot` tells several replies at one place apart; the action
    that gives one has it in its data.
    """

    kind: Literal["assign", "draw", "order", "recall", "finish", "reply", "tool"]
    path: str
    data: Data
    slot: str = ""
