"""Released columns and their types: the allowed values, and the conversion of cells of files to database values.

`read` takes a cell of a csv and `take` a value of a JSON file; both return the value to store, or raise ValueError.
A file may spell a value differently from Parley (`1.0`, `True`): see `csv_spelling`. Blank cells are handled by the
caller: they mean an unknown value, which is allowed if `blank` is true.
"""

from __future__ import annotations

import ast
import json
import math
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import orjson

Kind = Literal["text", "integer", "number", "json"]
# The form of a JSON value: a scalar, an object with these keys, or a list of one shape (a tuple of one).
Shape = Literal["text", "boolean"] | Mapping[str, "Shape"] | tuple["Shape"]
MESSAGES: Shape = (MappingProxyType({"role": "text", "content": "text"}),)
NONE: Mapping[str, Any] = MappingProxyType({})
# Exceptions of `ast.literal_eval`.
UNREADABLE = (ValueError, SyntaxError, TypeError, MemoryError, RecursionError)
BITS = 63
WHOLE = re.compile(r"-?[0-9]+(\.0)?")
FRACTION = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")


class ValueTooLarge(ValueError):
    """A whole number that is too large for the database."""


@dataclass(frozen=True, slots=True)
class ColumnType:
    """A type of column. `cut_shows` is true if a truncated cell can be recognised as such."""

    kind: ClassVar[Kind] = "text"
    cut_shows: ClassVar[bool] = False
    blank: bool = field(default=False, kw_only=True)

    @property
    def allowed(self) -> str:
        return self._words() + (", or blank" if self.blank else "")

    @property
    def labels(self) -> Mapping[str, str]:
        """The meaning of each value of a closed list; empty if there is no such list."""
        return NONE

    @property
    def choices(self) -> tuple[str, ...]:
        """The texts of a closed list, in the order of the release; empty for other columns."""
        return ()

    def read(self, cell: str) -> Any:
        """Convert a csv cell that is not blank; raises ValueError."""
        raise NotImplementedError

    def take(self, value: Any) -> Any:
        """Convert a JSON value that is not null; raises ValueError."""
        return self.read(value if isinstance(value, str) else json.dumps(value))

    def _words(self) -> str:
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class TextColumn(ColumnType):
    """A text. If `pattern` is given, the whole text must match it; `what` describes the allowed texts."""

    pattern: str = ""
    what: str = "a text"

    def read(self, cell: str) -> str:
        if self.pattern and not re.fullmatch(self.pattern, cell):
            raise ValueError
        return cell

    def _words(self) -> str:
        return self.what


@dataclass(frozen=True, slots=True)
class ChoiceColumn(ColumnType):
    """One of several texts; `values` maps each to its meaning. `also` are further values in published files."""

    cut_shows: ClassVar[bool] = True
    values: Mapping[str, str]
    also: tuple[str, ...] = ()

    @property
    def labels(self) -> Mapping[str, str]:
        return self.values

    @property
    def choices(self) -> tuple[str, ...]:
        """The texts, those of published files last."""
        return (*self.values, *self.also)

    def read(self, cell: str) -> str:
        if cell not in self.values and cell not in self.also:
            raise ValueError
        return cell

    def _words(self) -> str:
        return ", ".join(repr(value) for value in self.values)


@dataclass(frozen=True, slots=True)
class LabelList(ColumnType):
    """One or more of several labels, joined by commas. Upper and lower case are not distinguished; blanks are."""

    values: tuple[str, ...]

    def read(self, cell: str) -> str:
        if not _folded(self.values).issuperset(cell.casefold().split(",")):
            raise ValueError
        return cell

    def _words(self) -> str:
        return f"one or more of these, joined by commas: {', '.join(repr(value) for value in self.values)}"


@cache
def _folded(labels: tuple[str, ...]) -> frozenset[str]:
    return frozenset(label.casefold() for label in labels)


def choice(*values: str, blank: bool = False, also: tuple[str, ...] = ()) -> ChoiceColumn:
    """A ChoiceColumn with self-explanatory values."""
    return ChoiceColumn(MappingProxyType(dict.fromkeys(values, "")), also, blank=blank)


