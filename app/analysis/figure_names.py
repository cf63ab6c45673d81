"""The stable names of figures: which documented pattern each follows, and how two of one name are told apart.

A name is one figure's alone: what is asked for by name must never be another's. Two schemas' figures of one name (of a
study that records both editions of DICES) begin with their schema's name instead, `dices-990.alpha_nominal.Q_overall`;
what is still alike (models called `a.b` and `a_b`) is numbered in its order, `_2`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

SCHEMA = re.compile(r"^([a-z]+)-\w+\.")
PLACE = re.compile(r"<[^>]+>")


def patterns(name: str, known: Mapping[str, str]) -> list[str]:
    """The patterns that a figure's name follows; there is to be exactly one."""
    plain = SCHEMA.sub(r"\1.", name)
    return [pattern for pattern in known if re.fullmatch(_expression(pattern), plain)]


def about(name: str, known: Mapping[str, str]) -> str:
    """What a figure is, by its name."""
    return next((known[pattern] for pattern in patterns(name, known)), "")


def _expression(pattern: str) -> str:
    return r"[^.]+".join(map(re.escape, PLACE.split(pattern)))


def apart(names: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Names, each with the schema that it comes from, told apart where they are alike; in the same order."""
    schemas: dict[str, set[str]] = {}
    for schema, name in names:
        schemas.setdefault(name, set()).add(schema)
    taken: set[str] = set()
    for schema, name in names:
        meant = name if len(schemas[name]) == 1 else f"{schema}.{name.partition('.')[2]}"
        found, number = meant, 1
        while found in taken or (found != name and found in schemas):
            number += 1
            found = f"{meant}_{number}"
        taken.add(found)
        yield found
