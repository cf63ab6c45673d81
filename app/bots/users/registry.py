"""Registry of kinds of simulated users: those of this folder, and those that packages name under "parley.users"."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from app.bots.users.base import UserFactory
from app.errors import UserUnknown
from problems.plugins import Registry

M = TypeVar("M", bound=UserFactory)


@dataclass(frozen=True, slots=True)
class Kind:
    name: str
    made: UserFactory
    model: bool = False
    about: str = ""


USERS: Registry[Kind] = Registry("user", "app.bots.users", "parley.users", UserUnknown)


def user(name: str, *, model: bool = False) -> Callable[[M], M]:

    def register(made: M) -> M:
        about = (made.__doc__ or "").partition("\n")[0]
        USERS.add(name, Kind(name, made, model, about))
        return made

    return register
