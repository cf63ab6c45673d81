"""Names for backends in packages with the entry points `parley.backends`."""

from app.backends.base import (
    Backend,
    BackendOptions,
    Delta,
    PromptMessage,
    ReasoningDelta,
    ReasoningEnd,
    Request,
    Sleep,
    StreamEnd,
    TextDelta,
    as_chat_messages,
    parse_options,
    system_of,
)
from app.backends.registry import backend
from app.backends.wire.framing import SseFraming, WholeFraming
from app.backends.wire.http_client import client
from app.backends.wire.streaming import streamed
from app.config.model_servers import Server
from app.config.settings import Settings
from app.errors import BackendBroken, BackendDenied, BackendError, BackendRejected, BackendUnavailable, SettingsError

__all__ = [
    "Backend",
    "BackendBroken",
    "BackendDenied",
    "BackendError",
    "BackendOptions",
    "BackendRejected",
    "BackendUnavailable",
    "Delta",
    "PromptMessage",
    "ReasoningDelta",
    "ReasoningEnd",
    "Request",
    "Server",
    "Settings",
    "SettingsError",
    "Sleep",
    "SseFraming",
    "StreamEnd",
    "TextDelta",
    "WholeFraming",
    "as_chat_messages",
    "backend",
    "client",
    "parse_options",
    "streamed",
    "system_of",
]
