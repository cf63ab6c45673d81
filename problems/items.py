r"""Your own items: any table (`problems/tables.py`), with the columns that hold the question, options and answer.

    problems:
      questions:
        path: questions.csv
        columns: {question: Question, options: [A, B, C, D], answer: correct, tags: [topic]}

Columns with usual names need not be named. Options are columns of their own, or one column with all of them: a list of
texts, or an object of texts by key. The answer is an option's key, its text or its number. Where the column of the
answer is one of the options' columns, the right option would always stand at the same place: then each item's options
get an order of their own. Every other column becomes a tag. A study file can hold items itself, under `items`, with the
same names.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from string import ascii_uppercase
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from problems.errors import ProblemError, did_you_mean
from problems.problem import Option, Problem
from problems.readers import by_fault, some_of
from problems.registry import source
from problems.tables import QUESTION, Row, Table, of_objects, plain_name, read_table
from problems.text import checked_values

# How many options a question can have, if it has any: one key a letter.
FEWEST, MOST = 2, len(ascii_uppercase)
# Digits; an endless number is none of an option.
LONGEST_NUMBER = 10
# The names by which columns are recognised, whatever their case, blanks and hyphens; the first wins.
USUAL: Mapping[str, tuple[str, ...]] = {
    "question": QUESTION,
    "options": ("options", "choices", "answers", "endings", "mc1_targets"),
    "answer": (
        *("answer_idx", "answer", "correct", "correct_answer", "correct_option", "right_answer", "best_answer"),
        *("answer_key", "answerkey"),
    ),
    "id": ("id", "question_id", "item_id", "qid"),
    "dataset": ("dataset",),
}
SHEET = "sheet"
# The name of the answer's column only where there are options.
LABEL = "label"
# The name of a column with one option: `A`, `option_b`, `Choice 3`.
OPTION = re.compile(r"(?:(?:option|choice|answer|opt)_?)?(?P<key>[a-z]|\d\d?)")
# The name of a column with a wrong option, or with a list of them, beside one with the right option.
WRONG = re.compile(r"(?:best_)?(?:incorrect|wrong)_answer_?\d*|distractor_?\d*|(?:incorrect|wrong)_answers|distractors")
LIST = re.compile(r"(?:incorrect|wrong)_answers|distractors")
RIGHT = ("1", "true")
ORDERED = (
    "the right option always stands at the same place in this table, so each item's options have an order of their "
    "own, which follows from its id; write `options: shuffled` in the study if each participant shall see another one"
)


class Columns(BaseModel):
    """The columns of a table of items."""

    model_config = ConfigDict(extra="forbid", frozen=True, coerce_numbers_to_str=True)

    question: str = ""
    """The text that participants read."""
    options: str | list[str] = ""
    """A column for each option, in their order, or one column with a list or an object of them; 2 to 26. None for
    a free answer. If `answer` is one of these columns, each item's options get an order of their own."""
    answer: str = ""
    """The right answer: the option's letter, text or number."""
    id: str = ""
    """The item's name in exported files. Default: numbered."""
    dataset: str = ""
    """The collection that the item belongs to. Default: the name of the file."""
    tags: list[str] | None = None
    """The columns by which a study can choose items (`where`). Default: every other column that holds texts."""
    sheet: str | None = None
    """The sheet of an Excel file. Default: the first with a column for the question."""
    answers_from: Literal[0, 1] | None = None
    """The number of the first option, where answers are numbers. Default: as the table shows it."""

    @field_validator("answers_from", mode="before")
    @classmethod
    def _from_text(cls, value: Any) -> Any:
        return int(value) if value in ("0", "1") else value

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Columns:
        """The map that is written as `columns` of a study file; raises ProblemError."""
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            unknown = did_you_mean(next(iter(given.keys() - cls.model_fields), ""), cls.model_fields)
            faults = (f"{'.'.join(map(str, one['loc']))}: {one['msg']}." for one in error.errors())
            allowed = f"allowed: {', '.join(cls.model_fields)}.{unknown}"
            raise ProblemError("columns:", *faults, allowed) from error

    def to_json(self) -> dict[str, Any]:
        """The given and the recognised parts, as a study file has them under `columns`."""
        return {name: value for name, value in self.model_dump().items() if value not in ("", [], None)}

    @property
    def used(self) -> set[str]:
        """The columns that are no tags."""
        options = (self.options,) if isinstance(self.options, str) else self.options
        return {self.question, self.answer, self.id, self.dataset, *options} - {""}


