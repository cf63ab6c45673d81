"""Threads that wait until they are told to work."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any


class Held(Executor):
    """Workers that begin when they are told to."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Future[Any], Callable[[], Any]]] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.waiting.append((future, lambda: fn(*args, **kwargs)))
        return future

    def work(self) -> int:
        done, self.waiting = self.waiting, []
        for future, call in done:
            try:
                future.set_result(call())
            except ValueError as error:
                future.set_exception(error)
        return len(done)
