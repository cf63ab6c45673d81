"""HTTP requests to a repository: with its token, which is in no message, retries, and errors that say what to do."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
from pydantic import SecretStr

from app.backends.wire.http_client import proxy_of, trusted
from app.config.settings import env_name
from app.errors import DepositError, SettingsError

TRIES = 5
WAIT_S, LONGEST_WAIT_S = 1.0, 120.0
"""The pause before the second try, which doubles with each further one; and the longest that a server may ask for."""
TIMEOUT = httpx2.Timeout(60.0, connect=10.0)
BUSY = frozenset({429, 500, 502, 503, 504})
NO_CONNECTION = (httpx2.ConnectError, httpx2.ConnectTimeout)
CHUNK = 1 << 20
MOST_CHARS = 400
"""Of a server's answer so much is quoted."""
CONTINUE = "Run the same command again: it continues where it stopped."

Pause = Callable[[float], None]


def client_of(url: str) -> httpx2.Client:
    """A client for a repository, with the deployment's proxy and certificate authorities."""
    for name in ("httpx2", "httpcore2"):  # below it they log addresses
        logging.getLogger(name).setLevel(logging.WARNING)
    return httpx2.Client(trust_env=False, timeout=TIMEOUT, proxy=proxy_of(url), verify=trusted())


def token_of(token: SecretStr | None, setting: str, where: str) -> str:
    """The token in the settings; raises SettingsError if there is none. `where` is the page on which it is made."""
    if token is None:
        raise SettingsError(f"{env_name(setting)} is not set. Create a token at {where}, and set it there or in .env")
    return token.get_secret_value()


def broken(name: str, error: Exception) -> str:
    """The message for a request without an answer."""
    kind = type(error).__name__
    said = f"cannot be reached ({kind})" if isinstance(error, NO_CONNECTION) else f"did not answer ({kind})"
    return f"{name} {said}. {CONTINUE}"


class RepositoryClient:
    """Sends requests to one repository and to its file servers, which it names in its answers."""

    def __init__(self, name: str, url: str, token: str, setting: str, pause: Pause = time.sleep) -> None:
        self.name, self._url, self._token, self._setting, self._pause = name, url, token, setting, pause
        self._client = client_of(url)

    def close(self) -> None:
        """Close all connections."""
        self._client.close()

    def json(self, method: str, url: str, body: Any = None, *, again: bool = True, **more: Any) -> Any:
        """Send a request, with JSON if there is some, and return the JSON of the answer; see `send`."""
        answer = self.send(method, url, again=again, **({"json": body} if body is not None else {}), **more)
        try:
            return answer.json() if answer.content else {}
        except ValueError:
            raise DepositError(
                f"{self.name} gave an answer that is no JSON ({answer.status_code}). {CONTINUE}"
            ) from None

    def put(self, url: str, file: Path, advance: Callable[[int], None], **more: Any) -> Any:
        """Send a file as the body of a request, and return the JSON of the answer. Each try sends it from its start."""
        headers = {"content-type": "application/octet-stream", "content-length": str(file.stat().st_size)}
        sent = 0

        def content() -> Iterator[bytes]:
            nonlocal sent
            advance(-sent)
            sent = 0
            with file.open("rb") as opened:
                while chunk := opened.read(CHUNK):
                    yield chunk
                    sent += len(chunk)
                    advance(len(chunk))

        return self.json("PUT", url, again=True, content=content, headers=headers, **more)

    def send(
        self,
        method: str,
        url: str,
        *,
        again: bool = True,
        content: Callable[[], Iterator[bytes]] | None = None,
        headers: Mapping[str, str] | None = None,
        **more: Any,
    ) -> httpx2.Response:
        """Send a request; raises DepositError unless the answer is 2xx.

        A request that may be repeated (`again`) is, if the server is away or busy; others only after a 429, which says
        that nothing was done.
        """
        url = self._checked(url)
        sent = {"authorization": f"Bearer {self._token}", "user-agent": "parley", **(headers or {})}
        for number in range(1, TRIES + 1):
            try:
                body = content() if content else None
                answer = self._client.request(method, url, headers=sent, content=body, **more)
            except (httpx2.HTTPError, OSError) as error:
                unsent = isinstance(error, NO_CONNECTION)
                if not (again or unsent) or number == TRIES:
                    raise DepositError(broken(self.name, error), unsent=unsent) from None
                self._pause(WAIT_S * 2 ** (number - 1))
                continue
            if answer.is_success:
                return answer
            repeats = answer.status_code in BUSY and (again or answer.status_code == httpx2.codes.TOO_MANY_REQUESTS)
            wait = _retry_after(answer, WAIT_S * 2 ** (number - 1))
            if not repeats or number == TRIES or wait > LONGEST_WAIT_S:
                raise self._refused(answer)
            self._pause(wait)
        raise AssertionError  # the last try returns or raises

    def _checked(self, url: str) -> str:
        """An address that may be given the token: of the repository, or of the same site (files.osf.io), encrypted if
        the repository is."""
        url = url if "://" in url else self._url + url
        own, other = urlsplit(self._url), urlsplit(url)
        site = ".".join((own.hostname or "").split(".")[-2:])
        same = other.hostname == own.hostname or (other.hostname or "").endswith("." + site)
        if other.scheme != own.scheme or not same:
            raise DepositError(f"{self.name} named an address of another site, {other.netloc}. Nothing was sent there.")
        return url

    def _refused(self, answer: httpx2.Response) -> DepositError:
        said = f"{self.name} answered {answer.status_code} {answer.reason_phrase}"
        detail = " ".join(_message(answer)[:MOST_CHARS].split()).replace(self._token, "***")
        said = f"{said}: {detail}" if detail else said
        return DepositError(f"{said.rstrip('.')}. {self._advice(answer.status_code)}", answer.status_code)

    def _advice(self, status: int) -> str:
        match status:
            case 401:
                return f"Is {env_name(self._setting)} complete, of this server, and not expired?"
            case 403:
                return f"The token in {env_name(self._setting)} may not do this: create one with the scopes it needs."
            case 404 | 410:
                return "The deposit is not there: was it deleted? To make another one, add --new."
            case 429:
                return f"The limit of requests is reached. Wait for some minutes. {CONTINUE}"
            case _ if status >= 500:
                return CONTINUE
            case _:
                return "Nothing was published. Correct what it names, then run the same command again."


def _retry_after(answer: httpx2.Response, otherwise: float) -> float:
    """The seconds that a server asks to wait; a date, which the header may also have, is not read."""
    text = answer.headers.get("retry-after", "")
    return float(text) if text.isdecimal() else otherwise


def _message(answer: httpx2.Response) -> str:
    """What a server says is wrong: Zenodo by `message` and `errors`, the OSF by JSON:API's `errors`."""
    try:
        found = answer.json()
    except ValueError:
        return ""
    if not isinstance(found, dict):
        return ""
    errors = [one for one in found.get("errors") or () if isinstance(one, dict)]
    parts = [f"{one.get('field', '')} {one.get('message') or one.get('detail') or ''}".strip() for one in errors]
    return "; ".join(filter(None, [str(found.get("message") or ""), *parts]))
