"""Links with which a researcher continues a session that a simulated participant started (`app.bots.preview_session`).

A link is signed and valid for an hour. It opens pilot sessions only, because anyone who has the link can use it.
"""

from __future__ import annotations

from itsdangerous import BadSignature, URLSafeTimedSerializer
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from app.config.settings import Settings
from app.session.service import SessionService
from app.web.participant.session_cookie import SessionCookie
from app.web.participant.start_page import not_found_page
from storage.registers.origins import Origin

LASTS_S = 3600


class PreviewLinks:
    def __init__(self, secret: str) -> None:
        self._signer = URLSafeTimedSerializer(secret, salt="parley preview")

    def link(self, settings: Settings, stream: str) -> str:
        """The address of a session's preview on the participants' server."""
        return f"{settings.address}/walk/{self._signer.dumps(stream)}"

    def stream(self, token: str) -> str | None:
        """The stream of the session in a link; None if the link is expired or invalid."""
        try:
            stream = self._signer.loads(token, max_age=LASTS_S)
        except BadSignature:
            return None
        return stream if isinstance(stream, str) else None

    def route(self, runtime: SessionService, cookies: SessionCookie) -> Route:
        """`/walk/{token}` on the participants' server: sets the session's cookie and redirects to the page."""

        async def go_on(request: Request) -> Response:
            stream = self.stream(request.path_params["token"])
            live = await runtime.reload(stream) if stream else None
            if live is None or live.state.enrolled.get("origin") != Origin.PILOT:
                return not_found_page(request)
            response = RedirectResponse("/", status_code=303)
            cookies.write(response, live.stream)
            return response

        return Route("/walk/{token}", go_on, methods=["GET", "HEAD"])
