"""The route by which the page sends the pictures of a draft, each in a request of its own: an event is too small."""

from __future__ import annotations

import asyncio

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from app.errors import NotAllowed
from app.studies.picture_files import PictureFiles
from app.web.console.context import OWNERS_ONLY, ConsoleContext
from app.web.console.current_user import VISITOR, CurrentUser
from problems.errors import ParleyError


def route(context: ConsoleContext) -> Route:
    """`POST /console/picture?study=NAME&name=FILE` with the file as the body. A refusal says why in `note`."""

    def keep(user: CurrentUser, study: str, name: str, content: bytes) -> None:
        if not user.owner:
            raise NotAllowed(OWNERS_ONLY)
        context.drafts.text(study)  # there is such a draft
        PictureFiles(context.drafts.folder(study)).keep(name, content)
        context.audit(user, f"uploaded {name}", study)

    async def upload(request: Request) -> Response:
        visitor: CurrentUser = request.scope[VISITOR]
        study, name = (request.query_params.get(key, "") for key in ("study", "name"))
        try:
            await asyncio.to_thread(keep, visitor, study, name, await request.body())
        except ParleyError as error:
            return JSONResponse({"note": str(error)}, 422)
        return JSONResponse({})

    return Route("/console/picture", upload, methods=["POST"])
