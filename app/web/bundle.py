"""The page's own scripts and styles as one file each: on a slow line each request costs a round trip.

The scripts stay the modules of app/web/static. They keep to two forms, which its test checks:
`import { a, b } from "./name.js";` on a line of its own, and `export` before what cannot be assigned anew.
"""

from __future__ import annotations

import gzip
import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

STATIC = Path(__file__).parent / "static"
IMPORT = re.compile(r'^import (\{[^}]*\}) from "\./(\w+)\.js";$', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:async )?(?:const|function\*?|class) ([\w$]+))", re.MULTILINE)


def script(name: str) -> str:
    """A module and all that it imports, as one module; each is run once, after those that it imports."""
    modules: dict[str, str] = {}

    def add(name: str) -> None:
        text = (STATIC / f"{name}.js").read_text(encoding="utf-8")
        for imported in IMPORT.finditer(text):
            if imported[2] not in modules:
                add(imported[2])
        body = EXPORT.sub("", IMPORT.sub(r"const \1 = module_\2;", text))
        exported = ", ".join(EXPORT.findall(text))
        modules[name] = f"const module_{name} = (() => {{\n{body}\nreturn {{ {exported} }};\n}})();\n"

    add(name)
    return "".join(modules.values())


def styles(names: Sequence[str]) -> str:
    return "\n".join((STATIC / f"{name}.css").read_text(encoding="utf-8") for name in names)


def route(path: str, text: str, media_type: str) -> Route:
    """A route to a text that does not change while the server runs; browsers ask whether they have the newest."""
    plain = text.encode()
    packed = gzip.compress(plain)
    headers = {
        "etag": f'"{hashlib.sha256(plain).hexdigest()[:32]}"',
        "cache-control": "no-cache",
        "vary": "Accept-Encoding",
    }

    async def answer(request: Request) -> Response:
        if request.headers.get("if-none-match") == headers["etag"]:
            return Response(status_code=304, headers=headers)
        if "gzip" in request.headers.get("accept-encoding", ""):
            return Response(packed, headers={**headers, "content-encoding": "gzip"}, media_type=media_type)
        return Response(plain, headers=headers, media_type=media_type)

    return Route(path, answer, methods=["GET", "HEAD"])
