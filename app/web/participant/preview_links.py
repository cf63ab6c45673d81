"""Links by which a researcher goes on in a session that a simulated participant began (`app.bots.preview_session`).

A link is signed and serves for an hour. It opens sessions of pilots only: whoever has one could be anybody.
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
    """Makes links to sessions, and reads them."""

    def __init__(self, secret: str) -> None:
        self._signer = URLSafeTimedSerializer(secret, salt="parley preview")

    def link(self, settings: Settings, stream: str) -> str:
        """The address at which the participants' server lets one go on in a session."""
        return f"{settings.address}/walk/{self._signer.dumps(stream)}"

    def stream(self, token: str) -> str | None:
        """The session that a link is for; None for one that is too old, or none of ours."""
        try:
            stream = self._signer.loads(token, max_age=LASTS_S)
        except BadSignature:
            return None
        return stream if isinstance(stream, str) else None

    def route(self, runtime: SessionService, cookies: SessionCookie) -> Route:
        """`/walk/{token}` on the participants' server: the browser has the session, and the page opens."""

        async def go_on(request: Request) -> Response:
            stream = self.stream(request.path_params["token"])
            live = await runtime.reload(stream) if stream else None
            if live is None or live.state.enrolled.get("origin") != Origin.PILOT:
                return not_found_page(request)
            response = RedirectResponse("/", status_code=303)
            cookies.write(response, live.stream)
            return response

        return Route("/walk/{token}", go_on, methods=["GET", "HEAD"])