@dataclass(frozen=True, slots=True)
class Choices:
    """The options of a row: their texts, their keys if it has any, and the place of the right one if it says that."""

    texts: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    right: int | None = None

    @property
    def options(self) -> tuple[Option, ...]:
        """The options with keys, which are letters unless the row has others."""
        keys = self.keys or tuple(ascii_uppercase[: len(self.texts)])
        return tuple(Option(key, text, text) for key, text in zip(keys, self.texts, strict=True))

    def ordered_by(self, name: str) -> Choices:
        """Sort the options by a hash of each with the item's name, so that no position tells the right one."""
        places = sorted(range(len(self.texts)), key=lambda at: sha256(f"{name}\n{self.texts[at]}".encode()).digest())
        right = None if self.right is None else places.index(self.right)
        return Choices(tuple(self.texts[place] for place in places), (), right)


@dataclass(frozen=True, slots=True)
class Items:
    columns: Columns
    problems: tuple[Problem, ...]
    notes: tuple[str, ...]
    faults: tuple[str, ...]
    places: tuple[str, ...] = ()
    """The place of each problem in its file, such as `line 7`."""


@source("items", sample="questions.csv", columns=True)
def load(path: Path, columns: Mapping[str, Any]) -> tuple[Problem, ...]:
    """Read a file or folder of items; raises ProblemError with every bad row."""
    return sound(understand(table_of(path, columns), columns, path.stem), str(path))


def table_of(path: Path, columns: Mapping[str, Any]) -> Table:
    """The table of a file, of which a workbook's sheet may be named; raises ProblemError."""
    given = Columns.of(columns)
    return read_table(path, given.sheet or "", given.question)


def inline(items: Sequence[object], columns: Mapping[str, Any], name: str) -> tuple[Problem, ...]:
    table = of_objects(((f"item {number}", item) for number, item in enumerate(items, 1)), "items", typed=True)
    return sound(understand(table, columns, name), "items")


def sound(items: Items, name: str) -> tuple[Problem, ...]:
    if items.faults:
        raise ProblemError(f"{name}: these items cannot be used:", *items.faults)
    return items.problems


def understand(table: Table, given: Mapping[str, Any], name: str) -> Items:
    """Map a table's columns and read its rows, bad ones into `faults`; `name` is the dataset of items without one.
    Raises ProblemError if `given` is no mapping of columns."""
    columns = recognised(table.columns, Columns.of(given))
    if faults := list(_absent(table.columns, columns)):
        return Items(columns, (), table.notes, tuple(faults))
    chosen = [_attempt(row, columns) for row in table.rows]
    sound = [(row, choices) for row, choices in zip(table.rows, chosen, strict=True) if isinstance(choices, Choices)]
    base = columns.answers_from if columns.answers_from is not None else _counts_from(sound, columns)
    ordered = _at_one_place([choices for _, choices in sound], columns)
    tags, notes = tag_columns(table, columns)
    notes = (*table.notes, *notes, *((ORDERED,) if ordered else ()))
    read: list[tuple[str, Problem]] = []
    wrong: list[tuple[str, str]] = []
    for number, (row, choices) in enumerate(zip(table.rows, chosen, strict=True), 1):
        try:
            if isinstance(choices, ProblemError):
                raise choices
            named = _text_cell(row, columns.id) or f"{name}-{number}"
            choices = choices.ordered_by(named) if ordered else choices
            read.append((row.where, _problem(row, columns, choices, named, name, tags, base)))
        except ProblemError as error:
            wrong += [(fault, row.where) for fault in error.faults or (str(error),)]
    faults = by_fault(wrong)
    first: dict[str, str] = {}
    faults += [
        f"{where}: the id {problem.id!r} is taken by {first[problem.id]}; ids must differ"
        for where, problem in read
        if first.setdefault(problem.id, where) != where
    ]
    if not table.rows:
        faults.append("there is no item below the names of the columns")
    places, problems = (tuple(where for where, _ in read), tuple(problem for _, problem in read))
    return Items(columns, problems, (*notes, *_doubts(read, columns)), tuple(faults), places)


