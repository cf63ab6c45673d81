"""Servers of tools that run in this process: a function of a package, under a name in the entry points `parley.tools`.

    @tool_server("bicycle-shop", replayed=True)
    def server(session: str) -> MCPServer: ...

`session` is a random name of the participant's session, so that a server can keep each one's data apart. One that is
`replayed` keeps none: it is made anew for each call, and the calls of the conversation so far are first made again on
it, so that its state is what the log says, whatever process serves the session. Its calls must change nothing else.
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
REPLAYED = set[str]()


def tool_server(name: str, *, replayed: bool = False) -> Callable[[MakeServer], MakeServer]:
    def register(make: MakeServer) -> MakeServer:
        TOOL_SERVERS.add(name, make)
        if replayed:
            REPLAYED.add(name)
        return make

    return register
