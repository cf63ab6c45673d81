"""Names of columns as SPSS and Stata allow them: letters, digits and underscores, unique without regard to case.

Limits: SPSS Statistics, "Variable names" (64 bytes); Stata User's Guide, [U] 11.3 "Naming conventions" (32 characters).
Both reserve some words.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import chain, count
from types import MappingProxyType

from storage.schemas.base import Column

LIMITS: Mapping[str, int] = MappingProxyType({"sav": 64, "dta": 32})
"""The longest name, by the suffix of the format."""
RESERVED = re.compile(
    r"all|and|by|eq|ge|gt|le|lt|ne|not|or|to|with|_.*|byte|double|float|if|in|int|long|strl|str\d+|using", re.IGNORECASE
)
"""The words that SPSS or Stata reserves; those that begin with an underscore are Stata's own variables."""


def variable_names(columns: Sequence[Column], suffix: str) -> Mapping[str, str]:
    """The name of each column in a format, by its released name. A name that is too long is cut; of two that are then
    equal, the later one ends with a number."""
    found: dict[str, str] = {}
    for column in columns:
        name = re.sub(r"[^A-Za-z0-9_]", "_", column.name or column.sql)
        name = f"v_{name}" if RESERVED.fullmatch(name) or not name[0].isalpha() else name
        found[column.name] = _unique(name, LIMITS[suffix], {taken.lower() for taken in found.values()})
    return found


def _unique(name: str, limit: int, taken: Collection[str]) -> str:
    ends = chain([""], (f"_{number}" for number in count(2)))
    return next(short for end in ends if (short := name[: limit - len(end)] + end).lower() not in taken)
