"""Studies whose models fail: a chat with one model that has a fault, or columns of which some have."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from app.config.model_servers import Server
from app.config.settings import Settings
from app.studies.loader import read_yaml
from tests.fakes.asking import WAYS, settings_at
from tests.fakes.served import settings_for
from tests.fakes.studies import chat, write

# Settings of which no limit of time is reached, however busy the machine is, and one model's faults are not another's.
PATIENT: Mapping[str, Any] = {
    "connect_timeout_s": 60,
    "first_token_timeout_s": 120,
    "token_gap_timeout_s": 120,
    "reply_timeout_s": 120,
    "max_reply_chars": 20_000,
    "model_attempts": 1,
    "breaker_failures": 1_000,
}


def model(fault: str, way: str = "openai", **more: Any) -> dict[str, Any]:
    """A study's model at the fake server that has a fault; none, if it is called nothing."""
    found = WAYS[way]
    name = f"fault:{fault}" if fault else "sound"
    server = {"server": found.server} if found.server else {}
    return {"backend": found.backend, "model": name, "options": dict(found.options)} | server | more


def talk(folder: Path, name: str, models: Mapping[str, Any], screens: Mapping[str, Any] | None = None) -> Path:
    """One question answered beside a chat with the first of some models; `screens` changes the chat's settings."""
    raw = read_yaml(chat(folder, name))
    raw["models"] = dict(models)
    raw["flow"][1]["with"] = {"with_ai": {"model": next(iter(models)), **(screens or {})}}
    return write(folder, raw)


def columns(folder: Path, name: str, models: Mapping[str, Any]) -> Path:
    compare = {"step": "compare", "id": "compare", "text": "Write a message: two assistants answer it."}
    flow = [{"step": "consent", "text": "Do you agree?"}, compare, {"step": "finish", "code": "GOODBYE-42"}]
    return write(folder, {"study": name, "title": "Two talks", "models": dict(models), "flow": flow})


def settings(folder: Path, url: str, later: int = 9, **more: Any) -> Settings:
    """Settings of a deployment whose model servers are all at `url` and are given up soon; at the port of the server
    `later` nobody listens unless a test does."""
    at = settings_at(url)
    names = ("openai_base_url", "openai_api_key", "anthropic_base_url", "anthropic_api_key", "model_servers")
    given = {name: getattr(at, name) for name in names}
    given["model_servers"] = {**at.model_servers, "later": Server(url=f"http://127.0.0.1:{later}/v1")}
    return settings_for(folder, **given, **{**PATIENT, **more})
