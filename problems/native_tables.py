"""Tables in files that are read by libraries in C: Excel, Parquet and Arrow. A program for a child process.

    python -m problems.native_tables FILE SHEET QUESTION

prints the table as `problems.tables` reads it back, or what is wrong with the file.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from problems.errors import ProblemError, install_line
from problems.isolation import limit_this_process
from problems.tables import WORKBOOK, Table, check_size, class_labels, labelled, of_objects


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
    return _arrow(path)


def _arrow(path: Path) -> Table:
    """Parquet, or the Arrow stream that `datasets.save_to_disk` writes; class labels are read as their names."""
    try:
        import pyarrow as pa  # type: ignore[import-untyped]
        from pyarrow import ipc, parquet
    except ImportError:
        raise ProblemError(f"{path}: {path.suffix} files need a package. Run: {install_line('parquet')}") from None
    pa.set_memory_pool(pa.system_memory_pool())  # the others reserve more than the limit
    limit_this_process()
    try:
        if path.suffix.lower() == ".parquet":
            file = parquet.ParquetFile(path)
            groups = [file.metadata.row_group(number) for number in range(file.num_row_groups)]
            size = sum(group.total_byte_size for group in groups)
            check_size(str(path), rows=file.metadata.num_rows, columns=len(file.schema_arrow), size=size)
            schema, batches = file.schema_arrow, file.iter_batches(batch_size=1_000, use_threads=False)
        else:
            batches = ipc.open_stream(path.read_bytes())
            schema = batches.schema
        labels = class_labels(_features(schema.metadata or {}))
        return of_objects(((where, labelled(row, labels)) for where, row in _rows(batches, path)), str(path))
    except (pa.ArrowException, OSError, ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise ProblemError(f"{path}: cannot be read as {path.suffix} ({' '.join(str(error).split())})") from error


def _rows(batches: Any, path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each row with its place. Offsets of a damaged file lead anywhere in memory, so all are checked first."""
    number = 0
    for batch in batches:
        check_size(str(path), rows=number + batch.num_rows)
        batch.validate(full=True)
        for row in batch.to_pylist():
            number += 1
            yield f"row {number}", row


def _features(metadata: dict[bytes, bytes]) -> object:
    """What Hugging Face notes of the columns; None where there is no such note, or one of another shape."""
    try:
        return json.loads(metadata[b"huggingface"])["info"]["features"]
    except (LookupError, TypeError, ValueError, RecursionError):
        return None


if __name__ == "__main__":
    main(*sys.argv[1:])
