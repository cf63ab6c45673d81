"""Discovery of kinds that are one file each: every module of a package, then what other packages offer.

Importing a module lets its decorators register what it defines; nothing is returned. A package of somebody else's that
cannot be loaded is an error that names it, because a study that silently lacks a kind is another study.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Generic, TypeVar

from problems.errors import ParleyError, did_you_mean

# What a module may raise while it is imported, its registering included.
UNLOADABLE = (
    *(ImportError, AttributeError, SyntaxError, NameError, RuntimeError),
    *(ValueError, TypeError, LookupError, OSError, SystemExit),
)


@cache
def modules(package: str) -> tuple[str, ...]:
    """The full names of a package's modules, none of which is imported."""
    return tuple(module.name for module in pkgutil.iter_modules(import_module(package).__path__, f"{package}."))


@cache
def discover(package: str, group: str) -> None:
    """Import the modules of `package` and the entry points of `group`, once; raises ParleyError."""
    for name in modules(package):
        import_module(name)
    for entry in entry_points(group=group):
        try:
            entry.load()
        except UNLOADABLE as error:
            raise ParleyError(
                f"{entry.name!r}, which {_package(entry)} provides for {group}, cannot be loaded from "
                f"{entry.value!r} ({type(error).__name__}: {error}). Repair or uninstall that package."
            ) from error


def _package(entry: EntryPoint) -> str:
    return f"the package {entry.dist.name}" if entry.dist else "another package"


Entry = TypeVar("Entry")


class Registry(Generic[Entry]):
    """The members of a kind by name, from `package` and the entry points of `group`, imported on first use. `error`
    makes what is raised for an unknown name."""

    def __init__(self, what: str, package: str, group: str, error: Callable[[str], Exception] = ParleyError) -> None:
        self._what, self._package, self._group, self._error = what, package, group, error
        self.entries: dict[str, Entry] = {}

    def add(self, name: str, entry: Entry) -> None:
        if name in self.entries:
            raise ValueError(f"The {self._what} {name!r} is registered twice. Give one of them another name.")
        self.entries[name] = entry

    def all(self) -> Mapping[str, Entry]:
        discover(self._package, self._group)
        return dict(sorted(self.entries.items()))

    def has(self, name: str) -> bool:
        """Return True if there is one of this name; if the module of its name has it, no other is imported."""
        own = f"{self._package}.{name.replace('-', '_')}"
        if name not in self.entries and own in modules(self._package):
            import_module(own)
        return name in self.entries or name in self.all()

    def find(self, name: str) -> Entry:
        if not self.has(name):
            known = self.all()
            hint = did_you_mean(name, known)
            raise self._error(f"There is no {self._what} {name!r}; allowed: {', '.join(known)}.{hint}")
        return self.entries[name]
