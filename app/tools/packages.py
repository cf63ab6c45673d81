"""Servers of tools that run in this process: a function of a package, under a name in the entry points `parley.tools`.

    @tool_server("service-desk")
    def server(session: str) -> MCPServer: ...

`session` is a random name of the participant's session, so that a server can keep each one's data apart.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from app.errors import SettingsError
from problems.plugins import Registry

if TYPE_CHECKING:
    from mcp.server import MCPServer

MakeServer = Callable[[str], "MCPServer"]

TOOL_SERVERS: Registry[MakeServer] = Registry("server of tools", "app.tools.servers", "parley.tools", SettingsError)


def tool_server(name: str) -> Callable[[MakeServer], MakeServer]:
    """Register the function below as the server `name`."""

    def register(make: MakeServer) -> MakeServer:
        TOOL_SERVERS.add(name, make)
        return make

    return register
