"""Map HTTP errors between Parley and a model server to Parley's errors, for all backends that use HTTP.

The status decides whose move it is; a code in the body may say more than the status and becomes the reason. A
server's own text is quoted, cut short, and never without `Server.mask`.
"""

import json
import math
import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from time import time
from typing import Any

import orjson

from app.config.model_servers import Server
from app.errors import BackendBroken, BackendDenied, BackendError, BackendRejected, BackendUnavailable

EXCERPT = 500
RETRIABLE = (408, 409, 425, 429)
NO_QUOTA = "insufficient_quota"
# Codes of OpenAI, Anthropic and llama.cpp that say more than the status, and our words for them: no waiting helps.
REJECTING = {
    "insufficient_quota": NO_QUOTA,
    "billing_error": NO_QUOTA,
    "context_length_exceeded": "context_length_exceeded",
    "exceed_context_size_error": "context_length_exceeded",
    "content_filter": "content_filter",
    "invalid_prompt": "content_filter",
    "bio_policy": "content_filter",
    "misalignment_policy_violation": "content_filter",
}
# How servers without a code say that the conversation is too long for the model (vLLM, Anthropic, Ollama).
OVERFLOW = re.compile(r"maximum context length|context (length|window|size|limit)|prompt is too long", re.I)
# How servers refuse a system prompt: vLLM for Gemma 2, Gemini for Gemma 3, OpenAI for o1-mini.
NO_SYSTEM = re.compile(
    r"(system|developer)\W+(role|messages?|prompts?|instructions?)\W.*\bnot\b|not support\W+(the\W+)?system",
    re.I | re.S,
)
CHECK = {
    NO_QUOTA: "Add credit at the provider, or raise the limit of the key.",
    "context_length_exceeded": "Shorten the conversation or the prompt, or use a model with a longer context.",
    "content_filter": "Change the text, or the provider's filter.",
    401: "Check the key.",
    403: "Check at the provider what the key may be used for.",
    404: "Check the study's `model`, and the server's address.",
}
# Statuses with which a server refuses all requests.
DENYING = (401, 402, 403, 404)
# The status that a server would have given with the type of an error that comes in a stream; of others 500.
STATUS = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
}


def refused(status: int, headers: Mapping[str, str], content: bytes) -> BackendError:
    """Map an unsuccessful status to an error; `content` is the body or its beginning."""
    code, text = _code_and_message(content)
    words = " ".join(text.split())[:EXCERPT] or "(it gave no reason)"
    message = f"The model server refused with status {status}: {words}"
    request_id = headers.get("x-request-id") or headers.get("request-id")
    message += f" (request {request_id})" if request_id else ""
    reason = _reason(code, text if status in (400, 413, 422) else "")
    return _error(message, status, reason, f"status_{status}", text, headers)


def error_in_stream(error: object) -> BackendError:
    content = json.dumps({"error": error}).encode()
    code, text = _code_and_message(content)
    message = f"The model server broke off with an error: {code or ''} {text}"[:EXCERPT].strip()
    return _error(message, STATUS.get(code or "", 500), _reason(code, text), "error_in_stream", text, {})


def _error(
    message: str, status: int, reason: str | None, otherwise: str, text: str, headers: Mapping[str, str]
) -> BackendError:
    # a used-up quota comes as 429, but no waiting helps
    if (status in RETRIABLE or status >= 500) and reason is None:
        return BackendUnavailable(f"{message}. Try again.", reason=otherwise, retry_after_s=retry_after_s(headers))
    every = reason == NO_QUOTA or (reason is None and status in DENYING)
    leaf = BackendDenied if every else BackendRejected
    return leaf(f"{message}. {_advice(status, reason, text)}", reason=reason or otherwise)


def refusal(text: str, tokens: tuple[int | None, int | None] = (None, None)) -> BackendBroken:
    """The error for a model's refusal to reply; `text` is what it said instead, `tokens` what it took."""
    said = f": {text[:EXCERPT]}" if text else ""
    error = BackendBroken(f"The model refused to reply{said}.", reason="refusal")
    error.tokens = tokens
    return error


def masked(error: BackendError, server: Server, sent: str = "", raw: str = "") -> BackendError:
    """An error without secrets of the server, as servers quote keys and requests, and with what was sent."""
    same = type(error)(server.mask(str(error)), reason=error.reason, retry_after_s=error.retry_after_s)
    same.sent, same.raw, same.tokens = server.mask(sent or error.sent), server.mask(raw or error.raw), error.tokens
    return same


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that the server asked us to wait: a number, or a date by the server's own clock."""
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after", "")
    seconds = _number(value)
    if seconds is not None:
        return seconds
    until, now = _date(value), _date(headers.get("date", ""))
    return None if until is None else max(0.0, until - (time() if now is None else now))


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _date(text: str) -> float | None:
    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError):
        return None


def error_in(content: bytes | str) -> Any:
    """Return a body's description of an error; None if it is no JSON."""
    try:
        error = orjson.loads(content)
    except orjson.JSONDecodeError:
        return None
    return error["error"] if isinstance(error, dict) and error.get("error") else error


def _code_and_message(content: bytes) -> tuple[str | None, str]:
    """The code and the words of a body: `{error: {code, type, message}}`, `{error: text}`, or whatever it is."""
    text, error = content.decode(errors="replace"), error_in(content)
    if not isinstance(error, dict):
        return None, error if isinstance(error, str) else text
    codes = [word for word in (error.get("code"), error.get("type")) if isinstance(word, str)]
    code = next((word for word in codes if word in REJECTING), codes[0] if codes else None)
    message = error.get("message") or error.get("detail")
    return code, message if isinstance(message, str) else text


def _advice(status: int, reason: str | None, text: str) -> str:
    """Return advice on a refusal that comes again if nothing changes."""
    if advice := CHECK.get(reason or status):
        return advice
    if NO_SYSTEM.search(text):
        return 'Put the system prompt elsewhere, `options: {system_role: user}`, or leave it out: `system: ""`.'
    return "Check the server's address." if status < 400 else "Check the key, the model's options and the request."


def _reason(code: str | None, text: str) -> str | None:
    return REJECTING.get(code or "") or ("context_length_exceeded" if OVERFLOW.search(text) else None)
