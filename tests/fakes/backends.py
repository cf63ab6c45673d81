"""Backends that are there for a module's tests only."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from app.backends import registry


@contextmanager
def registered(name: str, cls: Any) -> Iterator[None]:
    """The backend `name` is there meanwhile."""
    registry.backend(name)(cls)
    try:
        yield
    finally:
        del registry._BACKENDS[name]
