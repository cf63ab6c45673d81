"""Pictures by the SHA-256 of their content: those of studies at `/picture/`, which never change, and at `/attached/`
those that participants attached, which their own session and researchers read, and no cache keeps."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from cachetools import LRUCache
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from app.session.service import SessionService
from app.web.participant.session_cookie import SessionCookie
from storage.db.engine import Database
from storage.registers.session_pictures import session_picture
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


def participants_own_route(service: SessionService, cookies: SessionCookie) -> Route:
    """Serve the pictures that the participant of a session attached, to that session alone."""

    async def find(request: Request, sha256: str) -> StoredPicture | None:
        stream = cookies.read_any(request)
        return await asyncio.to_thread(service.picture, stream, sha256) if stream else None

    return _attached(find)


def researchers_attached_route(database: Database) -> Route:
    """Serve the pictures that any participant attached, to everybody who is logged in to the console."""

    async def find(_: Request, sha256: str) -> StoredPicture | None:
        return await asyncio.to_thread(session_picture, database, sha256)

    return _attached(find)


def _attached(find: Callable[[Request, str], Awaitable[StoredPicture | None]]) -> Route:
    async def picture(request: Request) -> Response:
        found = await find(request, request.path_params["sha256"])
        if found is None:
            return PlainTextResponse("not found", 404)
        return Response(found.content, media_type=found.type)

    return Route("/attached/{sha256}", picture, methods=["GET"])


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
