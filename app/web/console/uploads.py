"""The routes for uploads, each file in a request of its own: an event is too small.

Pictures are kept with the draft; the files of a release in a folder of the user's, until they are imported or the
console stops.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from app.errors import ArgumentInvalid, NotAllowed
from app.studies.picture_files import PictureFiles
from app.web.console.context import OWNERS_ONLY, ConsoleContext
from app.web.console.current_user import VISITOR, CurrentUser
from problems.errors import ParleyError

MOST_FILES = 20
RELEASED = (".csv", ".json")

Keep = Callable[[ConsoleContext, CurrentUser, str, str, bytes], None]


def routes(context: ConsoleContext) -> list[Route]:
    """`POST /console/picture?study=NAME&name=FILE` and `.../release`; a refusal says why in `note`."""
    return [_route(context, "/console/picture", _keep_picture), _route(context, "/console/release", _keep_released)]


def _route(context: ConsoleContext, path: str, keep: Keep) -> Route:
    async def upload(request: Request) -> Response:
        user: CurrentUser = request.scope[VISITOR]
        study, name = (request.query_params.get(key, "") for key in ("study", "name"))
        try:
            if not user.owner:
                raise NotAllowed(OWNERS_ONLY)
            await asyncio.to_thread(keep, context, user, study, name, await request.body())
        except ParleyError as error:
            return JSONResponse({"note": str(error)}, 422)
        return JSONResponse({})

    return Route(path, upload, methods=["POST"])


def _keep_picture(context: ConsoleContext, user: CurrentUser, study: str, name: str, content: bytes) -> None:
    context.drafts.text(study)  # there is such a draft
    PictureFiles(context.drafts.folder(study)).keep(name, content)
    context.audit(user, f"uploaded {name}", study)


def released_files(context: ConsoleContext, user: CurrentUser) -> list[Path]:
    """The files of a release that a user sent, and that are not imported yet."""
    return sorted(context.downloads.uploads(user).iterdir())


def _keep_released(context: ConsoleContext, user: CurrentUser, study: str, name: str, content: bytes) -> None:
    if PurePosixPath(name).name != name or not name.endswith(RELEASED) or "\0" in name or len(name.encode()) > 100:
        raise ArgumentInvalid(f"{name[:60]!r}: released files end in {' or '.join(RELEASED)}.")
    kept = released_files(context, user)
    if len(kept) >= MOST_FILES and name not in {path.name for path in kept}:
        raise ArgumentInvalid(f"At most {MOST_FILES} files can be imported at once.")
    (context.downloads.uploads(user) / name).write_bytes(content)