def _doubts(problems: Sequence[tuple[str, Problem]], columns: Columns) -> Iterator[str]:
    """Warnings about what can be used and is seldom meant."""
    alike = [where for where, problem in problems if _has_equal_options(problem)]
    if alike:
        yield f"two options read the same: {some_of(alike)}"
    unanswered = [where for where, problem in problems if problem.options and problem.answer is None]
    if columns.answer and unanswered:
        yield f"no answer is marked as right: {some_of(unanswered)}"


def _has_equal_options(problem: Problem) -> bool:
    return len({option.text.strip().casefold() for option in problem.options}) < len(problem.options)


def recognised(there: Sequence[str], columns: Columns) -> Columns:
    """The map, with blanks filled by the columns that have usual names; a column under `tags` is filled in nowhere."""
    taken = columns.used | {*(columns.tags or ())}
    free = {plain_name(name): name for name in reversed(there) if name not in taken}
    found: dict[str, Any] = {}
    for part, usual in USUAL.items():
        if not getattr(columns, part):
            column = next((free[name] for name in usual if name in free), "")
            found |= {part: column} if column else {}
    if not columns.options and "options" not in found:
        keyed = [
            (match["key"], name)
            for name in there
            if name not in taken and (match := OPTION.fullmatch(plain_name(name)))
        ]
        letters = [(key, name) for key, name in keyed if not key.isdecimal()]
        chosen = letters if len(letters) >= FEWEST else [(key.zfill(2), name) for key, name in keyed if key.isdecimal()]
        found |= {"options": [name for _, name in sorted(chosen)]} if len(chosen) >= FEWEST else {}
    right = columns.answer or found.get("answer")
    wrong = [name for name in there if name not in taken and WRONG.fullmatch(plain_name(name))]
    wrong = [name for name in wrong if not LIST.fullmatch(plain_name(name))] or wrong
    if right and wrong and not (columns.options or "options" in found):
        found["options"] = [right, *wrong]
    if LABEL in free and not right and (columns.options or "options" in found):
        found["answer"] = free[LABEL]
    return columns.model_copy(update=found)


def _absent(there: Sequence[str], columns: Columns) -> Iterator[str]:
    """The columns that are named and not there; and the question, if no column holds it."""
    known = f"there are: {', '.join(there)}."
    for part in ("question", "options", "answer", "id", "dataset", "tags"):
        value = getattr(columns, part) or ()
        for name in (value,) if isinstance(value, str) else value:
            if name not in there:
                yield f"columns.{part}: there is no column {name!r}; {known}{did_you_mean(name, there)}"
    if not columns.question:
        yield f"no column holds the question; name it, as in `columns: {{question: NAME}}`; {known}"


