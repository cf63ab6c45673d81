r"""Your own items: any table (`problems/tables.py`), with the columns that hold the question, options and answer.

    problems:
      questions:
        path: questions.csv
        columns: {question: Question, options: [A, B, C, D], answer: correct, tags: [topic]}

Columns with usual names need not be named. Options are columns of their own, or one column with a list of texts. The
answer is an option's key, its text or its number. Every other column becomes a tag. A study file can hold items itself,
under `items`, with the same names.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from problems.errors import ProblemError, did_you_mean
from problems.problem import Option, Problem
from problems.registry import source
from problems.tables import Row, Table, of_objects, read_table
from problems.text import checked_values

FEWEST, MOST = 2, len(ascii_uppercase)
"""How many options a question can have, if it has any: one key a letter."""
USUAL: Mapping[str, tuple[str, ...]] = {
    "question": ("question", "text", "prompt", "problem", "stem", "item", "question_text", "q"),
    "options": ("options", "choices", "answers", "endings"),
    "answer": ("answer", "correct", "correct_answer", "correct_option", "right_answer", "answer_key", "answerkey"),
    "id": ("id", "question_id", "item_id", "qid"),
    "dataset": ("dataset",),
}
"""The names by which columns are recognised, whatever their case, blanks and hyphens; the first wins."""
OPTION = re.compile(r"(?:(?:option|choice|answer|opt)_?)?(?P<key>[a-z]|\d\d?)")
"""The name of a column with one option: `A`, `option_b`, `Choice 3`."""


@dataclass(frozen=True, slots=True)
class ColumnMap:
    """Which columns hold what. Blank: recognised by its name, or absent."""

    question: str = ""
    options: str | tuple[str, ...] = ()
    """One column with a list of options, or a column for each, in their order."""
    answer: str = ""
    id: str = ""
    dataset: str = ""
    tags: tuple[str, ...] | None = None
    """The columns that become tags; None for every other column."""

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> ColumnMap:
        """Read `columns` of a study file; raises ProblemError."""
        known = [field.name for field in fields(cls)]
        faults: list[str] = []
        for name, value in given.items():
            if name not in known:
                hint = did_you_mean(name, known)
                faults.append(f"{name!r} is not a part of an item; allowed: {', '.join(known)}.{hint}")
            elif not _names(name, value):
                faults.append(f"{name} must be the name of a column, not {value!r:.60}")
        if faults:
            raise ProblemError("columns:", *faults)
        read: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in given.items()
        }
        return cls(**read)

    def to_json(self) -> dict[str, Any]:
        """The parts that are held by a column, as a study file names them under `columns`."""
        found = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}
        return {name: value for name, value in found.items() if value}


def _names(part: str, value: object) -> bool:
    several = isinstance(value, list) and all(isinstance(name, str) for name in value)
    return several if part == "tags" else isinstance(value, str) or (part == "options" and several)


@dataclass(frozen=True, slots=True)
class Items:
    """What was understood of a table."""

    columns: ColumnMap
    problems: tuple[Problem, ...]
    notes: tuple[str, ...]
    faults: tuple[str, ...]
    places: tuple[str, ...] = ()
    """Where each problem stands in its file, such as `line 7`."""


@source("items", sample="questions.csv", columns=True)
def load(path: Path, columns: Mapping[str, Any]) -> tuple[Problem, ...]:
    """Read a file or folder of items; raises ProblemError with every bad row."""
    return _sound(understand(read_table(path), columns, path.stem), str(path))


def inline(items: Sequence[object], columns: Mapping[str, Any], name: str) -> tuple[Problem, ...]:
    """Read the items of a study file's pool; raises ProblemError with every bad one."""
    table = of_objects(((f"item {number}", item) for number, item in enumerate(items, 1)), "items", typed=True)
    return _sound(understand(table, columns, name), "items")


