"""Requests of a hostile browser: near to the expected ones, and anything."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

ROUTES = (
    "/", "/s/everything", "/s/other", "/s/x%00", "/walk/x", "/out", "/healthz", "/robots.txt", "/api/reply",
    "/api/look", "/api/act", "/api/draft", "/api/telemetry", "/parley/page.js", "/parley/..%2fserver.py", "/theme.css",
    "/gradio_api/app_id", "/gradio_api/startup-events", "/gradio_api/run/predict", "/gradio_api/queue/join", "/config",
    "/assets/x", "/static/x", "/svelte/x", "/openapi.json",
)  # fmt: skip
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")
# What people, models, researchers and the clock do, and what nobody does.
KINDS = ("submit", "say", "rate", "retry", "extend", "decline", "withdraw", "vote", "stop", "turn", "enrol", "reply",
         "fail", "expire", "assign", "draw", "order", "finish", "noted", "")  # fmt: skip


@dataclass(frozen=True)
class Request:
    """Something that is sent."""

    method: str
    path: str
    body: bytes = b""
    query: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=40), st.sampled_from(("on", "A", "yes", "1"))
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner, max_size=4),
    max_leaves=9,
)


def _json(value: Any) -> bytes:
    """As a browser's JSON is, but for what has none, such as half a character."""
    return json.dumps(value).encode()


# What is done to a present screen, whichever it is; `near_to` says it of one.
near = st.fixed_dictionaries(
    {
        "kind": st.integers(0, 40),
        "path": st.one_of(*[st.none()] * 4, st.text(max_size=20), st.sampled_from(("finish", "consent"))),
        "seen": st.one_of(*[st.none()] * 4, st.integers(-1, 2**70)),
        "key": st.uuids().map(str) | st.text(min_size=8, max_size=9),
        "values": st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30), values), max_size=8),
        "more": st.sampled_from(({}, {}, {"by": "system"}, {"by": "model"}, {"view": "screen"}, {"view": "all"})),
        "call": st.sampled_from(("act", "act", "act", "draft", "look")),
    }
)


def near_to(screen: Mapping[str, Any], drawn: Mapping[str, Any]) -> Request:
    chat = screen["panel"]["chat"] or {"rating": []}
    fields = [*screen["panel"]["fields"], *chat["rating"]]
    names = [one["name"] for one in fields] * 2 + ["text", "answer", "agreed", "stopped", "typed", "seen_us", "x"]
    choices = [key for one in fields for key in _keys(one)] or ["A", "on"]
    kinds = [*[kind for kind in screen["actions"] if kind != "withdraw"] * 6, *KINDS]
    body = {
        "kind": kinds[drawn["kind"] % len(kinds)],
        "path": screen["path"] if drawn["path"] is None else drawn["path"],
        "seen": screen["seen"] if drawn["seen"] is None else drawn["seen"],
        "key": drawn["key"],
        "values": {
            names[name % len(names)]: choices[choice % len(choices)] if choice < 24 else value
            for name, choice, value in drawn["values"]
        },
    }
    kind = {"content-type": "application/json"}
    return Request("POST", f"/api/{drawn['call']}", _json(body | drawn["more"]), headers=kind)


def _keys(one: Mapping[str, Any]) -> list[Any]:
    found = one.get("options", ())
    return [key if isinstance(key, str) else key[0] for key in found] if isinstance(found, list) else list(found)


def anything() -> st.SearchStrategy[Request]:
    named = st.sampled_from(
        ("content-type", "accept-language", "cookie", "x-forwarded-for", "range", "if-none-match", "accept")
    )
    value = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=30).map(str.strip)
    return st.builds(
        Request,
        st.sampled_from(METHODS),
        st.sampled_from(ROUTES),
        st.binary(max_size=200) | values.map(_json),
        st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="#"), max_size=20),
        st.dictionaries(named, value, max_size=3),
    )
