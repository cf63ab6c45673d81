"""The limit of serving the page: a bare Starlette server that answers everything with a file's bytes.

`python -m tests.bench.same_bytes PORT FILE`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route


def main(port: int, file: Path) -> None:
    """Serve until killed."""
    page = file.read_bytes()

    async def answer(_: Request) -> Response:
        return Response(page, media_type="text/html")

    app = Starlette(routes=[Route("/{path:path}", answer)])
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="error", access_log=False)


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