@dataclass(frozen=True, slots=True)
class IntegerColumn(ColumnType):
    """A whole number in a range. `named` maps numbers to meanings, `spelt` maps other spellings to numbers."""

    kind: ClassVar[Kind] = "integer"
    low: int | None = None
    high: int | None = None
    named: Mapping[str, str] = field(default_factory=dict)
    spelt: Mapping[str, int] = field(default_factory=dict)

    @property
    def cut_shows(self) -> bool:  # type: ignore[override]
        """Listed numbers have one digit, so they cannot be truncated."""
        return bool(self.named)

    @property
    def labels(self) -> Mapping[str, str]:
        return self.named

    def read(self, cell: str) -> int:
        """The number; `3.0` is 3."""
        if cell not in self.spelt and not WHOLE.fullmatch(cell):  # int() would also take `1_0`, blanks, Arabic digits
            raise ValueError
        value = self.spelt[cell] if cell in self.spelt else int(cell.removesuffix(".0"))
        if value.bit_length() > BITS:
            raise ValueTooLarge
        if (self.low is not None and value < self.low) or (self.high is not None and value > self.high):
            raise ValueError
        return value

    def _words(self) -> str:
        if self.named:
            return ", ".join(self.named)
        ends = [f"from {self.low}"] if self.low is not None else []
        ends += [f"to {self.high}"] if self.high is not None else []
        return " ".join(["a whole number", *ends])


@dataclass(frozen=True, slots=True)
class NumberColumn(ColumnType):
    kind: ClassVar[Kind] = "number"
    low: float = -math.inf
    high: float = math.inf

    def read(self, cell: str) -> float:
        if not FRACTION.fullmatch(cell):
            raise ValueError
        value = float(cell)
        if not (math.isfinite(value) and self.low <= value <= self.high):
            raise ValueError
        return value

    def _words(self) -> str:
        ends = [f"from {self.low:g}"] if math.isfinite(self.low) else []
        ends += [f"to {self.high:g}"] if math.isfinite(self.high) else []
        return " ".join(["a number", *ends])


@dataclass(frozen=True, slots=True)
class PythonLiteral(ColumnType):
    """A value written by Python's `repr` and stored unchanged; `fits` checks the evaluated value."""

    cut_shows: ClassVar[bool] = True
    fits: Callable[[Any], bool]
    what: str
    also: tuple[str, ...] = ()
    named: Mapping[str, str] = field(default_factory=dict)

    @property
    def labels(self) -> Mapping[str, str]:
        return self.named

    def read(self, cell: str) -> str:
        if cell not in self.also and not self.fits(literal(cell)):
            raise ValueError
        return cell

    def _words(self) -> str:
        return ", or ".join([self.what, *map(repr, self.also)])


@dataclass(frozen=True, slots=True)
class JsonColumn(ColumnType):
    """A value of a JSON file, stored as JSON; `shape` is its form in metadata, a text if that is None."""

    kind: ClassVar[Kind] = "json"
    cut_shows: ClassVar[bool] = True
    fits: Callable[[Any], bool]
    what: str
    shape: Shape | None = None

    def read(self, cell: str) -> str:
        return self.take(json.loads(cell))

    def take(self, value: Any) -> str:
        if not self.fits(value):
            raise ValueError
        try:
            return orjson.dumps(value).decode()
        except TypeError:  # half of a surrogate pair, or a number beyond 64 bits
            return json.dumps(value, separators=(",", ":"))

    def _words(self) -> str:
        return self.what


@dataclass(frozen=True, slots=True)
class Column:
    """`asked` are the questions whose wording explains it. `stored` is its name in the database if the released name
    cannot be used there. Published files may lack an `optional` column; one of `theirs` is in some of them, but never
    in files that Parley exports. `free_text` are somebody's own words, which may hold personal data; `demographic`
    columns describe the participant, so that several together may identify somebody."""

    name: str
    form: ColumnType
    meaning: str
    source: str
    asked: tuple[str, ...] = ()
    stored: str = ""
    optional: bool = False
    theirs: bool = False
    free_text: bool = False
    demographic: bool = False

    @property
    def kind(self) -> Kind:
        return self.form.kind

    @property
    def sql(self) -> str:
        return self.stored or self.name


def literal(cell: str) -> Any:
    """Evaluate a `repr`; raises ValueError."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.literal_eval(cell)
        except UNREADABLE as error:
            raise ValueError(str(error)) from None


def all_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def csv_spelling(value: Any, cell: str) -> str | None:
    """The cell, if it is spelled differently from how Parley writes the value; else None."""
    if value is None or isinstance(value, str):
        return None
    return None if cell == (repr(value) if isinstance(value, float) else str(value)) else cell


def json_spelling(value: Any, given: Any) -> Any:
    """The given JSON value, if it differs from the one that Parley writes; else None."""
    return None if type(value) is type(given) and value == given else given
