"""Model servers as a deployment names them: their address, and the credentials that they need.

Which server a model is asked on is part of a study, by its name; what is behind the name is not. Whatever could be a
secret is a SecretStr, so that no listing, log or error message shows it by accident.
"""

import json
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr

# Headers and parameters below this length are no secrets: masking `1` would spoil every message.
SHORTEST_SECRET = 8


CONTINUED = re.compile(r"\\\r?\n")
SUB_PATH = re.compile(r"(/(?!\.)[\w.~-]+)+", re.ASCII)
LOGIN = re.compile(r"/[^/]*:[^/]*@")


def _web_address(value: str) -> str:
    if not value.startswith(("http://", "https://")):
        raise ValueError("must start with http:// or https://")
    return value.rstrip("/")


def _plain(value: str) -> str:
    parts = urlsplit(value)
    if "@" in parts.netloc or LOGIN.search(parts.path):
        raise ValueError("must not contain a user name or password; set `key` or `headers` instead")
    if "?" in value or "#" in value:
        raise ValueError("must not contain `?` or `#`; put parameters into `query` of PARLEY_MODEL_SERVERS")
    if not parts.hostname:
        raise ValueError("must contain a host name")
    try:
        _ = parts.port
    except ValueError:
        raise ValueError("must have a port from 0 to 65535, or none") from None
    return value


def _sendable(value: SecretStr) -> SecretStr:
    text = value.get_secret_value().strip()
    if not (text.isascii() and text.isprintable()):
        raise ValueError("contains a character that an HTTP header cannot have")
    return SecretStr(text)


def _site(value: str) -> str:
    path = urlsplit(_plain(value)).path
    if path and not SUB_PATH.fullmatch(path):
        raise ValueError("has a path with more than letters, digits and _ - . ~ between its slashes")
    return value


WebAddress = Annotated[str, AfterValidator(_web_address)]
ServerAddress = Annotated[WebAddress, AfterValidator(_plain)]
SiteAddress = Annotated[WebAddress, AfterValidator(_site)]
Key = Annotated[SecretStr, AfterValidator(_sendable)]
PerMinute = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Server(BaseModel):
    """A model server: its address, and the headers of every request."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: ServerAddress
    """The address up to where the API begins; for most it ends in `/v1`."""
    key: Key | None = None
    """The key, sent in the way of the backend: `Authorization: Bearer` or `x-api-key`."""
    headers: dict[str, Key] = {}
    """More headers, which win over the backend's own."""
    query: dict[str, Key] = {}
    """Parameters of every address, such as `api-version`."""
    requests_per_minute: PerMinute | None = None
    """The calls a minute that its documentation allows for one model; each process of Parley's keeps to it."""
    tokens_per_minute: PerMinute | None = None
    """The tokens a minute, read and written together."""

    def __str__(self) -> str:
        """The address and the other settings, without a secret."""
        extras = [f"{name} ********" for name in ("key", "headers", "query") if getattr(self, name)]
        return ", ".join([self.url, *extras])

    def mask(self, text: str) -> str:
        if not any(secret[:SHORTEST_SECRET] in text for secret in self.secrets):
            return text
        for secret in self.secrets:
            text = text.replace(secret, "***")
            if len(secret) > 2 * SHORTEST_SECRET:  # where a quotation was cut, the beginning of one is left
                text = re.sub(re.escape(secret[:SHORTEST_SECRET]) + r"[\w.~+/=-]*", "***", text)
        return text

    @cached_property
    def secrets(self) -> tuple[str, ...]:
        """The server's secrets, the longest first."""
        given = [part.get_secret_value() for part in (*self.headers.values(), *self.query.values())]
        found = [word for value in given for word in (value, *value.split()) if len(word) >= SHORTEST_SECRET]
        if self.key:
            found.append(self.key.get_secret_value())
        return tuple(sorted(filter(None, found), key=len, reverse=True))


def plain_values(values: Mapping[str, SecretStr]) -> dict[str, str]:
    return {name: value.get_secret_value() for name, value in values.items()}


def read_servers(value: object) -> object:
    """Read the JSON of PARLEY_MODEL_SERVERS; raises ValueError, which never quotes it."""
    if not isinstance(value, str):
        return value
    try:
        # systemd joins lines that end with a backslash, but not within single quotes
        return json.loads(CONTINUED.sub("", value), object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise ValueError(
            f'is not JSON ({error.msg}, {where}); write {{"name": {{"url": "https://...", "key": "..."}}}}'
        ) from None


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ValueError(f"has a key twice: {', '.join(sorted(twice))}")
    return dict(pairs)
