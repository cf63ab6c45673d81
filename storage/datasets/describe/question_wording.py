"""The wording that participants saw, found in frozen studies by the names of the questions.

Wordings are as in the study file: `{{names}}` are not replaced, because their values differ between participants. A
wording that several steps or versions share is listed once, with all its places.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from experiments.study.fields import Field
from experiments.study.step import Step
from experiments.study.study import Study


@dataclass(frozen=True, slots=True)
class WordingKey:
    """A step that asks a question: its path in a version of the study, without the iterations of loops."""

    version: int
    hash: str
    step: str


@dataclass(frozen=True, slots=True)
class Wording:
    """A question as participants saw it, from the top of the screen down to its options.

    `options` are pairs of stored value and displayed text. With `own_options`, the options are those of the problem.
    """

    heading: str
    instructions: str
    table: str
    question: str
    help: str
    required: bool
    options: tuple[tuple[str, str], ...]
    own_options: bool
    places: tuple[WordingKey, ...] = field(default=(), compare=False)


def wordings(studies: Sequence[Study]) -> Mapping[str, tuple[Wording, ...]]:
    """Every wording of every question, by the question's name; in the order of the studies and their steps."""
    found: dict[str, dict[Wording, dict[WordingKey, None]]] = {}
    for study in studies:
        for path, step in _steps(study.flow):
            for asked in step.questions_asked():
                places = found.setdefault(asked.name, {}).setdefault(_wording(step, asked), {})
                places[WordingKey(study.file.version, study.hash, path)] = None
    return {
        name: tuple(replace(wording, places=tuple(places)) for wording, places in wordings.items())
        for name, wordings in found.items()
    }


def _steps(nodes: Sequence[Any], prefix: str = "") -> Iterator[tuple[str, Step]]:
    for node in nodes:
        path = prefix + node.id
        if isinstance(node, Step):
            yield path, node
        else:
            yield from _steps(node.flow, f"{path}/")


def _wording(step: Step, asked: Field) -> Wording:
    return Wording(
        heading=step.title,
        instructions=step.instructions(),
        table=getattr(asked, "matrix", ""),
        question=asked.text,
        help=asked.help,
        required=asked.required,
        options=tuple(getattr(asked, "options", {}).items()),
        own_options=type(asked) is Field,
    )
