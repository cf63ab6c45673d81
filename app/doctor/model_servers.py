"""The model servers: reachable, and with a key that they accept. No model is called.

Servers of OpenAI's and Anthropic's kind list their models at `GET /models`, which costs nothing:
https://platform.openai.com/docs/api-reference/models/list, https://docs.claude.com/en/api/models-list.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

import httpx2
import orjson

from app.backends.anthropic import ANTHROPIC_URL, headers_for, path_at
from app.backends.openai import OPENAI_URL
from app.backends.registry import configuration_errors
from app.backends.wire.http_client import client
from app.backends.wire.streaming import WHOLE, bearer
from app.config.model_servers import Server
from app.config.settings import Settings
from app.doctor.addresses import other_loopback
from app.doctor.finding import Deployment, Diagnosis, error, ok, warning
from app.errors import BackendDenied, BackendError, BackendRejected, BackendUnavailable, SettingsError
from experiments.study.study import Study
from problems.errors import did_you_mean
from storage.datasets.describe.markdown import count as how_many

WITHIN_S = 15
TEST = "`parley models STUDY` sends each model of a study a message."
KEY_REFUSED = ("status_401", "status_403")
KINDS = ("openai", "anthropic")


@dataclass(frozen=True, slots=True)
class ListedModels:
    """What a server answered: its models, None if it has no list, and its time."""

    models: tuple[str, ...] | None
    date_us: int | None


@dataclass(frozen=True, slots=True)
class ServerState:
    """A server, by what people call it, and what became of the request for its models."""

    name: str
    server: Server | None
    answer: ListedModels | BackendError | SettingsError


async def ask_servers(deployment: Deployment) -> tuple[ServerState, ...]:
    """Ask every server of the settings and of the console for its models, all at the same time."""
    settings = deployment.settings
    own = _own_servers(settings)
    named = {name: None for name in settings.server_names}
    return tuple(
        await asyncio.gather(
            *(_state(settings, title, server, (kind,)) for title, (kind, server) in own.items()),
            *(_named_state(settings, name, _kinds(name, deployment.studies)) for name in named),
        )
    )


def _own_servers(settings: Settings) -> dict[str, tuple[str, Server]]:
    found = {}
    if settings.openai_api_key or settings.openai_base_url:
        url = settings.openai_base_url or OPENAI_URL
        found["openai"] = ("openai", Server(url=url, key=settings.openai_api_key))
    if settings.anthropic_api_key or settings.anthropic_base_url:
        url = settings.anthropic_base_url or ANTHROPIC_URL
        found["anthropic"] = ("anthropic", Server(url=url, key=settings.anthropic_api_key))
    return found


def _kinds(name: str, studies: Sequence[Study]) -> tuple[str, ...]:
    """The backends by which the studies reach a server; where none does, both kinds are tried."""
    used = {model.backend for study in studies for model in study.file.models.values() if model.server == name}
    return tuple(kind for kind in KINDS if kind in used) or KINDS[: 1 if used else 2]


async def _named_state(settings: Settings, name: str, kinds: Sequence[str]) -> ServerState:
    try:
        server = settings.server(name)
    except SettingsError as fault:
        return ServerState(name, None, fault)
    return await _state(settings, name, server, kinds)


async def _state(settings: Settings, name: str, server: Server, kinds: Sequence[str]) -> ServerState:
    answer: ListedModels | BackendError | SettingsError = SettingsError(f"{name} was not asked.")
    for kind in kinds:
        answer = await _ask(settings, server, kind)
        if not (isinstance(answer, BackendDenied) and answer.reason in KEY_REFUSED):
            break
    return ServerState(name, server, answer)


async def _ask(settings: Settings, server: Server, kind: str) -> ListedModels | BackendError | SettingsError:
    headers, path = bearer(server), "/models"
    if kind == "anthropic":
        headers, path = headers_for(server), f"{path_at(server, 'models')}?limit=1000"
    try:
        asking = client(settings, server, headers)
    except SettingsError as fault:
        return fault
    try:
        async with asyncio.timeout(WITHIN_S):
            answer = await asking.get(path, headers=WHOLE)
            return ListedModels(_models(answer.content), _date_us(answer.headers.get("date", "")))
    except TimeoutError:
        return BackendUnavailable(f"{server.url} did not answer within {WITHIN_S} s.", reason="timeout")
    except BackendError as fault:
        return type(fault)(server.mask(str(fault)), reason=fault.reason)
    finally:
        await asking.aclose()


def _models(content: bytes) -> tuple[str, ...] | None:
    try:
        answer: Any = orjson.loads(content)
    except orjson.JSONDecodeError:
        return None
    listed = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(listed, list):
        return None
    return tuple(str(one["id"]) for one in listed if isinstance(one, dict) and "id" in one)


def _date_us(text: str) -> int | None:
    try:
        return round(parsedate_to_datetime(text).timestamp() * 1e6)
    except ValueError:
        return None


def clocks(states: Sequence[ServerState]) -> Mapping[str, int]:
    """The time by the server's clock, for each that sent it."""
    found = {state.name: state.answer for state in states if isinstance(state.answer, ListedModels)}
    return {f"the model server {name}": one.date_us for name, one in found.items() if one.date_us is not None}


