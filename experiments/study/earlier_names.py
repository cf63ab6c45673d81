"""Study documents of the builds before 0.2.0, with the names that study files have now (docs/decisions/0011).

Only documents in a database are read so: who began under one goes on. A study file with an old name is refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

Json = Any
EARLIER = "records"
"""A key that each document of those builds has, and no later one."""
_LABEL = {"called": "assistant_label"}
KEYS: Mapping[str, Mapping[str, str]] = {
    "file": {
        "records": "export_schemas",
        "caps": "quotas",
        "times": "session_limits",
        "alone": "ai_alone",
        "on_leak": "on_identity_leak",
    },
    "recruitment": {
        "by": "channels",
        "parameter": "id_parameter",
        "again": "repeat_participation",
        "proof": "id_proof",
    },
    "bonus": {"each": "per", "of": "pools", "counts": "correct_if", "most": "max"},
    "caps": {"most": "max"},
    "times": {
        "limit_s": "time_limit_s",
        "warn_s": "warn_before_s",
        "idle_s": "idle_after_s",
        "away_s": "away_after_s",
        "lease_s": "hold_place_s",
    },
    "alone": {"subjects": "dataset_labels"},
    "annotators": {"schema": "answer_schema", "about": "instructions", "over": "unit"},
    "loop": {"beside": "vary", "beside_order": "vary_order"},
    "limit": {"warn_s": "warn_before_s", "then": "on_expiry"},
    "on_failure": {"then": "action", "after": "after_retries"},
    "question": {"ask": "type", "whole": "integer"},
    "step": {"limit": "time_limit", "least_s": "min_time_s"},
    "chat": {"sees_problem": "problem_in_prompt", **_LABEL},
    "compare": {
        "sees_problem": "problem_in_prompt",
        "go_on": "continue_with",
        "no_reply": "no_reply_text",
        "called": "assistant_labels",
    },
    "check": {"right": "correct_answers", "of_problem": "ask_problem", "after": "after_failures"},
    "consent": {"tick": "checkbox"},
    "guess": {
        "unsure": "unsure_label",
        "sure": "ask_confidence",
        "sure_text": "confidence_text",
        "sure_points": "confidence_points",
    },
    "rank": {"of": "loop", **_LABEL},
    "rate_turns": {"of": "chat", **_LABEL},
    "rate_dialogue": {"set": "edition", "person": "user_label", **_LABEL},
    "label_turns": {"person": "user_label", **_LABEL},
}
"""By the part of a study, or the kind of a step; `step` has those of every step and loop."""
VALUES: Mapping[tuple[str, str], Mapping[str, str]] = {
    ("recruitment", "again"): {"anew": "new_session"},
    ("bonus", "each"): {"correct": "correct_answer", "answered": "answer", "complete": "completion"},
    ("limit", "then"): {"go_on": "continue"},
    ("compare", "go_on"): {"both": "own"},
    ("question", "ask"): {
        "single": "single_choice",
        "multiple": "multiple_choice",
        "short": "short_text",
        "long": "long_text",
        "tick": "checkbox",
    },
}
PARTS: Mapping[str, str] = {
    "flow": "node",
    "questions": "question",
    "annotators": "annotators",
    **{name: name for name in ("recruitment", "bonus", "caps", "times", "alone", "limit", "on_failure")},
}


def parts_of(document: str) -> dict[str, Json]:
    parts: dict[str, Json] = json.loads(document)
    if EARLIER not in parts["file"]:
        return parts
    parts = json.loads(document.replace("{{called}}", "{{assistant_label}}"))
    protocols = {name: _part("protocol", one) for name, one in parts["protocols"].items()}
    return {**parts, "file": _part("file", parts["file"]), "protocols": protocols}


def _part(kind: str, part: Mapping[str, Json]) -> dict[str, Json]:
    if kind == "node":
        kind = part.get("step", "loop" if "each" in part else "phase")
    common = KEYS["step"] if kind != "file" else {}
    names = {**common, **KEYS.get(kind, {})}
    found = {names.get(key, key): _value(kind, key, value) for key, value in part.items()}
    if kind == "alone" and "extraction" in found:
        found["prompts"] = {"extraction": found.pop("extraction")}
    return found


def _value(kind: str, key: str, value: Json) -> Json:
    inner = PARTS.get(key)
    if inner is not None and isinstance(value, list):
        return [_part(inner, one) for one in value]
    if inner == "annotators":
        return {name: _part(inner, one) for name, one in value.items()}
    if inner is not None and isinstance(value, dict):
        return _part(inner, value)
    return VALUES.get((kind, key), {}).get(value, value) if isinstance(value, str) else value
