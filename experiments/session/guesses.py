"""Grades guesses at which model replied.

A guess is about the replies before it: in the loop turn in which it is asked, or in the whole session if it is asked
outside of loops. Several models may have replied (side by side, one after another, a fallback); a guess is correct if
it is true of any of them. Its correctness follows from the log and the study, so no event records it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Literal

from experiments.events import Event
from experiments.session.conversation import is_by_model

UNSURE = "unsure"
Verdict = Literal["right", "wrong", "unsure"]


def about(path: str) -> str:
    """The path prefix of the replies that a guess at this path is about: the innermost loop turn; empty for all."""
    return path[: path.rfind("]/") + 2] if "]/" in path else ""


def replies(events: Iterable[Event]) -> Iterator[tuple[str, str]]:
    """The path of each reply and the model that wrote it, which may be a fallback."""
    return ((event.path, event.data["model"]) for event in events if is_by_model(event))


def repliers(path: str, before: Iterable[tuple[str, str]]) -> frozenset[str]:
    """The models that a guess at a path is about; `before` are the earlier replies, as pairs of path and model."""
    return frozenset(model for where, model in before if where.startswith(about(path)))


def true_options(truth: Mapping[str, str], models: Collection[str]) -> frozenset[str]:
    return frozenset(truth[model] for model in models)


def verdict(guess: str, truth: Mapping[str, str], models: Collection[str]) -> Verdict | None:
    """The grade of a guess, given the models that replied; None if none did."""
    if not models:
        return None
    if guess == UNSURE:
        return "unsure"
    return "right" if guess in true_options(truth, models) else "wrong"
