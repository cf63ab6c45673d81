"""What may stand in a released column, and how a cell of a file becomes a value of the database.

`read` takes a cell of a csv, `take` a value of a JSON file; both give the value that is stored, or raise ValueError.
A file may spell a value in another way than we do (`1.0`, `True`): see `csv_spelling`. Blank cells are the caller's:
they are unknown, where `blank` allows it.
"""

from __future__ import annotations

import ast
import json
import math
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import orjson

Kind = Literal["text", "integer", "number", "json"]
NONE: Mapping[str, Any] = MappingProxyType({})
UNREADABLE = (ValueError, SyntaxError, TypeError, MemoryError, RecursionError)
"""What Python's own reader of literals raises."""
BITS = 63
WHOLE = re.compile(r"-?[0-9]+(\.0)?")
FRACTION = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")


class ValueTooLarge(ValueError):
    """A whole number that no database holds."""


@dataclass(frozen=True, slots=True)
class ColumnType:
    """What may stand in a column. `cut_shows` says whether a cell that lost its end could be told from a whole one."""

    kind: ClassVar[Kind] = "text"
    cut_shows: ClassVar[bool] = False
    blank: bool = field(default=False, kw_only=True)

    @property
    def allowed(self) -> str:
        """What may stand there, in words."""
        return self._words() + (", or nothing" if self.blank else "")

    @property
    def labels(self) -> Mapping[str, str]:
        """The closed list of values with what each means; empty where there is no such list."""
        return NONE

    def read(self, cell: str) -> Any:
        """The value of a csv's cell that is not blank; raises ValueError."""
        raise NotImplementedError

    def take(self, value: Any) -> Any:
        """The value of a JSON file's value that is not null; raises ValueError."""
        return self.read(value if isinstance(value, str) else json.dumps(value))

    def _words(self) -> str:
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class TextColumn(ColumnType):
    """Any text; `pattern` is what all of it must match, `what` says that in words."""

    pattern: str = ""
    what: str = "a text"

    def read(self, cell: str) -> str:
        """The text itself."""
        if self.pattern and not re.fullmatch(self.pattern, cell):
            raise ValueError
        return cell

    def _words(self) -> str:
        return self.what


@dataclass(frozen=True, slots=True)
class ChoiceColumn(ColumnType):
    """One of some texts, each with what it means. `also` holds what published files have there besides."""

    cut_shows: ClassVar[bool] = True
    values: Mapping[str, str]
    also: tuple[str, ...] = ()

    @property
    def labels(self) -> Mapping[str, str]:
        """The texts and their meanings."""
        return self.values

    def read(self, cell: str) -> str:
        """The text itself."""
        if cell not in self.values and cell not in self.also:
            raise ValueError
        return cell

    def _words(self) -> str:
        return ", ".join(repr(value) for value in self.values)


def choice(*values: str, blank: bool = False, also: tuple[str, ...] = ()) -> ChoiceColumn:
    """One of some texts that say themselves what they mean."""
    return ChoiceColumn(MappingProxyType(dict.fromkeys(values, "")), also, blank=blank)


@dataclass(frozen=True, slots=True)
class IntegerColumn(ColumnType):
    """A whole number in a range; `named` says what each number means, `spelt` how files may spell some of them."""

    kind: ClassVar[Kind] = "integer"
    low: int | None = None
    high: int | None = None
    named: Mapping[str, str] = field(default_factory=dict)
    spelt: Mapping[str, int] = field(default_factory=dict)

    @property
    def cut_shows(self) -> bool:  # type: ignore[override]
        """A list of numbers of one digit leaves no room for half a number."""
        return bool(self.named)

    @property
    def labels(self) -> Mapping[str, str]:
        """The numbers that mean something."""
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
    """A number that may have a fraction; it is finite."""

    kind: ClassVar[Kind] = "number"
    low: float = -math.inf
    high: float = math.inf

    def read(self, cell: str) -> float:
        """The number."""
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
    """What Python's `repr` wrote, kept to the character: `fits` says whether its value is right."""

    cut_shows: ClassVar[bool] = True
    fits: Callable[[Any], bool]
    what: str
    also: tuple[str, ...] = ()
    named: Mapping[str, str] = field(default_factory=dict)

    @property
    def labels(self) -> Mapping[str, str]:
        """What the numbers in it mean."""
        return self.named

    def read(self, cell: str) -> str:
        """The cell itself."""
        if cell not in self.also and not self.fits(literal(cell)):
            raise ValueError
        return cell

    def _words(self) -> str:
        return ", or ".join([self.what, *map(repr, self.also)])


@dataclass(frozen=True, slots=True)
class JsonColumn(ColumnType):
    """A value of a JSON file, kept as JSON."""

    kind: ClassVar[Kind] = "json"
    cut_shows: ClassVar[bool] = True
    fits: Callable[[Any], bool]
    what: str

    def read(self, cell: str) -> str:
        """The JSON text of a cell."""
        return self.take(json.loads(cell))

    def take(self, value: Any) -> str:
        """Its JSON text."""
        if not self.fits(value):
            raise ValueError
        try:
            return orjson.dumps(value).decode()
        except TypeError:  # half of a surrogate pair, or a number beyond 64 bits
            return json.dumps(value, separators=(",", ":"))

    def _words(self) -> str:
        return self.what


def literal(cell: str) -> Any:
    """The value that a `repr` stands for; raises ValueError."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.literal_eval(cell)
        except UNREADABLE as error:
            raise ValueError(str(error)) from None


def all_texts(value: Any) -> bool:
    """Whether it is a list of texts."""
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def csv_spelling(value: Any, cell: str) -> str | None:
    """A csv's cell, where it is not how we would write its value; None where it is."""
    if value is None or isinstance(value, str):
        return None
    return None if cell == (repr(value) if isinstance(value, float) else str(value)) else cell


def json_spelling(value: Any, given: Any) -> Any:
    """A JSON file's value, where it is not the value that we would write; None where it is."""
    return None if type(value) is type(given) and value == given else given
