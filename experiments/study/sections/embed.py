"""The pages of other sites that may embed a study, and the messages to them."""

from __future__ import annotations

import re
from typing import Annotated, Literal, get_args
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, WithJsonSchema

from experiments.errors import suggestion
from experiments.study.base_model import NAMES, StrictModel

MOST_ORIGINS = 20
# An origin as browsers write it (RFC 6454, 6.2): in lower case, without the port that the scheme has anyway.
_ORIGIN = re.compile(
    r"https://(?P<host>[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*)(:[1-9][0-9]{0,4})?"
    r"|http://(localhost|127\.0\.0\.1)(:[1-9][0-9]{0,4})?"
)
_USUAL_PORT = {"https": 443, "http": 80}


def _origin(text: str) -> str:
    if "*" in text:
        raise ValueError(
            "must be one origin without `*`, which would admit pages of others; "
            "list each host, such as https://brand.eu.qualtrics.com"
        )
    likely = _likely(text)
    if _ORIGIN.fullmatch(text) and likely == text:
        return text
    hint = f"write {likely}" if likely and _ORIGIN.fullmatch(likely) else "such as https://brand.eu.qualtrics.com"
    raise ValueError(
        "must be an origin: https:// (http:// only for localhost), the host and perhaps a port, "
        f"in lower case and without a path or a slash at the end; {hint}"
    )


def _some(origins: tuple[str, ...]) -> tuple[str, ...]:
    if not origins:
        raise ValueError("needs at least one origin; without the key `embed` no page can frame the study")
    return origins


def _likely(text: str) -> str:
    """The origin of an address; empty if it has none."""
    try:
        parts = urlsplit(text if "//" in text or "." not in text else f"https://{text}")
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return ""
    usual = port is None or port == _USUAL_PORT.get(parts.scheme)
    return f"{parts.scheme}://{host}" + ("" if usual else f":{port}") if host else ""


Message = Literal["ready", "height", "outcome"]
MESSAGES: tuple[Message, ...] = get_args(Message)
_ANSWER = re.compile(rf"{NAMES[:-1]}\.[A-Za-z][A-Za-z0-9_-]*$")


def _sent(text: str) -> str:
    if text not in MESSAGES and not _ANSWER.fullmatch(text):
        raise ValueError(
            "is neither a message nor an answer as `step.question` (the id of a step and the name of its question)"
            + suggestion(text, MESSAGES)
        )
    return text


Origin = Annotated[str, AfterValidator(_origin)]
Sent = Annotated[
    str,
    AfterValidator(_sent),
    WithJsonSchema({"anyOf": [{"enum": list(MESSAGES)}, {"type": "string", "pattern": _ANSWER.pattern}]}),
]


class EmbedSpec(StrictModel):
    """The pages of other sites in which the study may stand as a frame, such as a survey of Qualtrics."""

    origins: Annotated[tuple[Origin, ...], Field(max_length=MOST_ORIGINS), AfterValidator(_some)]
    """The origins of these pages, each exact: `https://brand.eu.qualtrics.com`. Any other page shows an empty
    frame."""
    send: tuple[Sent, ...] = MESSAGES
    """The messages to the page around the study: `ready` once its first screen is shown, `height` of the screen in
    pixels, `outcome` at its end; and answers, as `step.question`."""

    @property
    def answers(self) -> tuple[str, ...]:
        return tuple(name for name in self.send if name not in MESSAGES)
