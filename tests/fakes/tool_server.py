"""A server of tools that does what a test tells it: in this process, or by itself over standard input and output."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from mcp.server import MCPServer

from app.tools.packages import TOOL_SERVERS

NAME = "test-desk"
# The orders that were paid, by whoever asked, in this process.
PAID: list[str] = []
# Where a server of its own writes what was paid, a line each.
PAID_FILE = "PARLEY_TEST_PAID"


def desk(session: str, paid: Callable[[str], None] = PAID.append) -> MCPServer:
    server = MCPServer("desk")

    @server.tool()
    def find(order: str) -> str:
        """Find an order."""
        return f"Order {order} is on its way. <b>{session}</b>"

    @server.tool()
    async def pay(order: str, wait_s: float = 0) -> str:
        """Pay for an order."""
        paid(order)
        await asyncio.sleep(wait_s)
        return f"Order {order} is paid."

    @server.tool()
    async def slow() -> str:
        """Take for ever."""
        await asyncio.sleep(3600)
        return ""

    @server.tool()
    def flood() -> str:
        """Say more than anybody reads."""
        return "x" * 10_000_000

    @server.tool()
    def die() -> str:
        """End the server."""
        os._exit(3)

    return server


@contextmanager
def offered() -> Iterator[list[str]]:
    """The server in this process, as a package would offer it; gives what was paid."""
    PAID.clear()
    TOOL_SERVERS.entries[NAME] = desk
    try:
        yield PAID
    finally:
        del TOOL_SERVERS.entries[NAME]


def _to_file(order: str) -> None:
    with Path(os.environ[PAID_FILE]).open("a", encoding="utf-8") as file:
        file.write(f"{order}\n")


if __name__ == "__main__":
    desk(os.environ.get("PARLEY_SESSION", ""), _to_file).run()
