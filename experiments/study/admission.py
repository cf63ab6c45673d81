"""Finds the consent step at which a participant is admitted: counts against the quota and is assigned to a cell.

Trials randomise after consent (CONSORT 2010, items 8-10 and 13a): opening the link uses up no place. If something
before the consent depends on a factor or calls a model, or if there is no consent, admission is at the start.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from experiments.study.schema import Loop, Node, Phase
from experiments.study.step import Step
from experiments.study.template import names


def admitting(flow: Sequence[Node], factors: Collection[str]) -> str:
    """The path of the consent step at which participants are admitted; "" if they are admitted at the start."""
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
    """Whether a step calls a model or needs a problem, or one of its texts or keys is or contains a factor's name."""
    if isinstance(node, Phase):
        return any(name in factors for name in names(node.phase))
    return bool(node.requires()) or any(
        text in factors or any(name in factors for name in names(text)) for text in _words(node.model_dump())
    )


def _words(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from value
        yield from _words(list(value.values()))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _words(item)
