"""Tables in files that are read by libraries in C: Excel and Parquet. A program for a child process.

    python -m problems.native_tables FILE SHEET QUESTION

prints the table as `problems.tables` reads it back, or what is wrong with the file.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from problems.errors import ProblemError, install_line
from problems.isolation import limit_this_process
from problems.tables import WORKBOOK, Table, check_size, of_objects


def main(name: str, sheet: str, question: str) -> None:
    path = Path(name)
    try:
        answer: dict[str, Any] = {"table": _read(path, sheet, question).to_json()}
    except ProblemError as error:
        answer = {"errors": error.args}
    json.dump(answer, sys.stdout)


def _read(path: Path, sheet: str, question: str) -> Table:
    if path.suffix.lower() == WORKBOOK:
        from problems.spreadsheets import read_workbook

        limit_this_process()
        return read_workbook(path, sheet, question)
    return _parquet(path)


def _parquet(path: Path) -> Table:
    """The table of a Parquet file; class labels are read as their names."""
    try:
        import pyarrow as pa  # type: ignore[import-untyped]
        from pyarrow import parquet
    except ImportError:
        raise ProblemError(f"{path}: {path.suffix} files need a package. Run: {install_line('parquet')}") from None
    pa.set_memory_pool(pa.system_memory_pool())  # the others reserve more than the limit
    limit_this_process()
    try:
        file = parquet.ParquetFile(path)
        schema, groups = file.schema_arrow, [file.metadata.row_group(number) for number in range(file.num_row_groups)]
        size = sum(group.total_byte_size for group in groups)
        check_size(str(path), rows=file.metadata.num_rows, columns=len(schema), size=size)
        labels = class_labels(_features(schema.metadata or {}))
        rows = _rows(file.iter_batches(batch_size=1_000, use_threads=False))
        return of_objects(((where, labelled(row, labels)) for where, row in rows), str(path))
    except (pa.ArrowException, OSError, ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise ProblemError(f"{path}: cannot be read as {path.suffix} ({' '.join(str(error).split())})") from error


def _rows(batches: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each row with its place. Offsets of a damaged file lead anywhere in memory, so all are checked first."""
    number = 0
    for batch in batches:
        batch.validate(full=True)
        for row in batch.to_pylist():
            number += 1
            yield f"row {number}", row


def _features(metadata: dict[bytes, bytes]) -> object:
    """Hugging Face's note on the columns; None where there is no such note, or one of another shape."""
    try:
        return json.loads(metadata[b"huggingface"])["info"]["features"]
    except (LookupError, TypeError, ValueError, RecursionError):
        return None


def class_labels(features: object) -> dict[str, list[str]]:
    """The names of Hugging Face's class labels by column; nothing of what has another shape."""
    found: dict[str, list[str]] = {}
    for name, one in features.items() if isinstance(features, dict) else ():
        names = one.get("names") if isinstance(one, dict) else None
        if isinstance(names, list) and all(isinstance(label, str) for label in names):
            found[name] = names
    return found


def labelled(row: Mapping[str, Any], labels: Mapping[str, list[str]]) -> dict[str, Any]:
    """The row with the name of each class label in place of its number; -1 stands for an unknown one."""
    return {name: _label(labels[name], value) if name in labels else value for name, value in row.items()}


def _label(names: list[str], value: Any) -> Any:
    if not isinstance(value, int):
        return value
    return names[value] if 0 <= value < len(names) else None


if __name__ == "__main__":
    main(*sys.argv[1:])
