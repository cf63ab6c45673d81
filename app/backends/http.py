"""Any endpoint that takes JSON and answers with JSON, as the study describes its requests and answers.

In the body `{{name}}` stands for a value,
which is put in as what it is, never pasted as text: what people have written is never searched for names.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self
from urllib.parse import quote

from pydantic import Field, model_validator

from app.backends.base import (
    JSON,
    BackendOptions,
    Delta,
    Request,
    Sleep,
    TextDelta,
    as_chat_messages,
    parse_options,
    system_of,
)
from app.backends.registry import backend
from app.backends.wire.dialect import not_streamed
from app.backends.wire.framing import SseFraming, WholeFraming
from app.backends.wire.streaming import ReplyDecoder, ServerBackend
from app.backends.wire.values import encoded, excerpt, malformed, shown
from app.config.model_servers import Server
from app.config.settings import Settings
from app.errors import BackendBroken, SettingsError
from problems.errors import did_you_mean

NAMES = ("messages", "prompt", "system", "model", "temperature", "max_tokens")
# Those that can also stand inside a longer text.
TEXTS = ("prompt", "system", "model")
NAME = re.compile(r"\{\{\s*([^{}]*?)\s*\}\}")


class HttpOptions(BackendOptions):
    path: str
    """The path of the endpoint on the server; `{{model}}` stands for the model's name."""
    body: dict[str, JSON]
    """The JSON that is sent, in which `"{{messages}}"` (with the system prompt, unless `"{{system}}"` is there too),
    `"{{prompt}}"` (the last message), `"{{system}}"`, `"{{model}}"`, `"{{temperature}}"` and `"{{max_tokens}}"` stand
    for values."""
    text: str
    """The place of the text in the answer, or in each piece of a stream: `choices.0.message.content`."""
    stream: Literal["none", "sse"] = "none"
    """The form of the answer: whole, or server-sent events."""
    finish: str | None = None
    """The place where the answer says why it ended; a stream without it has to end with `[DONE]`."""
    finishes: dict[str, Literal["stop", "length", "content_filter", "refusal"]] = Field(default_factory=dict)
    """The meanings of the server's own words for the end: `{COMPLETE: stop, MAX_TOKENS: length}`; others are
    failures."""
    version: str | None = None
    """The place where the answer names the model that replied."""
    prompt_tokens: str | None = None
    """The place where the answer counts the tokens of the request."""
    completion_tokens: str | None = None
    """The place where the answer counts the tokens of the reply."""
    method: Literal["POST", "PUT"] = "POST"
    """The method of the request."""
    reasoning_until: str | None = None
    """The text after which the reply begins, usually `</think>`, if the model writes its reasoning first and no
    `<think>` opens it; `''` if it never does so. Unset, its test or its first reply decides."""

    @model_validator(mode="after")
    def _possible(self) -> Self:
        faults = [*faults_in(self.body)]
        faults += [
            f"`path` can hold {{{{model}}}}, not {{{{{name}}}}}" for name in names_in(self.path) if name != "model"
        ]
        if not self.path.startswith("/"):
            faults.append("`path` must start with /")
        if not {"messages", "prompt"} & {*names_in(self.body)}:
            faults.append('`body` has neither "{{messages}}" nor "{{prompt}}": the model would not see what is said')
        if faults:
            raise ValueError("; ".join(faults))
        return self


@backend("http", server="required")
class Http(ServerBackend):
    Options = HttpOptions

    def __init__(self, settings: Settings, sleep: Sleep, server: Server | None) -> None:
        if server is None:
            raise SettingsError("The backend 'http' needs a `server`.")
        super().__init__(settings, server)

    def stream(self, request: Request) -> AsyncGenerator[Delta]:
        options = parse_options(HttpOptions, request.options)
        path = NAME.sub(quote(request.model, safe=""), options.path)
        sent = encoded(_body(request, options))
        framing = WholeFraming() if options.stream == "none" else SseFraming()
        opening = self._client.stream(options.method, path, content=sent)
        return self.read(request, opening, framing, HttpDecoder(places=options), options.reasoning_until)

    @staticmethod
    def not_streamed(model: str, options: Mapping[str, JSON]) -> str:
        whole = options.get("stream", "none") == "none"
        return "its replies appear as a whole, as its `stream` is `none`" if whole else not_streamed(model, options)

    def holds(self, request: Request) -> bool:
        unset = parse_options(HttpOptions, request.options).reasoning_until is None
        return unset and self._dialects.of(request).unopened is None


