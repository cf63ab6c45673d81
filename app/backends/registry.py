"""The registry of backends: those in this folder, and those of other packages (entry points in "parley.backends").

A backend is a class that is made with (settings, sleep) and named by a decorator:

    @backend("echo")
    class Echo(Backend): ...

One that asks a model server says so: with `server="optional"` or `server="required"` its class is made with (settings,
sleep, server), once for each server that studies name. One that starts its server itself says `server="own"`.
Modules of this folder that name none are helpers.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cache, partial
from typing import TypeVar

from app.backends.base import JSON, Backend, Request, ServerUse, Sleep, option_faults
from app.config.model_servers import Server
from app.config.settings import Settings, env_name
from app.errors import BackendRejected, SettingsError
from experiments.study.sections.model_spec import ModelSpec
from problems.plugins import Registry

C = TypeVar("C", bound=type[Backend])
WITHOUT = ("none", "own")

BACKENDS: Registry[type[Backend]] = Registry(
    "backend", "app.backends", "parley.backends", partial(BackendRejected, reason="unknown_backend")
)


def backend(name: str, *, server: ServerUse = "none") -> Callable[[C], C]:
    """Register the class below as the backend `name`; `server` says whether a study names a server for it."""

    def register(cls: C) -> C:
        if not (isinstance(cls, type) and issubclass(cls, Backend) and cls.stream is not Backend.stream):
            raise TypeError(f"the backend {name!r} must be a class of Backend with a method `stream`")
        cls.server = server
        BACKENDS.add(name, cls)
        return cls

    return register


def create(name: str, settings: Settings, sleep: Sleep, server: str | None = None) -> Backend:
    """A backend; one that simulates typing waits with `sleep`. Raises BackendRejected, or SettingsError."""
    kind = BACKENDS.find(name)
    for fault in check_server(name, server):
        raise BackendRejected(fault, reason="bad_server")
    if kind.server in WITHOUT:
        return kind(settings, sleep)
    return kind(settings, sleep, settings.server(server) if server else None)


def own_server(settings: Settings, name: str, url: str) -> Server:
    """The server of the backend `name` where a study names none: at `url`, or at the address that is set for it."""
    address, key = getattr(settings, f"{name}_base_url"), getattr(settings, f"{name}_api_key")
    if address is None and key is None:
        raise SettingsError(
            f"The backend {name!r} needs a key for {url}. Set {env_name(f'{name}_api_key')}, or "
            f"{env_name(f'{name}_base_url')} for your own server, or name another one in the study with `server`."
        )
    return Server(url=address or url, key=key)


async def configuration_errors(models: Iterable[ModelSpec], settings: Settings) -> tuple[str, ...]:
    found: list[str] = []
    for model in models:
        try:
            await create(model.backend, settings, asyncio.sleep, model.server).close()
        except (SettingsError, BackendRejected) as error:
            found.append(str(error))
    return tuple(dict.fromkeys(found))


@cache
def asks_servers(name: str) -> bool:
    return BACKENDS.find(name).server != "none"


def check_server(name: str, server: str | None) -> list[str]:
    use = BACKENDS.find(name).server
    if server and use in WITHOUT:
        return [f"the backend {name!r} takes no server; leave `server: {server}` out"]
    if not server and use == "required":
        return [f"the backend {name!r} needs a `server`: the name of a server in PARLEY_MODEL_SERVERS"]
    return []


def streaming_advice(models: Mapping[str, ModelSpec]) -> list[str]:
    """Of each model whose replies are not shown while they are written, why."""
    found = []
    for label, model in models.items():
        if what := BACKENDS.find(model.backend).not_streamed(model.model or label, model.options):
            found.append(f"models.{label}: {what}")
    return found


async def untested(models: Mapping[str, ModelSpec], settings: Settings) -> list[str]:
    """The models whose first words may be reasoning or not, without those that lack a setting."""
    found = []
    for label, model in models.items():
        with suppress(SettingsError, BackendRejected):
            asked = create(model.backend, settings, asyncio.sleep, model.server)
            if asked.holds(Request(model.model or label, (), options=model.options)):
                found.append(label)
            await asked.close()
    return found


def check_options(name: str, options: Mapping[str, JSON]) -> list[str]:
    return option_faults(BACKENDS.find(name).Options, options)
