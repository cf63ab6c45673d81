"""Which parameters share no word with their type: `python -m tests.house.foreign_names [--list]`.

What counts is each parameter whose annotation names a class of ours: `location: Location` shares a word, `place:
Location` does not. Plurals are as good; so is any word of the class's name (`clock: VirtualClock`).
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROOMS = ("app", "storage", "experiments", "problems")
# Issue 49: the largest share of parameters without a word of their type.
BAR = 0.05
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z][a-z]+|[a-z]+|\d+")
# Where a parameter is, its name, and the classes of its annotation.
Parameter = tuple[str, str, str]


def words(name: str) -> set[str]:
    """The words of a name in snake or camel case, in lower case and without a plural's s."""
    return {word.lower().rstrip("s") for word in WORD.findall(name)}


def parameters() -> Iterator[Parameter]:
    """Every parameter whose annotation names a class of ours."""
    trees = {path: ast.parse(path.read_text("utf-8")) for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))}
    classes = {node.name for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    for path, tree in trees.items():
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                given = function.args
                for one in (*given.posonlyargs, *given.args, *given.kwonlyargs):
                    ours = sorted(_names(one.annotation) & classes)
                    if ours:
                        yield f"{path.relative_to(ROOT)}:{one.lineno}", one.arg, " ".join(ours)


def _names(annotation: ast.expr | None) -> set[str]:
    if annotation is None:
        return set()
    found = {node.id for node in ast.walk(annotation) if isinstance(node, ast.Name)}
    return found | {node.attr for node in ast.walk(annotation) if isinstance(node, ast.Attribute)}


def is_foreign(name: str, classes: str) -> bool:
    """Whether a parameter's name has no word of its classes' names."""
    return not words(name) & words(classes)


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--list", action="store_true", help="print each such parameter with its place")
    every = list(parameters())
    foreign = [one for one in every if is_foreign(*one[1:])]
    if asked.parse_args().list:
        for where, name, classes in foreign:
            print(f"{where}  {name}: {classes}")
    for (name, classes), count in Counter((name, classes) for _, name, classes in foreign).most_common(30):
        print(f"{count:4}  {name}: {classes}")
    print(
        f"{len(foreign):,} of {len(every):,} parameters share no word with their type ({len(foreign) / len(every):.1%})"
    )
    return int(len(foreign) > BAR * len(every))


if __name__ == "__main__":
    sys.exit(main())
