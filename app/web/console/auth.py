"""Login and logout, accepting an invitation, and the cookie that identifies a login.

The forms are plain pages without scripts. Each has a CSRF token derived from a cookie that is set with it, so that no
other site can make a browser log in or create an account.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import parse_qsl

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from app.web.console.current_user import CurrentUser
from app.web.sub_path import cookie_name
from storage.accounts.accounts import SPENT, Accounts
from storage.accounts.passwords import AT_ONCE, LEAST_CHARS, MOST_CHARS
from storage.errors import AccountError, LoginRefused, TooMany

FORM_BYTES = 24
MOST_FIELDS = 10
MOST_QUERY = 500
STALE = "This form has expired, or your browser does not accept cookies. Please try again."
TWICE = "The two passwords differ. Type the same password twice."
TEMPLATES = Path(__file__).parent / "templates"
_TEMPLATES = Environment(loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined)


class Authentication:
    """The routes for logging in and out; `secure` if browsers use https, and the path below which the console is."""

    def __init__(self, accounts: Accounts, secret: str, *, secure: bool, path: str = "/") -> None:
        self._accounts = accounts
        self._key = hmac.digest(secret.encode(), b"parley console form", "sha256")
        self._secure, self._path = secure, path
        self._few = asyncio.Semaphore(AT_ONCE)
        self.cookie = cookie_name("parley-console", secure=secure, path=path)
        self.form_cookie = f"{self.cookie}-form"

    def routes(self) -> list[Route]:
        """`/login`, `/logout`, and `/welcome/{token}` for invited users."""
        return [
            Route("/login", self.ask, methods=["GET", "HEAD"]),
            Route("/login", self.log_in, methods=["POST"]),
            Route("/logout", self.log_out, methods=["POST"]),
            Route("/welcome/{token}", self.welcome, methods=["GET", "HEAD"]),
            Route("/welcome/{token}", self.accept, methods=["POST"]),
        ]

    def visitor(self, request: Request) -> CurrentUser | None:
        account = self._accounts.logins.visitor(request.cookies.get(self.cookie, ""))
        return CurrentUser(account.name, account.role, account.login) if account else None

    async def ask(self, request: Request) -> Response:
        """The login form; a user who is logged in is redirected."""
        if await asyncio.to_thread(self.visitor, request):
            return RedirectResponse(_page_behind(request), 303)
        return self._login_page(request)

    async def log_in(self, request: Request) -> Response:
        form = await _form(request)
        if not self._is_ours(request, form):
            return self._login_page(request, 403, STALE, form)
        try:
            return await self._begin(request, form, _page_behind(request))
        except TooMany as refused:
            response = self._login_page(request, 429, str(refused), form)
            response.headers["retry-after"] = str(refused.wait_s)
            return response
        except LoginRefused as refused:
            return self._login_page(request, 401, str(refused), form)

    async def log_out(self, request: Request) -> Response:
        await asyncio.to_thread(self._accounts.logins.log_out, request.cookies.get(self.cookie, ""))
        response = RedirectResponse("/login", 303)
        self._set(response, self.cookie, None)
        return response

    async def welcome(self, request: Request) -> Response:
        role = await asyncio.to_thread(self._accounts.invitations.role, request.path_params["token"])
        return self._welcome_page(request, role) if role else _spent()

    async def accept(self, request: Request) -> Response:
        token, form = request.path_params["token"], await _form(request)
        role = await asyncio.to_thread(self._accounts.invitations.role, token)
        if role is None:
            return _spent()
        if not self._is_ours(request, form):
            return self._welcome_page(request, role, 403, STALE, form)
        name, password = form.get("name", ""), form.get("password", "")
        if password != form.get("again", ""):
            return self._welcome_page(request, role, 422, TWICE, form)
        try:
            async with self._few:
                await asyncio.to_thread(self._accounts.accept, token, name, password)
            return await self._begin(request, form, "/")
        except AccountError as refused:
            return self._welcome_page(request, role, 422, str(refused), form)

    async def _begin(self, request: Request, form: Mapping[str, str], to: str) -> Response:
        address = request.client.host if request.client else "unknown"
        name, password = form.get("name", ""), form.get("password", "")
        async with self._few:
            logins = self._accounts.logins
            token = await asyncio.to_thread(logins.log_in, name, password, address)
        await asyncio.to_thread(logins.log_out, request.cookies.get(self.cookie, ""))
        response = RedirectResponse(to, 303)
        self._set(response, self.cookie, token)
        self._set(response, self.form_cookie, None)
        return response

    def _login_page(
        self, request: Request, status: int = 200, note: str = "", form: Mapping[str, str] | None = None
    ) -> Response:
        return self._form_page(request, "login.html.j2", status, note, form or {})

    def _welcome_page(
        self, request: Request, role: str, status: int = 200, note: str = "", form: Mapping[str, str] | None = None
    ) -> Response:
        values = {"role": role, "least": LEAST_CHARS}
        return self._form_page(request, "welcome.html.j2", status, note, form or {}, **values)

    def _form_page(
        self, request: Request, template: str, status: int, note: str, form: Mapping[str, str], **values: object
    ) -> Response:
        """A page with a form, and the cookie for the form's CSRF token. Passwords are never sent back."""
        value = request.cookies.get(self.form_cookie) or secrets.token_urlsafe(FORM_BYTES)
        common = {"note": note, "name": form.get("name", ""), "mark": self._mark(request, value), "most": MOST_CHARS}
        response = HTMLResponse(_TEMPLATES.get_template(template).render({**common, **values}), status)
        self._set(response, self.form_cookie, value)
        return response

    def _is_ours(self, request: Request, form: Mapping[str, str]) -> bool:
        value = request.cookies.get(self.form_cookie, "")
        mark = form.get("mark", "").encode()
        return bool(value) and hmac.compare_digest(mark, self._mark(request, value).encode())

    def _mark(self, request: Request, value: str) -> str:
        return hmac.digest(self._key, f"{request.url.path} {value}".encode(), "sha256").hex()

    def _set(self, response: Response, name: str, value: str | None) -> None:
        response.set_cookie(
            name,
            value or "",
            max_age=0 if value is None else None,
            httponly=True,
            secure=self._secure,
            samesite="strict",
            path=self._path,
        )


async def _form(request: Request) -> dict[str, str]:
    try:
        return dict(parse_qsl((await request.body()).decode("ascii", "replace"), True, max_num_fields=MOST_FIELDS))
    except ValueError:
        return {}


def _page_behind(request: Request) -> str:
    """The console's address with the query of the page that the user requested before the login."""
    query = request.url.query[:MOST_QUERY]
    return f"/?{query}" if query else "/"


def _spent() -> Response:
    return HTMLResponse(_TEMPLATES.get_template("spent.html.j2").render(note=SPENT), 404)