def _sound(found: Items, name: str) -> tuple[Problem, ...]:
    if found.faults:
        raise ProblemError(f"{name}: these items cannot be used:", *found.faults)
    return found.problems


def understand(table: Table, given: Mapping[str, Any], name: str) -> Items:
    """Map a table's columns and read its rows. `name` is the dataset of items without one.

    Nothing is raised for bad rows: `faults` has them all, and `problems` the others. Raises ProblemError if `given` is
    no mapping of columns.
    """
    columns = recognised(table.columns, ColumnMap.of(given))
    if faults := list(_absent(table.columns, columns)):
        return Items(columns, (), table.notes, tuple(faults))
    base = _counts_from(table.rows, columns)
    read: list[tuple[str, Problem]] = []
    faults = []
    for number, row in enumerate(table.rows, 1):
        try:
            read.append((row.where, _problem(row, columns, table.columns, f"{name}-{number}", name, base)))
        except ProblemError as error:
            faults += [f"{row.where}: {fault}" for fault in error.faults or (str(error),)]
    first: dict[str, str] = {}
    faults += [
        f"{where}: the id {problem.id!r} is taken by {first[problem.id]}; ids must differ"
        for where, problem in read
        if first.setdefault(problem.id, where) != where
    ]
    if not table.rows:
        faults.append("there is no item below the names of the columns")
    places, problems = (tuple(where for where, _ in read), tuple(problem for _, problem in read))
    return Items(columns, problems, table.notes, tuple(faults), places)


def _plain(name: str) -> str:
    """A column's name as it is compared: `Correct answer` is `correct_answer`."""
    return re.sub(r"[\s\-.]+", "_", name.strip().lower())


def recognised(there: Sequence[str], given: ColumnMap) -> ColumnMap:
    """The map, with blanks filled by the columns that have usual names; a column under `tags` is filled in nowhere."""
    options = (given.options,) if isinstance(given.options, str) else given.options
    taken = {given.question, given.answer, given.id, given.dataset, *options, *(given.tags or ())}
    free = {_plain(name): name for name in reversed(there) if name not in taken}
    found: dict[str, Any] = {}
    for part, usual in USUAL.items():
        if not getattr(given, part):
            column = next((free[name] for name in usual if name in free), "")
            found |= {part: column} if column else {}
    if not given.options and "options" not in found:
        keyed = [
            (match["key"], name) for name in there if name not in taken and (match := OPTION.fullmatch(_plain(name)))
        ]
        letters = [(key, name) for key, name in keyed if not key.isdecimal()]
        chosen = letters if len(letters) >= FEWEST else [(key.zfill(2), name) for key, name in keyed if key.isdecimal()]
        found |= {"options": tuple(name for _, name in sorted(chosen))} if len(chosen) >= FEWEST else {}
    return replace(given, **found)


def _absent(there: Sequence[str], columns: ColumnMap) -> Iterator[str]:
    """The columns that are named and not there; and the question, if no column holds it."""
    known = f"there are: {', '.join(there)}."
    for part in fields(columns):
        value = getattr(columns, part.name) or ()
        for name in (value,) if isinstance(value, str) else value:
            if name not in there:
                yield f"columns.{part.name}: there is no column {name!r}; {known}{did_you_mean(name, there)}"
    if not columns.question:
        yield f"no column holds the question; name it, as in `columns: {{question: NAME}}`; {known}"


def _problem(
    row: Row, columns: ColumnMap, there: Sequence[str], new_id: str, dataset: str, base: int | None
) -> Problem:
    options = tuple(_options(row, columns))
    text = _text_cell(row, columns.question)
    if not text:
        raise ProblemError(f"column {columns.question!r} has no question")
    used = {columns.question, columns.answer, columns.id, columns.dataset}
    used |= {columns.options} if isinstance(columns.options, str) else {*columns.options}
    tagged = columns.tags if columns.tags is not None else tuple(name for name in there if name not in used)
    return Problem(
        id=_text_cell(row, columns.id) or new_id,
        text=text,
        plain=text,
        dataset=_text_cell(row, columns.dataset) or dataset,
        options=options,
        answer=_answer(_text_cell(row, columns.answer), options, base),
        tags={_plain(name): _text_cell(row, name) for name in tagged if name in row.cells},
        place=row.where,
    )


