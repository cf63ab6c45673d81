"""A resolved study: the value that the engine interprets."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from experiments.study.instrument import Instrument
from experiments.study.schema import Factor, Loop, Node, Phase, StudyFile, Wave
from experiments.study.sections.model_spec import ModelSpec
from experiments.study.step import Step
from experiments.study.texts import names
from problems.pictures import PictureMap, described
from problems.problem import Problem
from problems.text import texts_in


class PlacedStep(NamedTuple):
    """A step by its path without turn numbers (`question[*]/answer`), and what is around it, outermost first."""

    path: str
    step: Step
    above: tuple[Phase | Loop, ...]

    @property
    def chain(self) -> tuple[Node, ...]:
        """All that leads to the step, and the step."""
        return (*self.above, self.step)

    @property
    def turn(self) -> Loop | None:
        """The innermost loop over problems around the step."""
        return next((node for node in reversed(self.above) if isinstance(node, Loop) and node.over_problems), None)


@dataclass(frozen=True)
class Study:
    """A study that `resolve` or, from its `document`, `restore` has made, and that never changes."""

    file: StudyFile
    flow: tuple[Node, ...]
    pools: Mapping[str, tuple[Problem, ...]]
    document: str
    hash: str
    factors: Mapping[str, Factor] = field(default_factory=dict)
    """The factors to which participants are assigned: those of the file, and the rows of its Latin squares."""
    instruments: Mapping[str, Instrument] = field(default_factory=dict)
    """The instruments that its surveys ask, by name."""
    _index: Mapping[tuple[str, str], Problem] = field(repr=False, compare=False, default_factory=dict)
    pictures: PictureMap = field(default_factory=PictureMap, compare=False)
    """The pictures in its texts."""
    picture_files: Mapping[str, bytes] = field(default_factory=dict, repr=False, compare=False)
    """The content of the pictures by SHA-256 until the study is registered; then the database has it."""

    @property
    def name(self) -> str:
        return self.file.study

    @property
    def constants(self) -> dict[str, str]:
        """The names that are in scope everywhere: `model`, if the study has only one."""
        return {"model": next(iter(self.file.models))} if len(self.file.models) == 1 else {}

    @property
    def waves(self) -> tuple[Wave, ...]:
        return self.file.waves or ()

    @property
    def flows(self) -> Mapping[str, tuple[Node, ...]]:
        """The nodes that one session can walk, by their place in the file: the flow, or that of each wave."""
        if self.file.waves is None:
            return {"flow": self.flow}
        return {f"waves[{number}].flow": phase.flow for number, phase in enumerate(self.flow)}

    @cached_property
    def has_judges(self) -> bool:
        return any(rule.check == "judge" for rule in self.file.fidelity or ())

    @cached_property
    def admission(self) -> str:
        """The path of the consent step at which participants are admitted; "" if they are admitted at the start."""
        first = self.waves[0].factors if self.waves else {}
        return admitting(self.flow, {**self.factors, **first})

    @cached_property
    def placed_steps(self) -> tuple[PlacedStep, ...]:
        """Every step in its place, in the order of the file."""
        return tuple(_placed(self.flow))

    @cached_property
    def steps(self) -> tuple[tuple[str, Step], ...]:
        return tuple((placed.path, placed.step) for placed in self.placed_steps)

    @cached_property
    def loops(self) -> tuple[Loop, ...]:
        return tuple(node for node in nodes_of(self.flow) if isinstance(node, Loop))

    def translate(self, text: str, language: str) -> str:
        """The translation of a text of the study; the text itself if there is none."""
        return self.file.translations.get(language, {}).get(text, text)

    def described(self, text: str) -> str:
        """A text as models and simulated users read it: with the alternative texts of the study's pictures."""
        return described(text, self.pictures) if self.pictures.by_key else text

    def problem(self, pool: str, problem_id: str) -> Problem:
        return self._index[pool, problem_id]

    def model(self, name: str) -> ModelSpec:
        return self.file.models[name]


def _placed(nodes: Sequence[Node], prefix: str = "", above: tuple[Phase | Loop, ...] = ()) -> Iterator[PlacedStep]:
    for node in nodes:
        if isinstance(node, Step):
            yield PlacedStep(prefix + node.id, node, above)
        else:
            turn = "[*]" if isinstance(node, Loop) else ""
            yield from _placed(node.flow, f"{prefix}{node.id}{turn}/", (*above, node))


def nodes_of(nodes: Sequence[Node]) -> Iterator[Node]:
    """Every node of a tree, parents first."""
    for node in nodes:
        yield node
        yield from nodes_of(getattr(node, "flow", ()))


def admitting(flow: Sequence[Node], factors: Collection[str]) -> str:
    return next(_leading(flow, "", frozenset(factors)), "")


def _leading(nodes: Sequence[Node], prefix: str, factors: Collection[str]) -> Iterator[str]:
    """Yields the path of the consent step, or "" at the first node that may need a cell; nothing without either."""
    for node in nodes:
        if isinstance(node, Loop) or node.when is not None or _depends(node, factors):
            yield ""
        elif isinstance(node, Phase):
            yield from _leading(node.flow, f"{prefix}{node.id}/", factors)
        elif node.admits:
            yield prefix + node.id


def _depends(node: Step | Phase, factors: Collection[str]) -> bool:
    """True if a step calls a model or needs a problem, or one of its texts or keys is or contains a factor's name."""
    if isinstance(node, Phase):
        return any(name in factors for name in names(node.phase))
    return bool(node.requires()) or any(
        text in factors or any(name in factors for name in names(text)) for text in texts_in(node.model_dump())
    )
