"""The tools of the bicycle shop's service desk; its state follows from a conversation's calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.tools.packages import tool_server
from problems.bicycle_shop import BicycleShop

if TYPE_CHECKING:
    from mcp.server import MCPServer


@tool_server("bicycle-shop", replayed=True)
def server(session: str) -> MCPServer:
    from mcp.server import MCPServer

    found = MCPServer("bicycle-shop")
    for tool in BicycleShop().tools.values():
        found.add_tool(tool, structured_output=False)
    return found
