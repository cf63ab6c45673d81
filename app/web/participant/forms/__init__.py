"""View models of form fields for the templates in this folder: one class for every kind of field."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from experiments.study.fields import (
    Checkbox,
    ChoiceField,
    Field,
    LongText,
    MatrixField,
    MultipleChoiceField,
    Number,
    ProposedText,
    Slider,
    TextField,
)
from experiments.study.sections.recruitment import Paste

# The longest option that fits above a table's column, in characters.
COLUMN_CHARS = 40
MOST_COLUMNS = 11
# The longest option that fits into a row of them on a phone, in characters.
ROW_CHARS = 12
ROW_OPTIONS = 5
# The fewest options of a table whose first and last are called its ends.
SCALE_POINTS = 4
# A point that has no label but its number: `3` or `(3)`.
BARE = re.compile(r"\(?-?[0-9]+\)?")


@dataclass(frozen=True, slots=True)
class OptionView:
    value: str
    text: str
    chosen: bool
    badge: str


@dataclass(frozen=True, slots=True)
class FieldView:
    name: str
    control: str
    text: str
    help: str
    required: bool
    options: tuple[OptionView, ...] = ()
    value: str = ""
    limits: tuple[tuple[str, str], ...] = ()
    """HTML attributes for validation in the browser; the server validates again."""
    row: bool = False
    """True if the options are few and short enough for one row."""
    ends: tuple[str, ...] = ()
    """The labels at the left and right end of a slider."""
    matrix: str = ""
    paste: str = ""
    unit: str = ""
    proposed: bool = False
    """True if it is a text to be confirmed, so that it is not called optional."""


@dataclass(frozen=True, slots=True)
class FieldGroup:
    """Consecutive fields: the rows of one table, or without a heading any fields."""

    heading: str
    fields: tuple[FieldView, ...]

    @property
    def columns(self) -> bool:
        """True if the options fit into columns, so that their labels are shown once, above the table."""
        return self._fit(MOST_COLUMNS, COLUMN_CHARS)

    @property
    def row(self) -> bool:
        """True if the options fit into a row also on a phone."""
        return bool(self.ends) or self._fit(ROW_OPTIONS, ROW_CHARS)

    def _fit(self, most: int, chars: int) -> bool:
        words = [option.text for option in self.fields[0].options]
        return len(words) <= most and max(map(len, words), default=0) <= chars

    @property
    def ends(self) -> tuple[str, ...]:
        """The labels of the two ends of a scale, if no other point has one; on a phone they are below each row."""
        first, *between, last = (option.text for option in self.fields[0].options)
        if len(between) + 2 < SCALE_POINTS or not all(map(BARE.fullmatch, between)) or BARE.fullmatch(first):
            return ()
        return tuple(BARE.sub("", text, count=1).strip() for text in (first, last))


def groups(views: Iterable[FieldView]) -> tuple[FieldGroup, ...]:
    """The fields in order, with the rows of each table together."""
    found = groupby(views, lambda view: (view.matrix, [o.text for o in view.options] if view.matrix else ()))
    return tuple(FieldGroup(heading, tuple(rows)) for (heading, _), rows in found)


def view_of(field: Field, value: Any, paste: Paste = "allow") -> FieldView:
    """The view of a field with the draft's value (None, a text, or a list of texts); `paste` is the study's default."""
    given = [str(one) for one in value] if isinstance(value, list | tuple) else [] if value is None else [str(value)]
    common = (field.name, _control(field), field.text, field.help, field.required)
    match field:
        case ChoiceField():
            options = tuple(
                OptionView(key, label, key in given, key if _is_letter(key) else "")
                for key, label in field.options.items()
            )
            return FieldView(*common, options, row=_fits_in_row(field), matrix=_heading(field))
        case Checkbox():
            return FieldView(*common, value="on" if given else "")
        case Number():
            return FieldView(*common, value="".join(given[:1]), limits=_range(field), unit=field.unit)
        case Slider():
            line = (("min", str(field.minimum)), ("max", str(field.maximum)), ("step", str(field.step)))
            ends = (field.left, field.right) if field.left or field.right else ()
            return FieldView(*common, value="".join(given[:1]), limits=line, ends=ends)
        case ProposedText():
            text = field.proposed if value is None else "".join(given[:1])
            return FieldView(*common, value=text, paste=paste, proposed=True)
        case TextField():
            # no maxlength: the browser would cut a pasted text without a word
            return FieldView(*common, value="".join(given[:1]), paste=field.paste or paste)
        case _:
            raise TypeError(f"no control is known for the field {field.name!r} of kind {type(field).__name__}")


def _control(field: Field) -> str:
    match field:
        case MultipleChoiceField():
            return "checkbox"
        case ChoiceField():
            return "radio"
        case LongText():
            return "long"
        case Checkbox():
            return "tick"
        case Number():
            return "number"
        case Slider():
            return "slider"
        case _:
            return "short"


def _heading(field: Field) -> str:
    return field.matrix if isinstance(field, MatrixField) else ""


def _is_letter(key: str) -> bool:
    return len(key) == 1 and key.isalpha() and key.isupper()


def _fits_in_row(field: ChoiceField) -> bool:
    longest = max(map(len, field.options.values()), default=0)
    return not any(map(_is_letter, field.options)) and (
        (len(field.options) <= 4 and longest <= 40 and longest * len(field.options) <= 120)
        or (len(field.options) <= 11 and longest <= 3)
    )


def _range(number: Number) -> tuple[tuple[str, str], ...]:
    limits = {"min": number.minimum, "max": number.maximum}
    given = tuple((name, f"{limit:g}") for name, limit in limits.items() if limit is not None)
    return (*given, ("inputmode", "numeric" if number.integer else "decimal"))
