"""The registry of annotators: those in this folder, and those of other packages (entry points in "parley.annotators").

    @annotator("user_effort")
    class UserEffort(Annotator): ...

A study can define more (`annotators:` in its file, or in a file of annotators), under other names, so that a name in
the data always means one annotator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from app.annotation.annotators.base import Annotator
from app.annotation.annotators.custom import CustomAnnotator
from app.errors import AnnotatorUnknown
from experiments.errors import suggestion
from experiments.study.annotators import AnnotatorSpec
from problems.plugins import Registry

ANNOTATORS: Registry[type[Annotator]] = Registry(
    "annotator", "app.annotation.annotators", "parley.annotators", AnnotatorUnknown
)
A = TypeVar("A", bound=type[Annotator])


def annotator(name: str) -> Callable[[A], A]:
    """Register the class below as the annotator `name`."""

    def register(cls: A) -> A:
        ANNOTATORS.add(name, cls)
        cls.name = name
        return cls

    return register


def annotators(names: Iterable[str], own: Mapping[str, AnnotatorSpec]) -> list[Annotator]:
    """The annotators with these names; `own` are those of a study or file. Raises AnnotatorUnknown."""
    known = ANNOTATORS.all()
    for name in sorted(known.keys() & own.keys()):
        raise AnnotatorUnknown(f"{name!r} is an annotator that comes with Parley; rename your own")
    found: list[Annotator] = []
    for name in names:
        if name not in {**known, **own}:
            raise AnnotatorUnknown(f"there is no annotator {name!r}{suggestion(name, [*known, *own])}")
        found.append(CustomAnnotator(name, own[name]) if name in own else known[name]())
    return found
