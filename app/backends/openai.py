"""Any server that speaks OpenAI's Chat Completions or Responses: OpenAI, Azure, vLLM, Ollama, llama.cpp, routers.

By OpenAI's own SDK and its methods. Answers are read by our readers, which take what servers that are only compatible
send. What a model thought is not a part of its reply. What a server refuses of a request and can do without is left
out (`wire/dialect`).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import Field, model_validator

from app.backends.base import JSON, BackendOptions, Delta, Request, Sleep, ToolSpec, parse_options
from app.backends.registry import backend, own_server
from app.backends.wire.dialect import Dialect, SystemRole
from app.backends.wire.framing import SseFraming, WholeFraming
from app.backends.wire.openai_decoders import ChatCompletions, Responses
from app.backends.wire.streaming import ServerBackend
from app.config.model_servers import Server
from app.config.settings import Settings
from app.errors import BackendRejected

if TYPE_CHECKING:
    import httpx2

OPENAI_URL = "https://api.openai.com/v1"
# Addresses of vendors that send no reasoning in the text: OpenAI shows none, DeepSeek has `reasoning_content`
# (api-docs.deepseek.com/guides/thinking_mode).
MARKING = (OPENAI_URL, "https://api.deepseek.com")
CHAT_ONLY = ("presence_penalty", "frequency_penalty", "stop", "seed", "max_tokens_field")
SAMPLING = ("top_p", "presence_penalty", "frequency_penalty", "stop", "seed", "reasoning_effort")


class OpenAIOptions(BackendOptions):
    api: Literal["chat", "responses"] = "chat"
    """One of OpenAI's two interfaces: Chat Completions, which every such server has, or Responses."""
    top_p: float | None = Field(None, ge=0, le=1)
    """Sample from the likeliest tokens only, which together have this probability."""
    presence_penalty: float | None = Field(None, ge=-2, le=2)
    """Above 0, words that have come are less likely to come again."""
    frequency_penalty: float | None = Field(None, ge=-2, le=2)
    """Above 0, words are the less likely to come again the more often they have come."""
    stop: str | tuple[str, ...] | None = None
    """Texts at which the reply stops if the model writes one of them."""
    seed: int | None = None
    """A seed gives about the same reply each time, on servers that know it."""
    reasoning_effort: str | None = None
    """The amount of reasoning of a model that reasons: `low`, `medium`, `high`, or another word that it knows."""
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] | None = None
    """The server's name for max_tokens; unset, the newer one with OpenAI and the older one with others."""
    usage: bool = True
    """Ask for the count of tokens; a few old servers refuse the question."""
    system_role: SystemRole | None = None
    """The role of the message with the system prompt; `user` puts it at the beginning of the participant's first
    message. Unset, it is `system`, and `user` for a server that refuses that."""
    reasoning_until: str | None = None
    """The text after which the reply begins, usually `</think>`, if the model writes its reasoning first and no
    `<think>` opens it; `''` if it never does so. Unset, its test or its first reply decides."""
    extra: dict[str, JSON] = Field(default_factory=dict)
    """Options that only this server knows, sent unchanged: `{top_k: 20, min_p: 0.05}`."""

    @model_validator(mode="after")
    def _possible(self) -> Self:
        given = [name for name in CHAT_ONLY if getattr(self, name) is not None]
        if self.api == "responses" and given:
            raise ValueError(f"`api: responses` does not support {', '.join(given)}; leave it out, or use `api: chat`")
        return self


