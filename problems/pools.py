"""Pools of problems as study files describe them: a source with a path, or the items themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from problems.errors import ProblemError
from problems.items import inline
from problems.problem import Problem
from problems.registry import ITEMS, SAMPLE, SOURCES, place
from problems.text import NotText, checked_values


def load_pool(given: Mapping[str, Any], pool: str, base: Path) -> tuple[Problem, ...]:
    """`given` is the pool as a study file has it. Its path is "sample" (the set shipped with the source), "sample/FILE"
    (another file shipped with it), or relative to `base` (so "./sample" is a folder of yours). Raises ProblemError with
    all faults."""
    name, columns = str(given.get("source", ITEMS)), given.get("columns", {})
    kind = SOURCES.find(name)
    if columns and not (kind.columns and isinstance(columns, Mapping)):
        raise ProblemError(
            f"`columns` is a mapping, and is only for the source {ITEMS!r}; leave it out, or correct it."
        )
    if not {"source", "path", "items"} & given.keys():
        raise ProblemError("its items are missing; give `path`, or the `items` themselves.")
    if "items" in given:
        return _distinct(_inline(given, columns, pool), pool)
    found = place(name, str(given.get("path", SAMPLE)), base)
    problems: object = kind.read(found, columns) if kind.columns else kind.read(found)
    return _distinct(_checked(name, problems, found), str(found))


def _inline(given: Mapping[str, Any], columns: Mapping[str, Any], pool: str) -> tuple[Problem, ...]:
    wrong = {"path", "source"} & given.keys()
    if wrong or not isinstance(given["items"], list):
        raise ProblemError("`items` is a list of items in the study file, and takes the place of `path` and `source`.")
    return inline(given["items"], columns, pool)


def _checked(name: str, given: object, place: Path) -> tuple[Problem, ...]:
    problems = tuple(given) if isinstance(given, Iterable) else (given,)
    for problem in problems:
        if not isinstance(problem, Problem):
            raise ProblemError(
                f"{place}: the source {name!r} gave {problem!r:.200}; "
                "it has to give problems (problems.problem.Problem)"
            )
        try:
            checked_values(problem.to_json())
        except NotText as error:
            raise ProblemError(f"{place}: problem {problem.id!r}: {error.problem}") from error
    return problems


def _distinct(problems: tuple[Problem, ...], where: str) -> tuple[Problem, ...]:
    counts = Counter(problem.id for problem in problems)
    faults = [f"the id {name!r} is there {count} times" for name, count in counts.items() if count > 1]
    if faults:
        raise ProblemError(f"{where}: ids must differ within a source; rename these problems:", *faults)
    return problems
