"""Study files for tests: Parley's own, with what a test needs otherwise, written into a folder of the test's."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from app.studies.loader import STUDIES, read_yaml
from storage.yaml_text import yaml_text

REMARKS: Mapping[str, Any] = {
    "step": "survey",
    "id": "remarks",
    "title": "Looking back",
    "questions": [
        {"type": "long_text", "name": "comment", "text": "What do you think?"},
        {
            "type": "multiple_choice",
            "name": "used",
            "text": "What did you use?",
            "options": ["Pen", "Paper"],
            "required": False,
        },
        {"type": "number", "name": "age", "text": "How old are you?", "minimum": 18, "maximum": 99, "required": False},
        {"type": "slider", "name": "trust", "text": "How far do you trust it?", "right": "Fully", "required": False},
    ],
}


def demo(folder: Path, *, first_ms: int = 1, pace_ms: int = 0) -> Path:
    """The demo study at a pace of one's own, with a page of free answers before its end."""
    raw = read_yaml(STUDIES / "demo.yaml")
    for model in raw["models"].values():
        model["options"] |= {"first_ms": first_ms, "pace_ms": pace_ms}
    raw["translations"] = {tag: str(STUDIES / name) for tag, name in raw["translations"].items()}
    raw["flow"].insert(-1, dict(REMARKS))
    return write(folder, raw)


def arena(folder: Path) -> Path:
    """The study in which two models answer side by side, with one conversation in place of three."""
    raw = read_yaml(STUDIES / "arena.yaml")
    raw["flow"][2] |= {"take": 1}
    return write(folder, raw)


def short(folder: Path, name: str = "short") -> Path:
    """One screen of most kinds, in a few clicks: consent, a survey, confidence, an answer, a chat, the end."""
    raw = _talk(name, {"backend": "scripted", "options": {"first_ms": 0, "pace_ms": 0}})
    raw["flow"][1] |= {"do": "answer-first@1"}
    raw["flow"].insert(1, dict(REMARKS))
    return write(folder, raw)


def chat(folder: Path, name: str = "talk", **model: Any) -> Path:
    return write(folder, _talk(name, {"backend": "scripted", "options": {"first_ms": 0, "pace_ms": 0}} | model))


def rated(folder: Path, name: str = "rated") -> Path:
    """Consent, a chat each of whose replies is rated before the next message, the end."""
    raw = _talk(name, {"backend": "scripted", "options": {"first_ms": 0, "pace_ms": 0}})
    raw["flow"][1] |= {"do": "rate-each-turn@1"}
    return write(folder, raw)


def timed(folder: Path) -> Path:
    """A chat for one message whose reply is rated, and two chats of a few seconds each, for which the model is slow."""
    raw = _talk("timed", {"backend": "scripted", "options": {"first_ms": 500, "pace_ms": 10}})
    raw["models"]["slow"] = {"backend": "scripted", "options": {"first_ms": 0, "pace_ms": 2_000}}
    talk = {"step": "chat", "model": "slow", "time_limit": {"after_s": 8, "on_expiry": "continue"}}
    once = {"step": "chat", "id": "once", "model": "only", "max_messages": 1, "rate_each": ["helpfulness"]}
    raw["flow"][1:2] = [
        {"each": "first", "of": "questions", "take": 1, "flow": [once]},
        {"each": "question", "of": "questions", "take": 2, "flow": [talk]},
    ]
    return write(folder, raw)


def recruited(folder: Path, **section: Any) -> Path:
    """A study that Prolific recruits for, with a screening, and a code for each outcome that it can have."""
    screening = {
        **{"step": "check", "id": "adult", "kind": "screening", "correct_answers": {"age": {"minimum": 18}}},
        "questions": [{"type": "number", "name": "age", "text": "How old are you?", "minimum": 0}],
    }
    prolific: dict[str, Any] = {
        "description": "Talk with a model.",
        "reward": "1.50",
        "minutes": 10,
        "spend_limit": 500,
    }
    prolific["screen_out"] = {"reward": "0.20", "places": 5}
    prolific |= section
    codes = {"screened_out": "OUT1", "no_consent": "NOPE1", "withdrawn": "GONE1", "timed_out": "LATE1"}
    raw = {
        "study": "recruited",
        "title": "A talk",
        "recruitment": {"channels": ["prolific"]},
        "prolific": prolific,
        "quotas": [{"max": 20}],
        "outcomes": {outcome: {"code": code} for outcome, code in codes.items()},
        "flow": [
            {"step": "consent", "text": "Do you agree?"},
            screening,
            {"step": "finish", "code": "DONE1"},
        ],
    }
    return write(folder, raw)


def _talk(name: str, model: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "study": name,
        "title": "A talk",
        "export_schemas": ["chatbench"],
        "problems": {"questions": {"source": "chatbench"}},
        "models": {"only": dict(model)},
        "flow": [
            {"step": "consent", "text": "Do you agree?"},
            {"each": "question", "of": "questions", "take": 1, "do": "direct-to-AI@1"},
            {"step": "finish", "code": "DONE"},
        ],
    }


def write(folder: Path, raw: Mapping[str, Any]) -> Path:
    path = folder / f"{raw['study']}.yaml"
    path.write_text(yaml_text(raw), encoding="utf-8")
    return path
