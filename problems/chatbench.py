"""ChatBench's questions.csv: multiple-choice questions with four options, plain and formatted.

Columns and names are those of the release (https://huggingface.co/datasets/microsoft/ChatBench, CC BY 4.0).
An empty `*_formatted` cell means that there was nothing to format; a file may leave these columns out. The dataset
that the code and the paper call `moral_scenarios` is `moral_reasoning` in the dataset card: both are read, and kept as
written.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from problems.errors import ProblemError, did_you_mean
from problems.problem import Option, Problem
from problems.readers import Record, csv_records, repeated
from problems.registry import source
from problems.text import read_text

KEYS = ("A", "B", "C", "D")
_PLAIN = ("question", *(f"option_{key}" for key in KEYS))
_FORMATTED = tuple(f"{name}_formatted" for name in _PLAIN)
_NEEDED = ("question_id", "dataset", *_PLAIN, "answer")
COLUMNS = (*_NEEDED, *_FORMATTED)

_MORAL = ("moral_scenarios", "moral_reasoning")
_SUBJECTS: Mapping[str, str] = {
    "elementary_mathematics": "math",
    "high_school_mathematics": "math",
    "college_mathematics": "math",
    "conceptual_physics": "physics",
    **dict.fromkeys(_MORAL, "moral"),
}


@dataclass(frozen=True, slots=True)
class _Row:
    line: int
    cells: Mapping[str, str]


@source("chatbench", sample="questions.csv")
def load(path: Path) -> tuple[Problem, ...]:
    """Read a questions.csv; raises ProblemError with every bad row, by line and column."""
    return parse(read_text(path), str(path))


def parse(text: str, where: str) -> tuple[Problem, ...]:
    """Read the text of a questions.csv; `where` names it in errors."""
    records, faults = csv_records(text)
    line, header = records[0] if records else (1, [])
    # without its header no row can be judged
    rows, bad = ([], wrong) if (wrong := _header_faults(line, header)) else _rows(header, records[1:])
    if faults := bad + faults:
        raise ProblemError(f"{where}: not a questions.csv; correct these and load it again:", *faults)
    return tuple(_problem(row.cells) for row in rows)


def _rows(header: list[str], records: list[Record]) -> tuple[list[_Row], list[str]]:
    if not records:
        return [], ["there is no question below the header"]
    whole = [(line, cells) for line, cells in records if len(cells) == len(header)]
    blank = dict.fromkeys(_FORMATTED, "")
    rows = [_Row(line, blank | dict(zip(header, cells, strict=True))) for line, cells in whole]
    faults = _width_faults(records, len(header)) + [fault for row in rows for fault in _row_faults(row)]
    return rows, faults + repeated((row.line, row.cells["question_id"]) for row in rows)


def _header_faults(line: int, header: list[str]) -> list[str]:
    missing = [name for name in _NEEDED if name not in header]
    faults = [f"line {line}: the column {name} is missing" for name in missing]
    for place, name in enumerate(header):
        if name not in COLUMNS:
            known = missing or [one for one in _FORMATTED if one not in header]
            faults.append(f"line {line}: {name!r} is not a column.{did_you_mean(name, known)}")
        elif name in header[:place]:
            faults.append(f"line {line}: the column {name} is there twice")
    return faults


def _width_faults(records: list[Record], width: int) -> list[str]:
    return [
        f"line {line}: {len(cells)} cells instead of {width}; put quotes around cells with separators"
        for line, cells in records
        if len(cells) != width
    ]


def _row_faults(row: _Row) -> list[str]:
    cells = row.cells
    faults = [f"{name} is empty" for name in ("question_id", "dataset", *_PLAIN) if not cells[name].strip()]
    name, dataset = cells["question_id"], cells["dataset"]
    if not name.startswith(_prefixes(dataset)):
        faults.append(f"question_id {name!r} does not begin with its dataset {dataset!r}")
    if cells["answer"] not in KEYS:
        faults.append(f"answer {cells['answer']!r} is not allowed; allowed: {', '.join(KEYS)}")
    return [f"line {row.line}, column {fault}" for fault in faults]


def _prefixes(dataset: str) -> tuple[str, ...]:
    return _MORAL if dataset in _MORAL else (dataset,)


def _problem(cells: Mapping[str, str]) -> Problem:
    dataset = cells["dataset"]
    subject = {"subject": _SUBJECTS[dataset]} if dataset in _SUBJECTS else {}
    return Problem(
        id=cells["question_id"],
        text=_formatted(cells, "question"),
        plain=cells["question"],
        dataset=dataset,
        options=tuple(Option(key, _formatted(cells, f"option_{key}"), cells[f"option_{key}"]) for key in KEYS),
        answer=cells["answer"],
        tags={"dataset": dataset} | subject,
    )


def _formatted(cells: Mapping[str, str], name: str) -> str:
    formatted = cells[f"{name}_formatted"]
    return formatted if formatted.strip() else cells[name]