def check_model_servers(states: Sequence[ServerState], studies: Sequence[Study]) -> Iterator[Diagnosis]:
    """What each server answered, and which models of the studies it does not list."""
    if not states:
        yield ok("No model server is set; models with the backends scripted and replay need none.")
    for state in states:
        yield from _judge(state)
        if isinstance(state.answer, ListedModels) and state.answer.models:
            yield from _unlisted(state.name, state.answer.models, studies)


def _judge(state: ServerState) -> Iterator[Diagnosis]:
    name, answer = state.name, state.answer
    if isinstance(answer, SettingsError) or state.server is None:
        yield error(f"The model server {name} cannot be used: {answer}", "Correct the setting.")
        return
    url = state.server.url
    match answer:
        case ListedModels(models=None):
            yield warning(f"{name}: {url} answers, but not with a list of models.", f"{_address(url)} {TEST}")
        case ListedModels(models=models):
            accepted = " and accepts the key" if state.server.key else ""
            yield ok(f"{name}: {url} answers{accepted}; it lists {how_many(len(models or ()), 'model')}.")
        case BackendDenied(reason="status_404") | BackendRejected(reason="status_405"):
            yield warning(f"{name}: {url} answers, but has no list of models.", f"{_address(url)} {TEST}")
        case BackendDenied(reason="status_401" | "status_403"):
            key = "the key is refused" if state.server.key else "it wants a key"
            yield error(f"{name}: {url} answers, but {key}. {answer}", "Correct the key in the settings.")
        case BackendUnavailable(reason="connection" | "timeout" | "timeout_connect"):
            yield error(f"{name}: {answer}", _unreachable(url, str(answer)))
        case _:
            yield error(f"{name}: {url} answers, but refuses. {answer}", TEST)


def _address(url: str) -> str:
    return "" if url.endswith("/v1") else "Check that the address ends where the API begins, for most in `/v1`."


def _unreachable(url: str, why: str) -> str:
    if "CERTIFICATE_VERIFY_FAILED" in why:
        return (
            "Name the certificate of the server's authority in SSL_CERT_FILE. If the server's certificate has expired "
            "or is not yet valid, look at the clock first."
        )
    if "ssl" in why.lower() and url.startswith("https://") and _speaks_http(url):
        return "The server speaks http at this port: write http:// in place of https://, or use its port for https."
    if (other := other_loopback(url)) is not None:
        return f"Something listens at {other}: write this address in the settings."
    return (
        "Start the server, or correct its address. In a container, 127.0.0.1 is the container itself: use the name of "
        "the host."
    )


def _speaks_http(url: str) -> bool:
    """Whether a server answers without encryption; nothing secret is sent."""
    parts = urlsplit(url)
    try:
        httpx2.get(f"http://{parts.netloc}/", timeout=WITHIN_S, trust_env=False)
    except httpx2.HTTPError:
        return False
    return parts.port is not None


def _unlisted(name: str, listed: Sequence[str], studies: Sequence[Study]) -> Iterator[Diagnosis]:
    """Models that the studies ask of a server, and that it does not list. Ollama lists `llama3.2` as `llama3.2:latest`,
    and Gemini each with `models/` before it."""
    known = {variant for one in listed for variant in (one, one.removesuffix(":latest"), one.removeprefix("models/"))}
    for study in studies:
        for label, model in study.file.models.items():
            asked = model.model or label
            if (model.server or model.backend) == name and asked not in known:
                yield warning(
                    f"{name} does not list the model {asked!r} of the study {study.name}.{did_you_mean(asked, known)}",
                    f"Azure lists no deployments. Otherwise correct `model`. {TEST}",
                )


def check_studies(deployment: Deployment) -> Iterator[Diagnosis]:
    """Whether each model of the studies can be reached by these settings, as far as they show."""
    for study in deployment.studies:
        faults = asyncio.run(configuration_errors(study.file.models.values(), deployment.settings))
        for fault in faults:
            yield error(f"The study {study.name}: {fault}", "Correct the setting, or the study's `models`.")
        if not faults:
            yield ok(f"The study {study.name} has all settings that its models need.")
    if not deployment.studies:
        yield ok("No study was named, and none is published. Name one to look at its models: `parley doctor STUDY`.")
