"""How kinds are found that are one file each: every module of a package, then what other packages offer.

Importing a module lets its decorators register what it defines; nothing is returned. A package of somebody else's that
cannot be loaded is an error that names it, because a study that silently lacks a kind is another study.
"""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points

from problems.errors import ParleyError

UNLOADABLE = (
    ImportError,
    AttributeError,
    SyntaxError,
    NameError,
    RuntimeError,
    ValueError,
    TypeError,
    LookupError,
    OSError,
)
"""What a module may raise while it is imported, its registering included."""


@cache
def discover(package: str, group: str) -> None:
    """Import the modules of `package` and the entry points of `group`, once; raises ParleyError."""
    for module in pkgutil.iter_modules(import_module(package).__path__, f"{package}."):
        import_module(module.name)
    for entry in entry_points(group=group):
        try:
            entry.load()
        except UNLOADABLE as error:
            package = f"the package {entry.dist.name}" if entry.dist else "another package"
            raise ParleyError(
                f"{entry.name!r}, which {package} offers as one of {group}, cannot be loaded from "
                f"{entry.value!r} ({type(error).__name__}: {error}). Repair or uninstall that package."
            ) from error