def _text_cell(row: Row, column: str) -> str:
    """A cell as a text; raises ProblemError for a list or an object."""
    value = row.cells.get(column, "") if column else ""
    if not isinstance(value, str):
        raise ProblemError(f"column {column!r} holds a list or an object where a text is needed")
    return value


def _options(row: Row, columns: ColumnMap) -> Iterator[Option]:
    if isinstance(columns.options, str):
        texts, keys = _list(row.cells.get(columns.options, []), columns.options)
    else:
        texts, keys = [_text_cell(row, name) for name in columns.options], None
        while texts and not texts[-1]:  # a question with fewer options than others
            texts.pop()
    if texts and not FEWEST <= len(texts) <= MOST:
        raise ProblemError(f"has {len(texts)} options; allowed: {FEWEST} to {MOST}, or none for a free answer")
    blank = [number for number, text in enumerate(texts, 1) if not text.strip()]
    if blank:
        raise ProblemError(f"option {blank[0]} is blank, and one after it is not")
    for key, text in zip(keys or ascii_uppercase, texts, strict=bool(keys)):
        yield Option(key, text, text)


def _list(value: Any, column: str) -> tuple[list[str], list[str] | None]:
    """The options of one cell: a list, `{"text": [...], "label": [...]}`, or either written as JSON or Python."""
    if isinstance(value, str) and value:
        try:
            value = json.loads(value)
        except ValueError:
            value = _literal(value)
        value = checked_values(value)
    if isinstance(value, Mapping) and isinstance(value.get("text"), list):
        keys = value.get("label")
        value = value["text"]
    else:
        keys = None
    if not isinstance(value, list) or not all(isinstance(part, str | int | float) for part in value):
        raise ProblemError(f'column {column!r} must hold a list, such as ["Yes", "No"], not {value!r:.60}')
    return [str(part) for part in value], [str(key) for key in keys] if isinstance(keys, list) else None


def _literal(text: str) -> Any:
    """What pandas wrote for a list: Python, as `['Yes', 'No']`; the text itself if it is something else."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


def _answer(said: str, options: Sequence[Option], base: int | None) -> str | None:
    """The key of the answer, which can be written as the key, the text, or the number of the option."""
    if not said or not options:
        return said or None
    by_key = [option.key for option in options if option.key.casefold() == said.casefold()]
    by_text = [option.key for option in options if option.text.strip().casefold() == said.casefold()]
    found = {*by_key, *by_text}
    if len(found) > 1:
        raise ProblemError(f"the answer {said!r} is the key of option {by_key[0]} and the text of {', '.join(by_text)}")
    if found:
        return found.pop()
    if said.isdecimal():
        if base is None:
            raise ProblemError(
                f"the answer is number {said}, and it is not clear whether numbers begin at 0 or 1. Write keys or texts"
            )
        if 0 <= int(said) - base < len(options):
            return options[int(said) - base].key
    raise ProblemError(
        f"the answer {said!r} is no option; allowed: {', '.join(option.key for option in options)}, or its text"
    )


def _counts_from(rows: Iterable[Row], columns: ColumnMap) -> int | None:
    """Whether answers that are numbers begin at 0 or at 1; None if the table does not show it."""
    numbers: list[int] = []
    for row in rows:
        said = row.cells.get(columns.answer, "")
        if not (isinstance(said, str) and said.isdecimal()):
            continue
        try:
            options = tuple(_options(row, columns))
        except ProblemError:
            continue
        if int(said) == len(options):
            return 1
        numbers.append(int(said))
    return 0 if 0 in numbers else None
