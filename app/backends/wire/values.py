"""Read values from model servers' JSON, with errors for those of the wrong kind. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from app.errors import BackendBroken, BackendRejected

EXCERPT = 200
HALF_PAIR = re.compile(rb"\\u[dD][89a-fA-F]")
# Finish reasons of other servers, in OpenAI's words: Anthropic, Azure, Bedrock, Cohere, Gemini, Mistral, TGI.
SYNONYMS = {
    **dict.fromkeys(("complete", "completed", "done", "end", "end_turn", "endoftext", "eos", "eos_token"), "stop"),
    **dict.fromkeys(("finish", "finished", "finish_reason_stop", "stop_sequence", "stop_token", "stopped"), "stop"),
    **dict.fromkeys(("max_length", "max_new_tokens", "max_output_tokens", "max_tokens", "model_length"), "length"),
    **dict.fromkeys(("finish_reason_max_tokens", "max_tokens_reached", "token_limit", "truncated"), "length"),
    "model_context_window_exceeded": "length",
    **dict.fromkeys(("function_call", "tool_call", "tool_use"), "tool_calls"),
    **dict.fromkeys(("blocklist", "content_filtered", "error_toxic", "guardrail_intervened"), "content_filter"),
    **dict.fromkeys(("prohibited_content", "recitation", "safety", "sensitive", "spii"), "content_filter"),
}
# Types of the parts of a message's content that are its text.
TEXT_PARTS = ("text", "output_text")
# Types of those that are not, and the fields that hold what the model thought.
REASONING_PARTS = ("thinking", "reasoning", "reasoning_content", "thought")
# Fields for it in a message: DeepSeek and vLLM, OpenRouter and Ollama, Cohere, others.
REASONING_FIELDS = ("reasoning_content", "reasoning", "thinking", "thoughts", "thought")


def finish_reason(reason: str) -> str:
    reason = reason.strip().lower()
    return SYNONYMS.get(reason, reason)


def read_object(data: bytes) -> dict[str, Any]:
    value = read_value(data)
    if not isinstance(value, dict):
        raise malformed(data, "no JSON object")
    return value


def read_value(data: bytes) -> Any:
    """A JSON value, which may have halves of surrogate pairs: some servers cut text between the two."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as error:
        fault = str(error)
    try:
        if HALF_PAIR.search(data):
            return json.loads(data)
    except (ValueError, RecursionError):
        pass
    raise malformed(data, fault)


def string(values: dict[str, Any], key: str) -> str | None:
    """A text of an object; None where there is none; raises BackendBroken where it is something else."""
    value = values.get(key)
    if value is None or isinstance(value, str):
        return value
    raise malformed(shown(value), f"{key} is not text")


def part(values: dict[str, Any], key: str) -> dict[str, Any]:
    """An object of an object; empty where there is none; raises BackendBroken where it is something else."""
    value = values.get(key)
    if value is None or isinstance(value, dict):
        return value or {}
    raise malformed(shown(value), f"{key} is not an object")


def listed(values: dict[str, Any], key: str) -> Iterator[dict[str, Any]]:
    found = values.get(key)
    yield from (one for one in (found if isinstance(found, list) else ()) if isinstance(one, dict))


def text_of(value: object, what: str) -> str:
    """The text of a message's content, which may be in parts; none without content; BackendBroken otherwise."""
    match value:
        case None:
            return ""
        case str():
            return value
        case list() if all(isinstance(one, dict | str) for one in value):
            return "".join(one if isinstance(one, str) else _text_of_part(one) for one in value)
        case _:
            raise malformed(shown(value), f"{what} is not text")


def _text_of_part(one: dict[str, Any]) -> str:
    return (string(one, "text") or "") if one.get("type") in TEXT_PARTS else ""


def reasoning_of(message: dict[str, Any]) -> str:
    """Return the model's thoughts, by the fields and parts of a message or a delta that servers use for them."""
    for name in REASONING_FIELDS:
        if isinstance(found := message.get(name), str) and found:
            return found
    content = message.get("content")
    parts = [one for one in content if isinstance(one, dict)] if isinstance(content, list) else []
    return "".join(_thought(one) for one in parts if one.get("type") in REASONING_PARTS)


def _thought(one: dict[str, Any]) -> str:
    """The text of a part, which may be in parts itself (Mistral)."""
    for name in REASONING_PARTS + TEXT_PARTS:
        match one.get(name):
            case str() as found:
                return found
            case list() as found:
                return "".join(text for inner in found if isinstance(inner, dict) and (text := _thought(inner)))
            case _:
                pass
    return ""


def object_or_none(text: str) -> dict[str, Any] | None:
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None


def count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def shown(value: object) -> bytes:
    return json.dumps(value).encode()


def malformed(data: bytes, what: str) -> BackendBroken:
    return BackendBroken(
        f"The model server sent a malformed response ({what}): {excerpt(data)}. Retry; if it persists, the server "
        "does not speak this backend's protocol.",
        reason="malformed",
    )


def cut_off(what: str) -> BackendBroken:
    return BackendBroken(f"The reply was cut off: it has no {what}.", reason="no_finish_reason")


def not_a_stream(seen: bytes, wanted: str = "stream of events") -> BackendBroken:
    return BackendBroken(
        f"The model server sent no {wanted}, but {seen[:EXCERPT].decode(errors='replace')!r}. "
        "Check its address: where the API begins, as in https://api.openai.com/v1.",
        reason="not_a_stream",
    )


def excerpt(data: bytes) -> str:
    text = data.decode(errors="replace")
    return text if len(text) <= EXCERPT else f"{text[:EXCERPT]}..."


def encoded(body: Mapping[str, Any]) -> bytes:
    try:
        return orjson.dumps(body)
    except orjson.JSONEncodeError as error:
        raise BackendRejected(f"The request cannot be written as JSON: {error}.", reason="bad_request") from None


def text_from(data: bytes) -> str:
    """Bytes as text that every database takes."""
    return data.decode(errors="replace").replace("\x00", "")
