"""The stable names of figures: the documented pattern of each name, and how names are made unique.

Each name belongs to exactly one figure. If two schemas have figures with the same name (a study that records both
editions of DICES), the names begin with the schema's name instead: `dices-990.alpha_nominal.Q_overall`. Names that are
still equal (models called `a.b` and `a_b`) are numbered in their order: `_2`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

SCHEMA = re.compile(r"^([a-z]+)-\w+\.")
PLACE = re.compile(r"<[^>]+>")


def plain(name: str) -> str:
    """A name without the edition that `apart` may have added: `dices-990.a.b` is `dices.a.b`."""
    return SCHEMA.sub(r"\1.", name)


def matches(name: str, pattern: str) -> bool:
    """Whether a figure's name fits a pattern, in which `<x>` is any part of a name."""
    return re.fullmatch(_expression(pattern), plain(name)) is not None


def patterns(name: str, known: Mapping[str, str]) -> list[str]:
    """The patterns that a figure's name matches; there should be exactly one."""
    return [pattern for pattern in known if matches(name, pattern)]


def about(name: str, known: Mapping[str, str]) -> str:
    return next((known[pattern] for pattern in patterns(name, known)), "")


@cache
def _expression(pattern: str) -> str:
    return r"[^.]+".join(map(re.escape, PLACE.split(pattern)))


def unique_names(names: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Make names unique, given each with its schema; the order is kept."""
    schemas: dict[str, set[str]] = {}
    for schema, name in names:
        schemas.setdefault(name, set()).add(schema)
    taken: set[str] = set()
    for schema, name in names:
        full_name = name if len(schemas[name]) == 1 else f"{schema}.{name.partition('.')[2]}"
        found, number = full_name, 1
        while found in taken or (found != name and found in schemas):
            number += 1
            found = f"{full_name}_{number}"
        taken.add(found)
        yield found