@backend("openai", server="optional")
class OpenAI(ServerBackend):
    Options = OpenAIOptions
    tools = True
    pictures = True

    def __init__(self, settings: Settings, sleep: Sleep, server: Server | None) -> None:
        from openai import AsyncOpenAI  # takes a second, and studies without such a model need none of it

        server = server or own_server(settings, "openai", OPENAI_URL)
        super().__init__(settings, server)
        self._newer = server.url == OPENAI_URL
        self._marks_reasoning = server.url.startswith(MARKING)
        # The client adds the key. What the SDK would add, also from variables, it leaves out.
        self._sdk = AsyncOpenAI(
            api_key="added by the client",
            base_url=server.url,
            max_retries=0,
            timeout=self._client.timeout,
            http_client=self._client,
        )

    def stream(self, request: Request) -> AsyncGenerator[Delta]:
        options, dialect = parse_options(OpenAIOptions, request.options), self._dialects.of(request)
        chat = options.api == "chat"
        decoder = ChatCompletions() if chat else Responses()
        framing = WholeFraming((b"{",)) if request.whole else SseFraming()
        return self.read(request, self._opening(request, options, dialect), framing, decoder, options.reasoning_until)

    def holds(self, request: Request) -> bool:
        options = parse_options(OpenAIOptions, request.options)
        vouched = options.reasoning_until is not None or options.api != "chat" or self._marks_reasoning
        return not vouched and self._dialects.of(request).unopened is None

    @asynccontextmanager
    async def _opening(
        self, request: Request, options: OpenAIOptions, dialect: Dialect
    ) -> AsyncIterator[httpx2.Response]:
        """The request is made again if the server refuses a part that can be left out or put elsewhere."""
        api = self._sdk.chat.completions if options.api == "chat" else self._sdk.responses
        create: Callable[..., Any] = api.with_streaming_response.create
        async with AsyncExitStack() as stack:
            answer = None
            while answer is None:
                body = dialect.fields(self._body(request, options, dialect))
                try:
                    answer = await stack.enter_async_context(create(**body, extra_body=options.extra or None))
                except BackendRejected as error:
                    if not dialect.learn(error, body, movable=options.system_role is None):
                        raise
            yield answer.http_response

    def _body(self, request: Request, options: OpenAIOptions, dialect: Dialect) -> dict[str, Any]:
        messages = dialect.messages(request.messages, options.system_role)
        chat = options.api == "chat"
        messages = messages if chat else list(map(_input, messages))
        body = self._chat_body(request, options) if chat else _responses_body(request, options)
        body |= {"messages" if chat else "input": messages}
        return {name: value for name, value in body.items() if value is not None}

    def _chat_body(self, request: Request, options: OpenAIOptions) -> dict[str, Any]:
        max_tokens = options.max_tokens_field or ("max_completion_tokens" if self._newer else "max_tokens")
        return {
            "model": request.model,
            "temperature": request.temperature,
            max_tokens: request.max_tokens,
            "stream": not request.whole or None,
            "stream_options": {"include_usage": True} if options.usage and not request.whole else None,
            "tools": [_tool(tool) for tool in request.tools] or None,
            "tool_choice": "none" if request.tools and not request.may_call else None,
            "response_format": {"type": "json_schema", "json_schema": _strict(request)} if request.schema else None,
            **{name: getattr(options, name) for name in SAMPLING},
        }


def _tool(tool: ToolSpec) -> JSON:
    function: JSON = {"name": tool.name, "description": tool.description, "parameters": dict(tool.schema)}
    return {"type": "function", "function": function}


def _input(message: JSON) -> JSON:
    """A message of Chat Completions as Responses has it: the parts of its content are called otherwise."""
    if not isinstance(message, dict) or not isinstance(message["content"], list):
        return message
    return {**message, "content": [_input_part(part) for part in message["content"]]}


def _input_part(part: Any) -> JSON:
    if part["type"] == "image_url":
        return {"type": "input_image", "image_url": part["image_url"]["url"]}
    return {"type": "input_text", "text": part["text"]}


def _responses_body(request: Request, options: OpenAIOptions) -> dict[str, Any]:
    return {
        "model": request.model,
        "stream": not request.whole or None,
        # what people say in a study is not to be kept by the server, which is its default
        "store": False,
        "temperature": request.temperature,
        "max_output_tokens": request.max_tokens,
        "top_p": options.top_p,
        "reasoning": {"effort": options.reasoning_effort} if options.reasoning_effort else None,
        "text": {"format": {"type": "json_schema", **_strict(request)}} if request.schema else None,
    }


def _strict(request: Request) -> dict[str, Any]:
    return {"name": "reply", "schema": request.schema, "strict": True}
