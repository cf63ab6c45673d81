"""The sources of problems: who can read what, and where the sample sets are.

A source is a function from a path to problems, under a name, in a file of its own:

    @source("flashcards", sample="cards.txt")
    def load(path: Path) -> tuple[Problem, ...]: ...

A source whose files have columns of any name is registered with `columns=True` and gets the study's `columns` as well.

Put the file into this package, or name its module under the entry point group "parley.problems" of another.
Its sample set, if any, stands beside it in data/<source>/.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from problems.errors import ProblemError, did_you_mean
from problems.plugins import Registry
from problems.problem import Problem

Loader = Callable[..., tuple[Problem, ...]]
SAMPLE = "sample"
# The source of a pool that names none: any table of one's own.
ITEMS = "items"


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
    return tuple(SOURCES.all())


def place(name: str, path: str, base: Path) -> Path:
    """The file or folder that a source would read; raises ProblemError if there is none."""
    source = SOURCES.find(name)
    if path == SAMPLE or path.startswith(f"{SAMPLE}/"):
        return _sample(name, source, path.removeprefix(SAMPLE).removeprefix("/"))
    found = base / path
    if not found.exists():
        raise ProblemError(f"{path}: no such file or folder. Paths are relative to the study file.{_sibling(found)}")
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
