"""Every route of a server, however deeply its applications are put into each other."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from starlette.applications import Starlette


def routes(application: Any) -> Iterator[str]:
    """Every path of an application and of those mounted in it, with something in place of parameters."""
    while not isinstance(application, Starlette):
        application = application._app
    for path in _paths(application.router.routes, ""):
        yield re.sub(r"\{[^}]*\}", "x", path)


def _paths(found: Iterable[Any], prefix: str) -> Iterator[str]:
    for route in found:
        router = getattr(route, "original_router", route)
        inner = getattr(router, "routes", None)
        if inner:
            yield from _paths(inner, prefix + getattr(route, "path", ""))
        else:
            yield prefix + route.path
