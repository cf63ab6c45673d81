"""Which backends there are: those of this folder, and those that other packages name under "parley.backends".

A backend is a class that is made with (settings, sleep), has a class `Options`, and is named by a decorator:

    @backend("echo")
    class Echo: ...

Modules of this folder that name none are helpers. The table fills on first use and only then.
"""

from collections.abc import Callable, Mapping
from typing import Protocol, TypeVar

from app.backends.base import JSON, Backend, BackendOptions, Sleep, option_faults
from app.errors import BackendRejected
from app.settings import Settings
from problems.errors import did_you_mean
from problems.plugins import discover

GROUP = "parley.backends"


class BackendClass(Protocol):
    """The class of a backend: makes it, and knows its options."""

    @property
    def Options(self) -> type[BackendOptions]:
        """What a study file may say in `options:` of this backend's models."""
        ...

    def __call__(self, settings: Settings, sleep: Sleep) -> Backend:
        """Make the backend; raise a SettingsError where a setting is missing."""
        ...


C = TypeVar("C", bound=BackendClass)

_BACKENDS: dict[str, BackendClass] = {}


def backend(name: str) -> Callable[[C], C]:
    """Register the class below as the backend `name`."""

    def register(cls: C) -> C:
        if name in _BACKENDS:
            raise ValueError(f"Backend {name!r} is registered twice. Give one of them another name.")
        _BACKENDS[name] = cls
        return cls

    return register


def names() -> tuple[str, ...]:
    """Name every backend there is, of this package and of others, in the order of the alphabet."""
    discover("app.backends", GROUP)
    return tuple(sorted(_BACKENDS))


def create(name: str, settings: Settings, sleep: Sleep) -> Backend:
    """Make the backend `name`; one that plays for time waits with `sleep`.

    Raises BackendRejected if there is none of that name, SettingsError if a setting is missing.
    """
    return _find(name)(settings, sleep)


def check_options(name: str, options: Mapping[str, JSON]) -> list[str]:
    """Say all that is wrong with the `options:` that a study file gives a model of the backend `name`."""
    try:
        return option_faults(_find(name).Options, options)
    except BackendRejected as error:
        return [str(error)]


def _find(name: str) -> BackendClass:
    allowed = names()
    if name not in allowed:
        raise BackendRejected(
            f"There is no backend {name!r}; allowed: {', '.join(allowed)}.{did_you_mean(name, allowed)}",
            reason="unknown_backend",
        )
    return _BACKENDS[name]
