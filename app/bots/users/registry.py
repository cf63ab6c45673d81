"""Which kinds of simulated users there are: those of this folder, and those that packages name under "parley.users"."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeVar

from app.bots.users.base import Made
from app.errors import UserUnknown
from problems.errors import did_you_mean
from problems.plugins import discover

GROUP = "parley.users"
M = TypeVar("M", bound=Made)


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of simulated user, and what it needs: a model that speaks for it, personas that it plays."""

    name: str
    made: Made
    model: bool = False
    personas: bool = False
    about: str = ""


_KINDS: dict[str, Kind] = {}


def user(name: str, *, model: bool = False, personas: bool = False) -> Callable[[M], M]:
    """Register the class below as the kind `name`."""

    def register(made: M) -> M:
        if name in _KINDS:
            raise ValueError(f"The kind of user {name!r} is registered twice. Give one of them another name.")
        about = (made.__doc__ or "").partition("\n")[0]
        _KINDS[name] = Kind(name, made, model, personas, about)
        return made

    return register


def kinds() -> Mapping[str, Kind]:
    """Every kind by name, in the order of the alphabet."""
    discover("app.bots.users", GROUP)
    return MappingProxyType(dict(sorted(_KINDS.items())))


def kind(name: str) -> Kind:
    """A kind by name; raises UserUnknown."""
    known = kinds()
    if name not in known:
        raise UserUnknown(f"There is no user {name!r}; allowed: {', '.join(known)}.{did_you_mean(name, known)}")
    return known[name]
