"""List the parameters that share no word with their type.

What counts is each parameter whose annotation names a class of ours: `location: Location` shares a word, `place:
Location` does not. Plurals are as good; so is any word of the class's name (`clock: VirtualClock`).
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Set

ROOMS = ("app", "storage", "experiments", "problems")
BAR = 0.05
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z][a-z]+|[a-z]+|\d+")
PLURALS = (("s", ""), ("es", ""), ("ies", "y"), ("es", "is"))
# Where a parameter is, its name, and the classes of its annotation.
Parameter = tuple[str, str, str]


def words(name: str) -> set[str]:
    """The words of a name in snake or camel case, in lower case, and those of which each may be the plural."""
    found = {word.lower() for word in WORD.findall(name)}
    return found | {word.removesuffix(end) + one for word in found for end, one in PLURALS if word.endswith(end)}


def parameters(nodes: Iterable[tuple[str, ast.AST]]) -> Iterator[Parameter]:
    """Every parameter whose annotation names a class of ours; `nodes` are all of the sources, with their paths."""
    every = list(nodes)
    classes = {node.name for _, node in every if isinstance(node, ast.ClassDef)}
    others: defaultdict[str, set[str]] = defaultdict(set)
    for path, node in every:
        others[path] |= _from_others(node)
    for path, node in every:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            given = node.args
            for one in (*given.posonlyargs, *given.args, *given.kwonlyargs):
                ours = " ".join(sorted(_names(one.annotation, others[path]) & classes))
                if ours and one.arg != "_":  # so is called what a function must take and does not need
                    yield f"{path}:{one.lineno}", one.arg, ours


def _from_others(node: ast.AST) -> set[str]:
    """Return the names imported from others: their `Event` or `Random` is not ours of the same name."""
    match node:
        case ast.Import(names=aliases):
            return {one.asname or one.name for one in aliases if not one.name.startswith(ROOMS)}
        case ast.ImportFrom(module=str(module), names=aliases, level=0) if not module.startswith(ROOMS):
            return {one.asname or one.name for one in aliases}
    return set()


def _names(annotation: ast.AST | None, others: Set[str]) -> set[str]:
    match annotation:
        case None | ast.Subscript(value=ast.Name(id="Callable")):  # a function is called by what it does
            return set()
        case ast.Name(id=name):
            return {name} - others
        case ast.Attribute(value=ast.Name(id=module), attr=name):
            return set() if module in others else {name}
    return set().union(*(_names(part, others) for part in ast.iter_child_nodes(annotation)))


def is_foreign(name: str, classes: str) -> bool:
    """Return True if a parameter's name has no word of its classes' names."""
    return not words(name) & words(classes)
