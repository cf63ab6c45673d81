"""How Gradio is imported here: it writes no stubs for editors.

Else each process that imports it parses the source of its 80 components and compares, or writes, a file beside each:
almost half of the processor time that the import takes.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType

MAKER = "gradio.component_meta"
"""The module whose `create_or_modify_pyi` is called for each class of components."""


class WithoutStubs(MetaPathFinder):
    """Finds the module that makes stubs, and lets it make none."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module as it is found without this, with another loader; nothing for all others."""
        found = PathFinder.find_spec(fullname, path) if fullname == MAKER else None
        if found is not None and found.origin is not None:
            found.loader = _Loader(fullname, found.origin)
        return found


class _Loader(SourceFileLoader):
    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        vars(module)["create_or_modify_pyi"] = lambda *_: None


def make_no_stubs() -> None:
    """Let the import of Gradio that is to come make none."""
    sys.meta_path.insert(0, WithoutStubs())
