"""What a backend is made of, for packages with the entry points `parley.backends`."""

from app.backends.base import (
    Backend,
    BackendOptions,
    Completion,
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
from app.backends.wire.http_client import client
from app.backends.wire.sse import SseFraming
from app.backends.wire.streaming import completion_of, encoded, masking, streamed
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
    "Completion",
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
    "as_chat_messages",
    "backend",
    "client",
    "completion_of",
    "encoded",
    "masking",
    "parse_options",
    "streamed",
    "system_of",
]
