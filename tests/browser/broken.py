"""Answers in events that break off on their way."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Route


def cut_after(last: str) -> Callable[[Route], None]:
    """An answer in events whose connection breaks after the first of a name."""

    def cut(route: Route) -> None:
        text = route.fetch().text()
        before, name, told = text.partition(f"event: {last}\n")
        route.fulfill(content_type="text/event-stream", body=before + name + told.partition("\n\n")[0] + "\n\n")

    return cut
