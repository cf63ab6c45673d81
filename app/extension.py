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
from typing import Any, NamedTuple

from app.errors import MissingExtension
from problems.plugins import Registry

Place = str
OWNERS: Mapping[str, str] = {"plan": "trials"}
"""The keys of the study file that only an extension uses, with its name."""


class CommandEntry(NamedTuple):
    """A command in the list of commands: the module that registers it when it is imported, what it does in one line,
    and what is printed at once where it takes long to start."""

    module: str
    does: str
    starting: str = ""


@dataclass(frozen=True, slots=True)
class Extension:
    """What an extension adds.

    `commands` are by the heading of the help under which they stand. `shown` are the words of `parley show`, which its
    commands' modules register. `tabs` are classes of console tabs, by the tab behind which each stands; `routes`
    functions that make a route of the console from its context; `templates` is the folder of their Jinja templates.
    `checks` are functions that yield the faults of a study. `hooks` are functions or constants that the core or another
    extension asks for by the name of the hook.
    """

    name: str
    commands: Mapping[str, Mapping[str, CommandEntry]] = field(default_factory=dict)
    shown: Mapping[str, CommandEntry] = field(default_factory=dict)
    tabs: Mapping[str, tuple[Place, ...]] = field(default_factory=dict)
    routes: tuple[Place, ...] = ()
    templates: Path | None = None
    checks: tuple[Place, ...] = ()
    hooks: Mapping[str, Place] = field(default_factory=dict)


_EXTENSIONS: Registry[Extension] = Registry("extension", "app.extensions", "parley.extensions")


def register(extension: Extension) -> None:
    _EXTENSIONS.add(extension.name, extension)


def extensions() -> tuple[Extension, ...]:
    """Every extension, by name; raises ParleyError for one of another package that cannot be loaded."""
    return tuple(_EXTENSIONS.all().values())


def imported(place: Place) -> Any:
    """What stands at a place."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def hooked(hook: str) -> Iterator[Any]:
    """What each extension has for this hook, imported."""
    return (imported(extension.hooks[hook]) for extension in extensions() if hook in extension.hooks)


def needed(hook: str, owner: str) -> Any:
    """What an extension has for this hook; raises MissingExtension if the `owner` is not there."""
    found = next(hooked(hook), None)
    if found is None:
        raise MissingExtension(
            f"This needs Parley's extension {owner!r} (app/extensions/{owner}), which is not installed."
        )
    return found
