"""Extensions: rooms of Parley that can be taken away, and packages of others that add to it in the same way.

A folder of `app/extensions`, or an entry point of the group `parley.extensions`, is a module that registers one
Extension. The core finds what an extension has through it, and never imports one. Places are written as
`package.module:name`, and imported when they are needed: listing the commands imports none of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from app.errors import MissingExtension
from experiments.errors import ValidationIssue
from problems.plugins import Registry

if TYPE_CHECKING:  # the list of commands imports no study
    from experiments.study.study import Study

Place = str
# Keys of the study file that only an extension uses, with its name; part of the schema all the same, as of the hash.
OWNERS: Mapping[str, str] = {"plan": "trials", "privacy": "publishing"}


class CommandEntry(NamedTuple):
    """The module that registers a command, its purpose in a line, and a text printed at once if it starts slowly."""

    module: str
    does: str
    starting: str = ""


@dataclass(frozen=True, slots=True)
class Extension:
    """`commands` are by the heading of the help under which they stand, `shown` are the words of `parley show`; their
    modules register both. `tabs` are classes of console tabs, by the tab behind which each stands; `routes` functions
    that make a route of the console from its context; `templates`, `styles` and `studies` the folders of Jinja
    templates, style sheets, and study files that become templates of studies. `checks` yield the faults of a study,
    which may have others, `advice` warnings about a valid one. `hooks` are functions or constants that the core or
    another extension asks for by name."""

    name: str
    commands: Mapping[str, Mapping[str, CommandEntry]] = field(default_factory=dict)
    shown: Mapping[str, CommandEntry] = field(default_factory=dict)
    tabs: Mapping[str, tuple[Place, ...]] = field(default_factory=dict)
    routes: tuple[Place, ...] = ()
    templates: Path | None = None
    styles: Path | None = None
    studies: Path | None = None
    checks: tuple[Place, ...] = ()
    advice: tuple[Place, ...] = ()
    hooks: Mapping[str, Place] = field(default_factory=dict)


_EXTENSIONS: Registry[Extension] = Registry("extension", "app.extensions", "parley.extensions")


def register(extension: Extension) -> None:
    _EXTENSIONS.add(extension.name, extension)


def extensions() -> tuple[Extension, ...]:
    """Every extension, by name; raises ParleyError for one of another package that cannot be loaded."""
    return tuple(_EXTENSIONS.all().values())


def imported(place: Place) -> Any:
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def study_faults(study: Study) -> Iterator[ValidationIssue]:
    """Yield the faults that extensions find in a study; and its keys whose extension is missing."""
    for key, owner in missing_extensions(study).items():
        yield ValidationIssue(key, f"{_needs(owner)}; install it, or remove the key")
    for extension in extensions():
        for place in extension.checks:
            yield from imported(place)(study)


def study_advice(study: Study) -> Iterator[str]:
    for extension in extensions():
        for place in extension.advice:
            yield from imported(place)(study)


def missing_owners() -> Mapping[str, str]:
    """The keys of the study file whose extension is not there, with its name."""
    there = {extension.name for extension in extensions()}
    return {key: owner for key, owner in OWNERS.items() if owner not in there}


def missing_extensions(study: Study) -> Mapping[str, str]:
    return {key: owner for key, owner in missing_owners().items() if getattr(study.file, key) is not None}


def refuse_missing(study: Study) -> None:
    for key, owner in missing_extensions(study).items():
        raise MissingExtension(f"The study {study.name!r} has the key `{key}`, which {_needs(owner)}.")


def _needs(owner: str) -> str:
    return f"needs Parley's extension {owner!r} (app/extensions/{owner}), which is not installed"


def hooked(hook: str) -> Iterator[Any]:
    return (imported(extension.hooks[hook]) for extension in extensions() if hook in extension.hooks)


def needed(hook: str, owner: str) -> Any:
    """Return an extension's object for this hook; raises MissingExtension if the `owner` is not there."""
    found = next(hooked(hook), None)
    if found is None:
        raise MissingExtension(f"This {_needs(owner)}.")
    return found
