"""A guess at which model replied, judged by who really did.

A guess is about the replies before it: those of the loop's turn in which it is asked, or of the whole session where it
is asked outside of loops. Several models may have replied (side by side, one after another, a fallback); a guess is
right if it is true of any of them. Whether it was right follows from the log and the study, so no fact says it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Literal

from experiments.events import Event

UNSURE = "unsure"
"""The guess of somebody who does not know."""
Verdict = Literal["right", "wrong", "unsure"]


def about(path: str) -> str:
    """How the paths begin that a guess at this one is about: the innermost turn of a loop; empty for all."""
    return path[: path.rfind("]/") + 2] if "]/" in path else ""


def replies(events: Iterable[Event]) -> Iterator[tuple[str, str]]:
    """Where a model replied, and which one it really was: that asked for, or the one in its place."""
    return ((event.path, event.data["model"]) for event in events if event.kind == "replied")


def repliers(path: str, before: Iterable[tuple[str, str]]) -> frozenset[str]:
    """The models that a guess at a path is about, of those that replied before it."""
    return frozenset(model for where, model in before if where.startswith(about(path)))


def true_options(truth: Mapping[str, str], models: Collection[str]) -> frozenset[str]:
    """The options that are true of any of these models."""
    return frozenset(truth[model] for model in models)


def verdict(guess: str, truth: Mapping[str, str], models: Collection[str]) -> Verdict | None:
    """Whether a guess is right, given who replied; None where nobody did, so that there was nothing to guess."""
    if not models:
        return None
    if guess == UNSURE:
        return "unsure"
    return "right" if guess in true_options(truth, models) else "wrong"
