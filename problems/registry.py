"""The sources of problems: who can read what, and where the sample sets are.

A source is a function from a path to problems, under a name, in a file of its own:

    @source("flashcards", sample="cards.txt")
    def load(path: Path) -> tuple[Problem, ...]: ...

A source whose files have columns of any name is registered with `columns=True` and gets the study's `columns` as well.

Put the file into this package, or name its module under the entry point group "parley.problems" of another.
Its sample set, if any, stands beside it in data/<source>/.
"""

import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from problems.errors import ProblemError, did_you_mean
from problems.plugins import Registry
from problems.problem import Problem

Loader = Callable[..., tuple[Problem, ...]]
SAMPLE = "sample"
ITEMS = "items"
"""The source of a pool that names none: any table of one's own."""


@dataclass(frozen=True, slots=True)
class _SourceKind:
    read: Loader
    home: Path
    sample: str
    columns: bool


SOURCES: Registry[_SourceKind] = Registry("problem source", "problems", "parley.problems", ProblemError)


def source(name: str, *, sample: str = ".", columns: bool = False) -> Callable[[Loader], Loader]:
    """Register the function below as the source `name`.

    `sample` is what the path "sample" means: a file in data/<name>/ beside the function's file, or "." for
    all of that folder.
    """

    def register(read: Loader) -> Loader:
        SOURCES.add(name, _SourceKind(read, Path(inspect.getfile(read)).parent / "data" / name, sample, columns))
        return read

    return register


def names() -> tuple[str, ...]:
    """Name every source there is, of this package and of others, in the order of the alphabet."""
    return tuple(SOURCES.all())


def load(given: Mapping[str, Any], pool: str, base: Path) -> tuple[Problem, ...]:
    """Read all problems of a study's pool, in its own order.

    `given` is the pool as a study file has it: `source`, `path`, `columns`, or `items` in place of a path. The path is
    "sample" (the set shipped with the source), "sample/FILE" (another file shipped with it), or relative to `base` (so
    "./sample" is a folder of yours). Raises ProblemError with all that is wrong with the pool.
    """
    name, columns = str(given.get("source", ITEMS)), given.get("columns", {})
    kind = SOURCES.find(name)
    if columns and not (kind.columns and isinstance(columns, Mapping)):
        raise ProblemError(
            f"`columns` is a mapping, and is only for the source {ITEMS!r}; leave it out, or correct it."
        )
    if not {"source", "path", "items"} & given.keys():
        raise ProblemError("nothing says where its items are; give `path`, or the `items` themselves.")
    if "items" in given:
        return _distinct(_inline(given, columns, pool), pool)
    found = place(name, str(given.get("path", SAMPLE)), base)
    problems: object = kind.read(found, columns) if kind.columns else kind.read(found)
    return _distinct(_checked(name, problems, found), str(found))


def _inline(given: Mapping[str, Any], columns: Mapping[str, Any], pool: str) -> tuple[Problem, ...]:
    """The items that the study file holds itself."""
    from problems.items import inline

    wrong = {"path", "source"} & given.keys()
    if wrong or not isinstance(given["items"], list):
        raise ProblemError("`items` is a list of items in the study file, and takes the place of `path` and `source`.")
    return inline(given["items"], columns, pool)


def _checked(name: str, given: object, place: Path) -> tuple[Problem, ...]:
    """What a source gives, which may come from any package."""
    problems = tuple(given) if isinstance(given, Iterable) else (given,)
    for wrong in problems:
        if not isinstance(wrong, Problem):
            raise ProblemError(
                f"{place}: the source {name!r} gave {wrong!r:.200}; it has to give problems (problems.problem.Problem)"
            )
    return problems


def place(name: str, path: str, base: Path) -> Path:
    """The file or folder that a source would read; raises ProblemError if there is none."""
    source = SOURCES.find(name)
    if path == SAMPLE or path.startswith(f"{SAMPLE}/"):
        return _sample(name, source, path.removeprefix(SAMPLE).removeprefix("/"))
    found = base / path
    if not found.exists():
        raise ProblemError(f"{found}: no such file or folder. Paths are relative to {base}.{_sibling(found)}")
    return found


def _sample(name: str, source: _SourceKind, file: str) -> Path:
    home = source.home
    shipped = sorted(entry.name for entry in home.iterdir()) if home.is_dir() else []
    if not shipped:
        raise ProblemError(f"Problem source {name!r} ships no sample set. Give the path of your own file.")
    # only a name in the folder is accepted, so that "sample/../.." leads nowhere
    if file and file not in shipped:
        hint = did_you_mean(file, shipped)
        raise ProblemError(f"Problem source {name!r} ships no {file!r}; allowed: {', '.join(shipped)}.{hint}")
    return home / (file or source.sample)


def _sibling(place: Path) -> str:
    folder = place.parent
    return did_you_mean(place.name, (entry.name for entry in folder.iterdir())) if folder.is_dir() else ""


def _distinct(problems: tuple[Problem, ...], where: str) -> tuple[Problem, ...]:
    counts = Counter(problem.id for problem in problems)
    faults = [f"the id {name!r} is there {count} times" for name, count in counts.items() if count > 1]
    if faults:
        raise ProblemError(f"{where}: ids must differ within a source; rename these problems:", *faults)
    return problems
