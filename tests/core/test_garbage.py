"""A session leaves no garbage that only Python's collector could find: looking for it holds up all who take part."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from experiments.core.session import screen
from experiments.core.story import story
from experiments.core.timing import dues
from tests.fakes.sessions import NAMES, play, study


@contextmanager
def left_behind() -> Iterator[Counter[str]]:
    """What the block leaves behind in circles, by type, of all that is Parley's own."""
    found: Counter[str] = Counter()
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        yield found
        gc.collect()
        ours = ("app.", "experiments.", "storage.", "problems.")
        found.update(type(one).__name__ for one in gc.garbage if type(one).__module__.startswith(ours))
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


@pytest.mark.parametrize("name", NAMES)
def test_a_session_leaves_nothing_that_holds_itself(name: str) -> None:
    read = study(name)
    with left_behind() as found:
        for state, _ in play(read, "garbage"):
            screen(read, state)
            dues(read, state)
        story(read, state.events)
        del state, _
    assert not found
