"""The wording that participants saw, found in frozen studies by the names of the questions.

It is the wording as the study has it: `{{names}}` stay as they are, because each participant saw them filled in another
way. What is the same in several steps or versions is told once, with all its places.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from experiments.study.fields import Field
from experiments.study.resolve import Study
from experiments.study.step import Step


@dataclass(frozen=True, slots=True)
class WordingKey:
    """A step that puts a question: its path in a version of the study, without the numbers of loops' turns."""

    version: int
    hash: str
    step: str


@dataclass(frozen=True, slots=True)
class Wording:
    """A question as participants saw it, from the top of the screen down to its options.

    `options` are what is stored and what people read; `own_options` says that they are those of the problem instead.
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
