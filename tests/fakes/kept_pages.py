"""Console pages that are kept for whoever builds the next console: making one was most of many a test.

A page knows nothing but its desk and its rooms. Who is lent one finds their own desk there, and rooms that remember
nothing of who was there before; it is not given on after a failure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import pytest
from starlette.routing import BaseRoute

from app.web.console import page
from app.web.console.context import ConsoleContext
from app.web.console.tab import Tab, TabLocation
from app.web.console.tabs import tab_kinds

# What a room or a part of one takes from its desk when it is made, or remembers of what it has shown.
FROM_DESK = ("_watching", "_accounts", "_latest", "_walks")
ROUTES = page.routes
Console = TypeVar("Console")


class Kept:
    """A page that is made when it is first asked for, and then only given another desk."""

    def __init__(self) -> None:
        self._rooms: list[Any] = []
        self._routes: list[BaseRoute] | None = None

    def routes(self, context: ConsoleContext) -> list[BaseRoute]:
        if self._routes is None:
            self._desk, self._routes = context, self._made(context)
        else:
            self._seat(context)
        return self._routes

    def _made(self, context: ConsoleContext) -> list[BaseRoute]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(page, "tab_kinds", lambda: [self._noted(kind) for kind in tab_kinds()])
            return ROUTES(context)

    def _noted(
        self, kind: Callable[[ConsoleContext, TabLocation], Tab]
    ) -> Callable[[ConsoleContext, TabLocation], Tab]:
        def make(context: ConsoleContext, location: TabLocation) -> Tab:
            self._rooms.append(room := kind(context, location))
            self._rooms += getattr(room, "_parts", {}).values()
            return room

        return make

    def _seat(self, context: ConsoleContext) -> None:
        vars(self._desk).update({name: value for name, value in vars(context).items() if name != "note"})
        for room in self._rooms:
            new = type(room)(self._desk, getattr(room, "_place", None))
            vars(room).update({name: value for name, value in vars(new).items() if name in FROM_DESK})


_FREE: list[Kept] = []


@contextmanager
def on_kept_page(build: Callable[[], Console]) -> Iterator[Console]:
    """A console that is built with a page that nobody else has until the block ends."""
    kept = _FREE.pop() if _FREE else Kept()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page, "routes", kept.routes)
        console = build()
    yield console
    _FREE.append(kept)