def tag_columns(table: Table, columns: Columns) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The columns that are tags, and a note on others that would be if they held texts."""
    if columns.tags is not None:
        return tuple(columns.tags), ()
    others = [name for name in table.columns if name not in columns.used]
    lists = [name for name in others if any(not isinstance(row.cells.get(name, ""), str) for row in table.rows)]
    notes = (f"columns with lists or objects are no tags, and were passed over: {', '.join(lists)}",) if lists else ()
    return tuple(name for name in others if name not in lists), notes


def _problem(
    row: Row, columns: Columns, choices: Choices, name: str, dataset: str, tags: Sequence[str], base: int | None
) -> Problem:
    text = _text_cell(row, columns.question)
    if not text:
        raise ProblemError(f"column {columns.question!r} has no question")
    options = choices.options
    if choices.right is not None:
        answer: str | None = options[choices.right].key
    else:
        answer = _answer(_text_cell(row, columns.answer), options, base, columns.answers_from is not None)
    return Problem(
        id=name,
        text=text,
        plain=text,
        dataset=_text_cell(row, columns.dataset) or dataset,
        options=options,
        answer=answer,
        tags={plain_name(tag): value for tag in tags if (value := _text_cell(row, tag))},
        place=row.where,
    )


def _held(row: Row, column: str) -> Any:
    """The value of a cell, a blank text if it is blank; raises ProblemError for one that cannot be used."""
    if column in row.faults:
        raise ProblemError(f"column {column!r} {row.faults[column]}")
    return row.cells.get(column, "") if column else ""


def _text_cell(row: Row, column: str) -> str:
    """A cell as a text; raises ProblemError for a list or an object."""
    value = _held(row, column)
    if not isinstance(value, str):
        raise ProblemError(f"column {column!r} holds a list or an object where a text is needed")
    return value


def _attempt(row: Row, columns: Columns) -> Choices | ProblemError:
    """The options of a row, or why it has none that can be used."""
    try:
        found = _choices(row, columns)
    except ProblemError as error:
        return error
    number = len(found.texts)
    if number and not FEWEST <= number <= MOST:
        return ProblemError(f"has {number} options; allowed: {FEWEST} to {MOST}, or none for a free answer")
    blank = [place for place, text in enumerate(found.texts, 1) if not text.strip()]
    return ProblemError(f"option {blank[0]} is blank, and one after it is not") if blank else found


def _choices(row: Row, columns: Columns) -> Choices:
    if isinstance(columns.options, str):
        return _of_cell(_held(row, columns.options), columns.options)
    texts: list[str] = []
    right = None
    for name in columns.options:
        cell = _held(row, name)
        right = len(texts) if name == columns.answer else right
        texts += (
            _listed(cell, name)
            if isinstance(cell, list) or LIST.fullmatch(plain_name(name))
            else [_text_cell(row, name)]
        )
    while texts and not texts[-1]:  # a question with fewer options than others
        texts.pop()
    if right is not None and not _text_cell(row, columns.answer):
        raise ProblemError(f"column {columns.answer!r} has no answer")
    return Choices(tuple(texts), (), right)


def _listed(cell: Any, column: str) -> tuple[str, ...]:
    """The texts of a cell that holds several: a list, or texts with semicolons between them."""
    parsed = _parsed(cell)
    if isinstance(cell, str) and not isinstance(parsed, list):
        parsed = [text for part in cell.split(";") if (text := part.strip())]
    return _texts(parsed, column)


def _of_cell(value: Any, column: str) -> Choices:
    """The options of one cell: a list of texts, or of objects as `{"key": "A", "value": "Yes"}`; an object of texts by
    key, `{"text": [...], "label": [...]}` or `{"choices": [...], "labels": [1, 0]}`; or each written as JSON or Python.
    """
    value = _parsed(value)
    if not isinstance(value, Mapping):
        pairs = [_pair(part) for part in value] if isinstance(value, list) else []
        keyed = [pair for pair in pairs if pair]
        if keyed and len(keyed) == len(pairs):
            return Choices(tuple(text for _, text in keyed), tuple(key for key, _ in keyed))
        return Choices(_texts(value, column))
    if isinstance(value.get("text"), list):
        keys = value.get("label")
        texts = _texts(value["text"], column)
        if isinstance(keys, list) and len(keys) != len(texts):
            raise ProblemError(f"column {column!r} has {len(texts)} options and {len(keys)} labels")
        return Choices(texts, tuple(map(str, keys)) if isinstance(keys, list) else ())
    if isinstance(value.get("choices"), list) and isinstance(value.get("labels"), list):
        right = [place for place, label in enumerate(value["labels"]) if str(label).lower() in RIGHT]
        if len(right) != 1 or len(value["labels"]) != len(value["choices"]):
            raise ProblemError(f"column {column!r} marks {len(right)} of its options as right; one of them has to be")
        return Choices(_texts(value["choices"], column), (), right[0])
    filled = {str(key): text for key, text in value.items() if text not in ("", None)}
    return Choices(_texts([*filled.values()], column), tuple(filled))


def _parsed(value: Any) -> Any:
    """The value of a cell; of a text its value in JSON or Python."""
    if not (isinstance(value, str) and value):
        return value or []
    try:
        return checked_values(json.loads(value))
    except ValueError:
        return checked_values(_literal(value))


def _pair(part: object) -> tuple[str, str] | None:
    found = part if isinstance(part, Mapping) else {}
    key = next((found[name] for name in ("key", "label", "id") if name in found), None)
    text = next((found[name] for name in ("value", "text") if name in found), None)
    return (str(key), str(text)) if isinstance(key, str | int) and isinstance(text, str | int | float) else None


def _texts(value: Any, column: str) -> tuple[str, ...]:
    value = _parsed(value)
    if not isinstance(value, list) or not all(isinstance(part, str | int | float) for part in value):
        raise ProblemError(f'column {column!r} must hold a list, such as ["Yes", "No"], not {value!r:.60}')
    return tuple(map(str, value))


def _literal(text: str) -> Any:
    """The value of a list that pandas wrote in Python, as `['Yes', 'No']`; the text itself if it is something else."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


