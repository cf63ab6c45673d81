"""The registry of annotators: those in this folder, and those of other packages (entry points in "parley.annotators").

    @annotator("user_effort")
    class UserEffort(Annotator): ...

A study can define more (`annotators:` in its file, or in a file of annotators) under other names, so that a name in
the data always means one annotator, or give one of these another prompt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from app.annotation.annotators.base import Annotator
from app.annotation.annotators.custom import CustomAnnotator
from app.errors import AnnotatorUnknown
from experiments.errors import suggestion
from experiments.study.sections.annotators import AnnotatorSpec
from problems.plugins import Registry

ANNOTATORS: Registry[type[Annotator]] = Registry(
    "annotator", "app.annotation.annotators", "parley.annotators", AnnotatorUnknown
)
A = TypeVar("A", bound=type[Annotator])


def annotator(name: str) -> Callable[[A], A]:
    def register(cls: A) -> A:
        ANNOTATORS.add(name, cls)
        cls.name = name
        return cls

    return register


def annotators(names: Iterable[str], own_specs: Mapping[str, AnnotatorSpec]) -> list[Annotator]:
    """The annotators with these names; `own_specs` are those of a study or file. Raises AnnotatorUnknown."""
    known = ANNOTATORS.all()
    for name, spec in own_specs.items():
        if name in known and spec.answer_schema is not None:
            raise AnnotatorUnknown(
                f"{name!r} is an annotator that comes with Parley; rename your own, or leave out its `answer_schema` "
                "to change the prompt only"
            )
        if name not in known and spec.answer_schema is None:
            raise AnnotatorUnknown(
                f"{name!r} has no `answer_schema`, and no annotator of that name comes with Parley"
                f"{suggestion(name, known)}"
            )
    found: list[Annotator] = []
    for name in names:
        if name not in {**known, **own_specs}:
            raise AnnotatorUnknown(f"there is no annotator {name!r}{suggestion(name, [*known, *own_specs])}")
        like = known[name]() if name in known else None
        found.append(CustomAnnotator(name, own_specs[name], like) if name in own_specs else known[name]())
    return found
