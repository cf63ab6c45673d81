"""A model server over real HTTP: what it is asked, what goes wrong, and what Parley makes of that."""

import asyncio
from dataclasses import replace

import pytest

from app.backends import registry
from app.backends.base import End, Text
from app.backends.deadlines import deadlines
from app.errors import BackendBroken, BackendError, BackendRejected, BackendUnavailable, SettingsError
from app.settings import Settings
from tests.fakes.asking import ASKED, HASTY, PATIENT, REQUEST, ask, collect, no_time, said
from tests.fakes.openai_faults import FAULTS
from tests.fakes.openai_server import serve


@pytest.fixture(scope="module")
def server():
    with serve() as running:
        yield running


@pytest.fixture
def settings(server):
    return Settings(openai_base_url=server.base_url, connect_timeout_s=1, _env_file=None)


def test_the_request_is_what_the_study_says(settings, server):
    options = {"top_p": 0.5, "stop": ["END"], "extra": {"top_k": 20}}
    deltas = ask(settings, replace(REQUEST, options=options))
    received = server.requests[-1]
    assert received.path == "/v1/chat/completions"
    assert received.body == {
        "model": "tutor-1",
        "messages": [{"role": message.role, "content": message.text} for message in ASKED],
        "temperature": 0.7,
        "max_tokens": 400,
        "top_p": 0.5,
        "stop": ["END"],
        "top_k": 20,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    assert deltas[-1] == End("stop", "tutor-1-2026", 12, 7)


def test_the_sdks_own_variables_decide_nothing(settings, server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-stray")
    monkeypatch.setenv("OPENAI_ORG_ID", "stray")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    ask(settings)
    assert "stray" not in str(server.requests[-1].headers)


def test_connections_are_used_again(settings, server):
    async def several():
        backend, before = registry.create("openai", settings, no_time), server.connections
        for _ in range(3):
            await collect(backend, REQUEST)
        await backend.close()
        return server.connections - before

    assert asyncio.run(several()) == 1


FAULT_TABLE = {
    "400-context": (BackendRejected, "context_length_exceeded"),
    "400-filter": (BackendRejected, "content_filter"),
    "401": (BackendRejected, "status_401"),
    "404": (BackendRejected, "status_404"),
    "429": (BackendUnavailable, "status_429"),
    "429-quota": (BackendRejected, "insufficient_quota"),
    "500": (BackendUnavailable, "status_500"),
    "503-html": (BackendUnavailable, "status_503"),
    "content-filter": (BackendBroken, "content_filter"),
    "done-only": (BackendBroken, "no_finish_reason"),
    "drip": (BackendUnavailable, "timeout_reply"),
    "drop": (BackendUnavailable, "connection"),
    "empty": (BackendBroken, "empty_reply"),
    "flood": (BackendBroken, "too_long"),
    "hang": (BackendUnavailable, "timeout_first_token"),
    "hang-midway": (BackendUnavailable, "timeout_token_gap"),
    "html": (BackendBroken, "not_a_stream"),
    "json": (BackendBroken, "not_a_stream"),
    "keep-alive": (BackendUnavailable, "timeout_first_token"),
    "malformed": (BackendBroken, "malformed"),
    "no-finish": (BackendBroken, "no_finish_reason"),
    "stream-error": (BackendUnavailable, "error_in_stream"),
    "tool-calls": (BackendBroken, "finish_reason"),
}
SOUND = {"length": ("Hel", "length"), "no-usage": ("Hello", "stop")}


def test_every_fault_of_the_fake_is_in_a_table():
    assert {*FAULT_TABLE, *SOUND} == {*FAULTS}


@pytest.mark.parametrize("fault", FAULT_TABLE)
def test_each_fault_becomes_its_error_after_one_try(fault, settings, server):
    before, (leaf, reason) = len(server.requests), FAULT_TABLE[fault]
    with pytest.raises(BackendError) as failed:
        ask(settings, replace(REQUEST, model=f"fault:{fault}"), limits=HASTY)
    assert (type(failed.value), failed.value.reason) == (leaf, reason)
    assert str(failed.value).endswith((".", "?", "}"))
    assert len(server.requests) == before + 1


@pytest.mark.parametrize("form", SOUND)
def test_unusual_but_sound_replies_are_taken(form, settings):
    deltas = ask(settings, replace(REQUEST, model=f"fault:{form}"), limits=HASTY)
    assert (said(deltas), deltas[-1].finish_reason) == SOUND[form]


def test_how_long_to_wait_is_passed_on(settings):
    with pytest.raises(BackendUnavailable) as busy:
        ask(settings, replace(REQUEST, model="fault:429"))
    assert busy.value.retry_after_s == 7


def test_a_cancelled_reply_closes_its_connection():
    async def cancel(server):
        backend = registry.create("openai", Settings(openai_base_url=server.base_url), no_time)
        stream = deadlines(backend.stream(replace(REQUEST, model="fault:hang-midway")), PATIENT)
        assert await anext(stream) == Text("Hel")
        task = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        gone = await asyncio.to_thread(server.wait_until_dropped)
        await backend.close()
        return gone

    with serve() as server:
        assert asyncio.run(cancel(server))


def test_a_timeout_closes_the_connection_too():
    with serve() as server:
        with pytest.raises(BackendUnavailable):
            ask(
                Settings(openai_base_url=server.base_url),
                replace(REQUEST, model="fault:hang"),
                limits=HASTY,
            )
        assert server.wait_until_dropped()


def test_nobody_listening_is_unavailable():
    with serve() as server:
        address = server.base_url
    with pytest.raises(BackendUnavailable) as failed:
        ask(Settings(openai_base_url=address))
    assert failed.value.reason == "connection"
    assert address in str(failed.value)


def test_openai_itself_needs_a_key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-stray")
    with pytest.raises(SettingsError, match="PARLEY_OPENAI_API_KEY"):
        registry.create("openai", Settings(_env_file=None, openai_base_url=None, openai_api_key=None), no_time)