def _body(request: Request, options: HttpOptions) -> dict[str, JSON]:
    values: dict[str, JSON] = {
        "messages": as_chat_messages(request.messages, system="system" not in names_in(options.body)),
        "prompt": request.messages[-1].text,
        "system": system_of(request.messages) or None,
        "model": request.model,
        "temperature": request.temperature,
        "max_tokens": request.max_tokens,
    }
    return fill(options.body, values)


def names_in(template: JSON) -> Iterator[str]:
    for text in _strings(template):
        yield from NAME.findall(text)


def faults_in(template: JSON) -> Iterator[str]:
    """Yield the faults of a template: unknown names, and values that are no text inside a text."""
    for text in _strings(template):
        for name in NAME.findall(text):
            if name not in NAMES:
                yield f"{{{{{name}}}}} is not a value; allowed: {', '.join(NAMES)}.{did_you_mean(name, NAMES)}"
            elif name not in TEXTS and not NAME.fullmatch(text):
                yield f"{{{{{name}}}}} must stand alone, not inside a text"


def _strings(template: JSON) -> Iterator[str]:
    match template:
        case str():
            yield template
        case dict() | list():
            for part in template.values() if isinstance(template, dict) else template:
                yield from _strings(part)
        case _:
            return


def fill(template: Mapping[str, JSON], values: Mapping[str, JSON]) -> dict[str, JSON]:
    return {key: _fill(part, values) for key, part in template.items() if not _lacks(part, values)}


def _lacks(template: JSON, values: Mapping[str, JSON]) -> bool:
    """Return True for the name of a value that the study does not give."""
    alone = NAME.fullmatch(template) if isinstance(template, str) else None
    return alone is not None and values[alone[1]] is None


def _fill(template: JSON, values: Mapping[str, JSON]) -> JSON:
    match template:
        case str():
            if alone := NAME.fullmatch(template):
                return values[alone[1]]
            return NAME.sub(lambda found: str(values[found[1]] or ""), template)
        case dict():
            return fill(template, values)
        case list():
            return [_fill(one, values) for one in template if not _lacks(one, values)]
        case _:
            return template


@dataclass
class HttpDecoder(ReplyDecoder):
    """A stream has to say that it is over, by its finish reason or by `[DONE]`; otherwise it was cut off."""

    places: HttpOptions = field(kw_only=True)
    _found: bool = False
    _last: Any = None

    def read(self, value: Any) -> Iterator[TextDelta]:
        self._last = value
        self._keep(value)
        text = at(value, self.places.text)
        if isinstance(text, str):
            self._found = True
            if text:
                yield TextDelta(text)
        elif text is not None:
            raise malformed(shown(text), f"{self.places.text} is not text")

    def end(self, *, done: bool) -> Iterator[Delta]:
        """Give the `StreamEnd`; raise BackendBroken if the reply was cut off or is none."""
        if not self._found:
            raise BackendBroken(
                f"The model server's answer has no text at `{self.places.text}`: {excerpt(shown(self._last))}. "
                "Correct `text` in the study.",
                reason="no_text",
            )
        if self.places.finish is None and (done or self.places.stream == "none"):
            self._reason = "stop"
        yield from self._ending(f"`{self.places.finish}`" if self.places.finish else "[DONE]")

    def _keep(self, value: Any) -> None:
        places, reason = self.places, at(value, self.places.finish)
        if reason is not None and reason is not False:
            self._reason = "stop" if reason is True else places.finishes.get(str(reason)) or str(reason)
        if isinstance(version := at(value, places.version), str):
            self._model = version
        self._count(at(value, places.prompt_tokens), at(value, places.completion_tokens))


def at(value: Any, path: str | None) -> Any:
    for step in path.split(".") if path else ():
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        else:
            return None
    return value if path else None
