"""With which consent a participant takes a place of the study, and is assigned to its cell.

Trials randomise after consent (CONSORT 2010, items 8-10 and 13a): whoever only opens the link holds nobody's place.
Where something before the consent depends on a factor or asks a model, or there is no consent, it is at the beginning.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from experiments.study.schema import Loop, Node, Phase
from experiments.study.step import Step
from experiments.study.template import names


def admitting(flow: Sequence[Node], factors: Collection[str]) -> str:
    """The path of the consent with which a place is taken; "" where it is taken at the beginning."""
    return next(_leading(flow, "", frozenset(factors)), "")


def _leading(nodes: Sequence[Node], prefix: str, factors: Collection[str]) -> Iterator[str]:
    """The path of the consent, or "" for the first node that may need a place; nothing where neither is found."""
    for node in nodes:
        if isinstance(node, Loop) or node.when is not None or _depends(node, factors):
            yield ""
        elif isinstance(node, Phase):
            yield from _leading(node.flow, f"{prefix}{node.id}/", factors)
        elif node.admits:
            yield prefix + node.id


def _depends(node: Step | Phase, factors: Collection[str]) -> bool:
    """Whether a step asks a model or is about a problem, or a text of it is or names a factor."""
    if isinstance(node, Phase):
        return any(name in factors for name in names(node.phase))
    return bool(node.requires()) or any(
        text in factors or any(name in factors for name in names(text)) for text in _words(node.model_dump())
    )


def _words(value: Any) -> Iterator[str]:
    """Every text and every key in a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from value
        yield from _words(list(value.values()))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _words(item)
