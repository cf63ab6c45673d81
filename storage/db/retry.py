"""What is done where another writer took the next number of a stream first: read again, decide again, write again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, suppress

from storage.errors import Conflict

MOST_TRIES = 20


def attempts(what: str) -> Iterator[AbstractContextManager[object]]:
    """Blocks to be tried one after another until one ends without Conflict, which leaves the loop by `return`; raises
    Conflict where none does.

        for attempt in attempts(stream):
            with attempt:
                return ...
    """
    for _ in range(MOST_TRIES):
        yield suppress(Conflict)
    raise Conflict(f"{what}: other writers were first {MOST_TRIES} times; try again")
