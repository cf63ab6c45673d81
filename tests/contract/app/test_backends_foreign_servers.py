"""Model servers that nobody here wrote: llmock, which breaks replies on purpose, and a LiteLLM proxy, which translates.

`make foreign-servers` puts them into an environment of their own, build/foreign, and runs this with --foreign.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from app.backends.base import PromptMessage, StreamEnd
from app.backends.completion import complete
from app.errors import BackendBroken, BackendError, BackendRejected, BackendUnavailable
from app.studies.loader import read_yaml
from tests.fakes import studies
from tests.fakes.asking import WAYS, Patience, asking, collect, create, said, settings_at
from tests.fakes.commanding import parley
from tests.fakes.model_server import serve

pytestmark = [pytest.mark.foreign, pytest.mark.timeout(600)]
BIN = Path(__file__).parents[3] / "build" / "foreign" / "bin"
KEY = "sk-foreign-0123456789"
CALM, SHORT = Patience(60, 60, 120), Patience(5, 5, 10)
STARTS_S = 180


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@contextmanager
def running(command: list[str], port: int, path: str, env: Mapping[str, str]) -> Iterator[str]:
    """Run a server until the block ends, once it answers at a path."""
    url, until = f"http://127.0.0.1:{port}", time.monotonic() + STARTS_S
    with subprocess.Popen(command, env={**os.environ, **env}, stdout=subprocess.DEVNULL) as process:
        try:
            while not answers(f"{url}{path}"):
                assert process.poll() is None, "the server did not start"
                assert time.monotonic() < until, "the server does not answer"
                time.sleep(0.2)
            yield url
        finally:
            process.terminate()


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=30):
            return True
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False


@contextmanager
def llmock(*given: str) -> Iterator[str]:
    port = free_port()
    command = [str(BIN / "llmock"), "serve", "--port", str(port), "--log-level", "error", *given]
    with running(command, port, "/_llmock/requests", {}) as url:
        yield url


def asked(url: str, name: str, *, form: str, limits: Patience = CALM, **changes: Any) -> tuple[str, StreamEnd]:
    way = WAYS[name]

    async def once() -> tuple[str, StreamEnd]:
        backend = create(settings_at(url, key=KEY), way)
        try:
            if form == "whole":
                reply = await complete(backend, asking(way, **changes), limits)
                return reply.text, reply.end
            deltas = await collect(backend, asking(way, **changes), limits)
            end = deltas[-1]
            assert isinstance(end, StreamEnd)
            return said(deltas), end
        finally:
            await backend.close()

    return asyncio.run(once())


PATHS = {"openai": "/v1", "openai-responses": "/v1", "anthropic": "/anthropic"}


@pytest.fixture(scope="module")
def sound() -> Iterator[str]:
    with llmock() as url:
        yield url


@pytest.mark.parametrize("form", ["stream", "whole"])
@pytest.mark.parametrize("name", PATHS)
def test_a_sound_server_replies(name: str, form: str, sound: str) -> None:
    text, end = asked(sound + PATHS[name], name, form=form, model="model-1")
    assert "model-1" in text
    assert end.finish_reason == "stop"


@pytest.mark.parametrize("fault", ["truncate", "disconnect", "malformed", "stall"])
@pytest.mark.parametrize("name", PATHS)
def test_no_broken_stream_passes_for_a_reply(name: str, fault: str) -> None:
    broken = 0
    with llmock("--stream-fault", f"{fault}=1.0", "--stream-stall-seconds", "60") as url:
        for number in range(5):
            message = PromptMessage("user", f"Question {number}, which is long enough to be answered in many pieces")
            try:
                text, _ = asked(url + PATHS[name], name, form="stream", limits=SHORT, messages=(message,))
                assert str(number) in text, "what is taken for a reply is whole"
            except (BackendUnavailable, BackendBroken):
                broken += 1
    assert broken > 0


@pytest.mark.parametrize("form", ["stream", "whole"])
@pytest.mark.parametrize("name", PATHS)
@pytest.mark.parametrize(
    ("status", "kind"), [(429, BackendUnavailable), (503, BackendUnavailable), (401, BackendRejected)]
)
def test_a_refusal_says_whose_move_it_is(
    status: int, kind: type[BackendError], name: str, form: str, refusing: Mapping[int, str]
) -> None:
    with pytest.raises(kind) as raised:
        asked(refusing[status] + PATHS[name], name, form=form)
    assert raised.value.reason == f"status_{status}"
    assert KEY not in str(raised.value)


@pytest.fixture(scope="module")
def refusing() -> Iterator[Mapping[int, str]]:
    with (
        llmock("--error-rate", "429=1.0") as busy,
        llmock("--error-rate", "503=1.0") as away,
        llmock("--error-rate", "401=1.0") as wrong,
    ):
        yield {429: busy, 503: away, 401: wrong}


FAILURES = [{"type": "fail", "status": status} for status in (500, 502, 503, 504)]
FAILURES += [{"type": "fail", "status": status, "retry_after": 1} for status in (429, 503)]
BREAKS = [{"type": "stream_fault", "kind": kind, "after_chunks": 2} for kind in ("truncate", "disconnect", "malformed")]
# What no client may retry.
FINAL = [{"type": "fail", "status": status} for status in (400, 403, 422)]
SESSIONS = 20
METHOD = ("--method", "letter_only_zero_shot", "--concurrency", "1")
RESILIENT = {"PARLEY_RETRY_WAIT_S": "0.2", "PARLEY_MODEL_ATTEMPTS": "4", "PARLEY_BREAKER_FAILURES": "1000"}


def queue(url: str, *behaviours: Mapping[str, Any]) -> None:
    body = json.dumps({"behaviors": behaviours}).encode()
    request = urllib.request.Request(f"{url}/_llmock/scenario", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30):
        pass


def verdict(url: str) -> dict[str, Any]:
    with urllib.request.urlopen(f"{url}/_llmock/verdict", timeout=30) as answer:
        found: dict[str, Any] = json.load(answer)
    return found


@pytest.mark.parametrize("backend", ["openai", "anthropic"])
@pytest.mark.parametrize("kind", ["live", "alone"])
def test_chats_and_runs_alone_pass_the_verdict_of_a_fault_injector(kind: str, backend: str, tmp_path: Path) -> None:
    """It fails clients that retry before Retry-After, retry what cannot succeed, retry without end, or take half a
    stream for a reply (its README, The verdict). It takes equal requests for retries, so here no two are equal, and
    nobody clicks on "Try again"."""
    raw = read_yaml(studies.chat(tmp_path, "talk"))
    raw["factors"] = {"who": [f"person {number}" for number in range(SESSIONS)]}
    raw["models"] = {"only": {"backend": backend, "model": "model-1", "max_tokens": 200, "system": "Help {{who}}."}}
    raw["flow"][1] |= {"with": {"with_ai": {"on_failure": {"action": "stop", "after_retries": 0}}}}
    studies.write(tmp_path, raw)
    faults = [*FAILURES, *(BREAKS if kind == "live" else [])]
    sound = {"type": "reply", "text": "The answer is B."}
    with llmock() as url:
        queue(url, *(one for fault in faults for one in (fault, sound)), *FINAL)
        name = backend.upper()
        env = {f"PARLEY_{name}_BASE_URL": url + PATHS[backend], f"PARLEY_{name}_API_KEY": KEY, **RESILIENT}
        command = {
            "live": ("simulate", "talk.yaml", "-n", str(SESSIONS)),
            "alone": ("ai-alone", "run", "talk.yaml", "--repeats", "1", "--max-problems", "8", *METHOD),
        }[kind]
        parley(*command, folder=tmp_path, **env)
        found = verdict(url)
    assert found["faults_injected"] == len(faults) + len(FINAL)
    assert found["attempts"] >= found["calls"] + len(FAILURES), "each was followed by a retry"
    assert found["passed"], found["findings"]


@pytest.fixture(scope="module")
def litellm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """LiteLLM before itself, and before a server with Claude's API whose model thinks."""
    with serve() as upstream:
        anthropic = {"api_key": "x", "api_base": upstream.base_url.removesuffix("/v1")}
        models = {
            "mock": {"model": "openai/gpt-4o", "api_key": "x", "mock_response": "Twelve it is."},
            "busy": {"model": "openai/gpt-4o", "api_key": "x", "mock_response": "litellm.RateLimitError"},
            "thinking": {"model": "anthropic/fault:thoughts", **anthropic},
            "breaking": {"model": "anthropic/fault:drop", **anthropic},
        }
        listed = [{"model_name": name, "litellm_params": given} for name, given in models.items()]
        file, port = tmp_path_factory.mktemp("litellm") / "config.yaml", free_port()
        file.write_text(json.dumps({"model_list": listed, "router_settings": {"num_retries": 0}}), encoding="utf-8")
        command = [str(BIN / "litellm"), "--config", str(file), "--host", "127.0.0.1", "--port", str(port)]
        with running(command, port, "/health/liveliness", {"LITELLM_MASTER_KEY": KEY, "LITELLM_LOG": "ERROR"}) as url:
            yield f"{url}/v1"


@pytest.mark.parametrize("form", ["stream", "whole"])
def test_a_proxy_gives_what_it_was_given(form: str, litellm: str) -> None:
    assert asked(litellm, "openai", form=form, model="mock")[0] == "Twelve it is."


@pytest.mark.parametrize("form", ["stream", "whole"])
@pytest.mark.parametrize("name", ["openai", "openai-responses"])
def test_thoughts_that_a_proxy_translates_are_no_part_of_the_reply(name: str, form: str, litellm: str) -> None:
    text, end = asked(litellm, name, form=form, model="thinking")
    assert (text, end.finish_reason) == ("Hello", "stop")


@pytest.mark.parametrize("name", ["openai", "openai-responses"])
def test_a_reply_that_breaks_behind_a_proxy_is_none(name: str, litellm: str) -> None:
    with pytest.raises(BackendError):
        asked(litellm, name, form="stream", model="breaking")
