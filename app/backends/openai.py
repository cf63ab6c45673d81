"""Any server that speaks OpenAI's Chat Completions: OpenAI itself, vLLM, Ollama, llama.cpp, routers.

The SDK brings the connection and its errors, `sse` reads the reply. The SDK retries nothing (the runtime
does, and logs each attempt) and is told everything, so that its own OPENAI_* variables decide nothing.
"""

import asyncio
import math
import ssl
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import suppress
from typing import Any, Literal

import httpx2
import openai
from pydantic import Field

from app.backends.base import JSON, BackendOptions, Delta, End, Request, Sleep, parse_options
from app.backends.registry import backend
from app.backends.sse import ChatCompletions
from app.errors import BackendBroken, BackendError, BackendRejected, BackendUnavailable, SettingsError
from app.settings import Settings, env_name

OPENAI_URL = "https://api.openai.com/v1"
CONNECTIONS = httpx2.Limits(max_connections=None, max_keepalive_connections=200)
DRAIN_S = 0.1
EXCERPT = 500
NO_KEY = "none"
RETRIABLE = (408, 409, 425, 429)
SAMPLING = {"top_p", "presence_penalty", "frequency_penalty", "stop", "seed", "reasoning_effort"}
TELLING = ("insufficient_quota", "context_length_exceeded", "content_filter")
"""Error codes of OpenAI that say more than the status, and become the reason."""


class OpenAIOptions(BackendOptions):
    """What a study file may say in `options:` of a model on an OpenAI-compatible server."""

    top_p: float | None = Field(None, ge=0, le=1)
    """Sample from the likeliest tokens only, which together have this probability."""
    presence_penalty: float | None = Field(None, ge=-2, le=2)
    frequency_penalty: float | None = Field(None, ge=-2, le=2)
    stop: str | tuple[str, ...] | None = None
    """Where the reply stops, if the model writes this."""
    seed: int | None = None
    """The same seed gives about the same reply, on servers that know it."""
    reasoning_effort: str | None = None
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] | None = None
    """What the server calls max_tokens; unset, the newer word with OpenAI and the older one with others."""
    usage: bool = True
    """Ask for the count of tokens; a few old servers refuse the question."""
    extra: dict[str, JSON] = Field(default_factory=dict)
    """Sent as it is, for what only this server knows: `{top_k: 20}`."""


@backend("openai")
class OpenAI:
    """A client of one OpenAI-compatible server; all its sessions share its connections."""

    Options = OpenAIOptions

    def __init__(self, settings: Settings, sleep: Sleep) -> None:
        self._url = settings.openai_base_url or OPENAI_URL
        self._key = _key(settings)
        self._client = openai.AsyncOpenAI(
            api_key=self._key,
            base_url=self._url,
            max_retries=0,
            http_client=openai.DefaultAsyncHttpx2Client(
                limits=CONNECTIONS,
                timeout=httpx2.Timeout(settings.reply_timeout_s, connect=settings.connect_timeout_s),
            ),
        )
        # the SDK has read these from the environment
        self._client.organization = self._client.project = None

    async def stream(self, request: Request) -> AsyncGenerator[Delta]:
        """Give the reply as the server sends it; leaving early closes the connection."""
        body = _body(request, "max_completion_tokens" if self._url == OPENAI_URL else "max_tokens")
        decoder = ChatCompletions()
        try:
            async with self._client.chat.completions.with_streaming_response.create(**body) as response:
                chunks = response.iter_bytes()
                async for chunk in chunks:
                    for delta in decoder.feed(chunk):
                        if isinstance(delta, End):
                            await _drain(chunks)
                            yield delta
                            return
                        yield delta
        except (
            openai.OpenAIError,
            httpx2.HTTPError,
            httpx2.StreamError,
            ssl.SSLError,
        ) as error:
            raise self._told(error) from error
        yield decoder.end()

    async def close(self) -> None:
        """Close all connections."""
        await self._client.close()

    def _told(self, error: Exception) -> BackendError:
        """Say in our words what the SDK or its connection raised."""
        match error:
            case openai.APIStatusError():
                return _refused(error, str(error).replace(self._key, "***"))
            case openai.APITimeoutError() | httpx2.TimeoutException():
                connecting = isinstance(error.__cause__ or error, httpx2.ConnectTimeout)
                reason = "timeout_connect" if connecting else "timeout_read"
                return BackendUnavailable(f"{self._url} did not answer in time. Try again.", reason=reason)
            case openai.APIConnectionError() | httpx2.TransportError() | ssl.SSLError():
                return BackendUnavailable(
                    f"No connection to {self._url} ({error.__cause__ or error}). Is the address right, and up?",
                    reason="connection",
                )
            case _:
                return BackendBroken(f"{self._url}: {type(error).__name__}: {error}", reason="malformed")


def _key(settings: Settings) -> str:
    if settings.openai_api_key is not None:
        return settings.openai_api_key.get_secret_value()
    if settings.openai_base_url is not None:
        return NO_KEY
    raise SettingsError(
        f"The backend 'openai' needs a key for {OPENAI_URL}. Set {env_name('openai_api_key')}, "
        f"or {env_name('openai_base_url')} for a server of your own."
    )


def _body(request: Request, max_tokens_field: str) -> dict[str, Any]:
    options = parse_options(OpenAIOptions, request.options)
    optional = {
        "temperature": request.temperature,
        options.max_tokens_field or max_tokens_field: request.max_tokens,
        "stream_options": {"include_usage": True} if options.usage else None,
        **options.model_dump(include=SAMPLING),
    }
    return {
        "model": request.model,
        "messages": [{"role": message.role, "content": message.text} for message in request.messages],
        "stream": True,
        "extra_body": options.extra,
        **{name: value for name, value in optional.items() if value is not None},
    }


async def _drain(chunks: AsyncIterator[bytes]) -> None:
    """Read what follows [DONE], so that the connection can be used again instead of being closed."""
    with suppress(TimeoutError, httpx2.HTTPError):
        async with asyncio.timeout(DRAIN_S):
            async for _ in chunks:
                pass


def _refused(error: openai.APIStatusError, text: str) -> BackendError:
    status = error.status_code
    code = next((word for word in (error.code, error.type) if word in TELLING), None)
    reason = code or f"status_{status}"
    message = f"The model server refused with status {status}: {text[:EXCERPT]}"
    if error.request_id:
        message += f" (request {error.request_id})"
    # a used-up quota comes as 429, but no waiting helps
    if (status in RETRIABLE or status >= 500) and code != "insufficient_quota":
        return BackendUnavailable(f"{message} Try again.", reason=reason, retry_after_s=_retry_after_s(error))
    return BackendRejected(f"{message} Check the key, the model's name and the request.", reason=reason)


def _retry_after_s(error: openai.APIStatusError) -> float | None:
    try:
        seconds = float(error.response.headers.get("retry-after", ""))
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None
