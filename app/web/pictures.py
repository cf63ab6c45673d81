"""The pictures of studies, at `/picture/` and the SHA-256 of their content, which never changes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from cachetools import LRUCache
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from app.session.service import SessionService
from app.web.participant.session_cookie import SessionCookie
from storage.registers.studies import StoredPicture, Studies

MOST_KEPT_BYTES = 32_000_000


def participants_route(service: SessionService, cookies: SessionCookie) -> Route:
    """The pictures for participants: those of the study of their session, and no others."""

    async def allowed(request: Request, sha256: str) -> bool:
        stream = cookies.read_any(request)
        session = await service.get(stream) if stream else None
        return session is not None and any(one.sha256 == sha256 for one in session.study.pictures.by_key.values())

    return _route(service.studies, allowed)


def researchers_route(studies: Studies) -> Route:
    """The pictures for everybody who is logged in to the console."""

    async def allowed(_: Request, __: str) -> bool:
        return True

    return _route(studies, allowed)


def _route(studies: Studies, allowed: Callable[[Request, str], Awaitable[bool]]) -> Route:
    kept: LRUCache[str, StoredPicture] = LRUCache(MOST_KEPT_BYTES, lambda picture: len(picture.content))

    async def picture(request: Request) -> Response:
        sha256 = request.path_params["sha256"]
        if not await allowed(request, sha256):
            return PlainTextResponse("not found", 404)
        found = kept.get(sha256) or await asyncio.to_thread(studies.picture, sha256)
        if found is None:
            return PlainTextResponse("not found", 404)
        kept[sha256] = found
        return Response(found.content, media_type=found.type)

    return Route("/picture/{sha256}", picture, methods=["GET"])