def _answer(said: str, options: Sequence[Option], base: int | None, numbered: bool) -> str | None:
    """The key of the answer, given as key, text or number; `numbered`: a number, whatever keys and texts there are."""
    if not said or not options:
        return said or None
    if numbered and said.isdecimal():
        return _numbered(said, options, base)
    by_key = [option.key for option in options if option.key.casefold() == said.casefold()]
    by_text = [option.key for option in options if option.text.strip().casefold() == said.casefold()]
    found = {*by_key, *by_text}
    if len(found) > 1:
        keys = f"the key of option {by_key[0]} and " if by_key else ""
        raise ProblemError(f"the answer {said!r} is {keys}the text of {', '.join(by_text)}; write the key of one")
    if found:
        return found.pop()
    if said.isdecimal():
        return _numbered(said, options, base)
    raise _no_option(said, options)


def _numbered(said: str, options: Sequence[Option], base: int | None) -> str:
    if base is None:
        raise ProblemError(
            f"the answer is number {said}, and it is not clear whether numbers begin at 0 or 1. Say it: "
            "`columns: {answers_from: 0}`; or write keys or texts"
        )
    place = int(said) - base if len(said) < LONGEST_NUMBER else -1
    if not 0 <= place < len(options):
        raise _no_option(said, options)
    return options[place].key


def _no_option(said: str, options: Sequence[Option]) -> ProblemError:
    keys = ", ".join(option.key for option in options)
    return ProblemError(f"the answer {said!r} is not an option; allowed: {keys}, or its text")


def _counts_from(rows: Iterable[tuple[Row, Choices]], columns: Columns) -> int | None:
    """The first of the answers that are numbers, 0 or 1; None if the table does not show it."""
    zero = False
    for row, choices in rows:
        said = row.cells.get(columns.answer, "")
        if isinstance(said, str) and said.isdecimal():
            if said == str(len(choices.texts)):
                return 1
            zero = zero or said.strip("0") == ""
    return 0 if zero else None


def _at_one_place(found_choices: Sequence[Choices], columns: Columns) -> bool:
    """True if the right option stands at the same place in each row by the table's form."""
    if isinstance(columns.options, list):
        return columns.answer in columns.options
    return bool(found_choices) and all(choices.right == 0 for choices in found_choices)
