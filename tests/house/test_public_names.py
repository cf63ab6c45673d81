"""Libraries are used by their public names alone: nothing private of one is imported, read, set or replaced."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("app", "experiments", "storage", "problems")
# What begins with an underscore and is documented: a named tuple's own, so that no field has such a name.
DOCUMENTED = {"_asdict", "_fields", "_make", "_replace", "os._exit"}
OURS = {*ROOMS, *sys.stdlib_module_names}
SETTING = ("setattr", "delattr", "getattr", "hasattr")


def is_private(name: str) -> bool:
    return name.startswith("_") and not (name.startswith("__") and name.endswith("__"))


def misuses(source: str) -> Iterator[str]:
    """Each private name that a module imports, reads or sets, and each attribute of a library that it sets."""
    tree = ast.parse(source)
    libraries = {name for node in ast.walk(tree) for name in imported(node)}
    for node in ast.walk(tree):
        for what in (*private_of(node), *replaced_by(node, libraries)):
            yield f"line {node.lineno}: {what}"  # type: ignore[attr-defined]


def imported(node: ast.AST) -> Iterator[str]:
    """The names by which an import makes something of a library known."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            if alias.name.partition(".")[0] not in OURS:
                yield alias.asname or alias.name.partition(".")[0]
    elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] not in OURS:
        yield from (alias.asname or alias.name for alias in node.names)


def private_of(node: ast.AST) -> Iterator[str]:
    """Yield the private names that a node imports, reads, sets or names."""
    match node:
        case ast.Import(names=names):
            yield from (f"import {a.name}" for a in names if any(map(is_private, a.name.split("."))))
        case ast.ImportFrom(module=module, names=names):
            found = [*(module or "").split("."), *(alias.name for alias in names)]
            yield from (f"from {module} import {name}" for name in found if is_private(name))
        case (
            ast.Attribute(value=ast.Name(id="self" | "cls")) | ast.Attribute(value=ast.Call(func=ast.Name(id="super")))
        ):
            pass
        case ast.Attribute(attr=name):
            if is_private(name) and not {name, ast.unparse(node)} & DOCUMENTED:
                yield ast.unparse(node)
        case ast.Call(func=ast.Name(id=does), args=[_, ast.Constant(value=str(name)), *_]):
            if does in SETTING and is_private(name):
                yield ast.unparse(node)


def replaced_by(node: ast.AST, libraries: set[str]) -> Iterator[str]:
    """Yield the attributes of a library's module or class that a node sets."""
    match node:
        case ast.Assign(targets=targets):
            pass
        case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
            targets = [target]
        case ast.Delete(targets=targets):
            pass
        case ast.Call(func=ast.Name(id="setattr" | "delattr"), args=[target, *_]):
            if root(target) in libraries:
                yield ast.unparse(node)
            return
        case _:
            return
    for target in targets:
        if isinstance(target, ast.Attribute | ast.Subscript) and root(target) in libraries:
            yield f"{ast.unparse(target)} = ..."


def root(node: ast.AST) -> str | None:
    """The name at which a chain of attributes begins."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


@pytest.mark.parametrize("room", ROOMS)
def test_libraries_are_used_by_their_public_names(room: str) -> None:
    sources = {path: path.read_text(encoding="utf-8") for path in (ROOT / room).rglob("*.py")}
    assert [f"{path}, {what}" for path, source in sources.items() for what in misuses(source)] == []
    assert sources


@pytest.mark.parametrize(
    "source",
    [
        "from starlette._utils import is_async_callable",
        "import gradio.blocks\nsetattr(gradio.blocks, 'App', None)",
        "def f(blocks): return getattr(blocks, '_queue')",
    ],
)
def test_a_planted_violation_is_found(source: str) -> None:
    assert list(misuses(source))
