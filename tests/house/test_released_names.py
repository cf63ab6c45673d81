"""The names that data, deployments and notebooks know: tables, columns, kinds of events, exported files, settings, and
what can be imported from parley_studies.

A rename in the code must not move one of them unseen. Where one changes on purpose, docs/decisions says so, and
`python -m tests.house.test_released_names` writes the list anew.
"""

from __future__ import annotations

import ast
import pkgutil
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import parley_studies

from app.config.settings import Settings, env_name
from experiments.events import NOTES
from experiments.session.study_status import KINDS
from storage import tables
from storage.datasets.describe import pictures
from storage.datasets.tidy import columns as tidy
from storage.schemas.registry import schemas

ROOT = Path(__file__).parents[2]
LISTED = Path(__file__).with_name("released_names.txt")


def names() -> Iterator[str]:
    """A line for each name."""
    for schema in schemas().values():
        for released in schema.tables:
            columns = ", ".join(column.name for column in released.columns)
            yield f"file {schema.name}/{released.file} (table {released.table().name}): {columns}"
    for made in tidy.tables(()):
        yield f"file {tidy.NAME}/{made.file} (table {made.name}): {', '.join(made.header)}"
    yield f"file {pictures.TABLE}, {pictures.FOLDER}/: {', '.join(column.name for column in pictures.COLUMNS)}"
    for table in tables.metadata.sorted_tables:
        yield f"table {table.name}: {', '.join(table.columns.keys())}"
    yield from (f"event {kind}" for kind in {*NOTES, *KINDS, *_facts()})
    yield from (f"setting {env_name(field)}" for field in Settings.model_fields)
    for module in pkgutil.iter_modules(parley_studies.__path__, "parley_studies."):
        yield f"python {module.name}: {', '.join(sorted(import_module(module.name).__all__))}"


def _facts() -> Iterator[str]:
    """The kinds of facts that the code makes: `Fact("submitted", ...)`."""
    for file in (ROOT / "experiments").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Fact":
                yield from (one.value for one in node.args[:1] if isinstance(one, ast.Constant))


def test_no_released_name_moves_unseen() -> None:
    assert sorted(names()) == LISTED.read_text(encoding="utf-8").splitlines()


if __name__ == "__main__":
    LISTED.write_text("\n".join(sorted(names())) + "\n", encoding="utf-8")
