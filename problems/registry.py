"""The sources of problems: who can read what, and where the sample sets are.

A source is a function from a path to problems, under a name, in a file of its own:

    @source("flashcards", sample="cards.txt")
    def load(path: Path) -> tuple[Problem, ...]: ...

Put the file into this package, or name its module under the entry point group "parley.problems" of another.
Its sample set, if any, stands beside it in data/<source>/.
"""

import inspect
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from problems.errors import ProblemError, did_you_mean
from problems.plugins import Registry
from problems.problem import Problem

Loader = Callable[[Path], tuple[Problem, ...]]
SAMPLE = "sample"


@dataclass(frozen=True, slots=True)
class _SourceKind:
    read: Loader
    home: Path
    sample: str


SOURCES: Registry[_SourceKind] = Registry("problem source", "problems", "parley.problems", ProblemError)


def source(name: str, *, sample: str = ".") -> Callable[[Loader], Loader]:
    """Register the function below as the source `name`.

    `sample` is what the path "sample" means: a file in data/<name>/ beside the function's file, or "." for
    all of that folder.
    """

    def register(read: Loader) -> Loader:
        SOURCES.add(name, _SourceKind(read, Path(inspect.getfile(read)).parent / "data" / name, sample))
        return read

    return register


def names() -> tuple[str, ...]:
    """Name every source there is, of this package and of others, in the order of the alphabet."""
    return tuple(SOURCES.all())


def load(name: str, path: str, base: Path) -> tuple[Problem, ...]:
    """Read all problems of a source, in its own order.

    `path` is "sample" (the set shipped with the source), "sample/FILE" (another file shipped with it), or a
    path relative to `base` (so "./sample" is a folder of yours).
    Raises ProblemError with all that is wrong with the source.
    """
    found = place(name, path, base)
    problems = _read(name, found)
    _refuse_repeated(problems, found)
    return problems


def _read(name: str, place: Path) -> tuple[Problem, ...]:
    """What a source gives, which may come from any package."""
    given: object = SOURCES.find(name).read(place)
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


def _refuse_repeated(problems: tuple[Problem, ...], place: Path) -> None:
    counts = Counter(problem.id for problem in problems)
    faults = [f"the id {name!r} is there {count} times" for name, count in counts.items() if count > 1]
    if faults:
        raise ProblemError(f"{place}: ids must differ within a source; rename these problems:", *faults)
