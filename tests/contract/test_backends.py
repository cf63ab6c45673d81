"""One contract for every backend of the registry; then the faults of a model server and the border."""

import asyncio
from contextlib import aclosing
from dataclasses import replace
from types import SimpleNamespace

import pytest

from app.backends import registry, tutor
from app.backends.base import End, Message, Request, Text
from app.backends.deadlines import deadlines
from app.errors import BackendBroken, BackendError, BackendRejected, BackendUnavailable, SettingsError
from app.settings import Settings
from tests.fakes.openai_server import FAULTS, reply_to, serve

ASKED = (Message("system", "You are a helpful tutor."), Message("user", "What is 7+(8-3)x2?"))
REQUEST = Request(model="tutor-1", messages=ASKED, temperature=0.7, max_tokens=400, seed="s1")
LIMITS = SimpleNamespace(first_token_timeout_s=0.2, token_gap_timeout_s=0.2, reply_timeout_s=0.3, max_reply_chars=5_000)
PATIENT = SimpleNamespace(first_token_timeout_s=5, token_gap_timeout_s=5, reply_timeout_s=10, max_reply_chars=20_000)


async def no_time(seconds):
    """A clock on which nothing takes time."""
    await asyncio.sleep(0)


@pytest.fixture(scope="module")
def server():
    with serve() as running:
        yield running


@pytest.fixture
def settings(server):
    return Settings(openai_base_url=server.base_url, connect_timeout_s=1, _env_file=None)


async def collect(backend, request, limits=PATIENT):
    async with aclosing(deadlines(backend.stream(request), limits)) as stream:
        return [delta async for delta in stream]


def ask(settings, request=REQUEST, *, name="openai", limits=PATIENT):
    """Make a backend, ask it once, close it."""

    async def once():
        backend = registry.create(name, settings, no_time)
        try:
            return await collect(backend, request, limits)
        finally:
            await backend.close()

    return asyncio.run(once())


def said(deltas):
    return "".join(delta.text for delta in deltas if isinstance(delta, Text))


# The contract


@pytest.fixture(params=registry.names())
def name(request):
    return request.param


def test_a_reply_comes_in_pieces_and_ends_once(name, settings):
    deltas = ask(settings, name=name)
    assert len(deltas) > 5
    assert [type(delta) for delta in deltas] == [Text] * (len(deltas) - 1) + [End]
    assert all(delta.text for delta in deltas[:-1])
    assert deltas[-1].finish_reason == "stop"


def test_the_pieces_are_the_whole_reply(name, settings):
    whole = {
        "scripted": tutor.reply(ASKED, seed="s1"),
        "openai": reply_to({"messages": [{"content": ASKED[-1].text}]}),
    }
    assert said(ask(settings, name=name)) == whole[name]


def test_the_same_request_may_be_made_twice_at_once(name, settings):
    async def twice():
        backend = registry.create(name, settings, no_time)
        replies = await asyncio.gather(collect(backend, REQUEST), collect(backend, REQUEST))
        await backend.close()
        return replies

    first, second = asyncio.run(twice())
    assert first == second


def test_leaving_midway_is_clean(name, settings):
    async def leave():
        backend = registry.create(name, settings, no_time)
        async with aclosing(backend.stream(REQUEST)) as stream:
            await anext(stream)
        assert said(await collect(backend, REQUEST))
        await backend.close()

    asyncio.run(leave())


def test_cancelling_midway_is_clean(name, settings):
    async def cancel():
        backend, begun = registry.create(name, settings, no_time), asyncio.Event()

        async def read():
            async with aclosing(deadlines(backend.stream(REQUEST), PATIENT)) as stream:
                async for _ in stream:
                    begun.set()
                    await asyncio.sleep(0.001)

        task = asyncio.create_task(read())
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert said(await collect(backend, REQUEST))
        await backend.close()

    asyncio.run(cancel())


def test_options_are_described_and_unknown_ones_refused(name, settings):
    assert registry.check_options(name, {}) == []
    (fault,) = registry.check_options(name, {"temprature": 1})
    assert "options.temprature: no such option; allowed: " in fault
    with pytest.raises(BackendRejected, match="temprature") as refused:
        ask(settings, replace(REQUEST, options={"temprature": 1}), name=name)
    assert refused.value.reason == "bad_options"


def test_an_unknown_backend_is_refused_with_the_one_that_was_meant(settings):
    with pytest.raises(BackendRejected, match="Did you mean 'openai'"):
        registry.create("opennai", settings, no_time)
    assert "Did you mean 'scripted'" in registry.check_options("scrited", {})[0]


def test_a_name_is_given_once():
    with pytest.raises(ValueError, match="registered twice"):
        registry.backend("scripted")(type("Other", (), {}))


# A model server: what was asked, what went wrong


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
        ask(settings, replace(REQUEST, model=f"fault:{fault}"), limits=LIMITS)
    assert (type(failed.value), failed.value.reason) == (leaf, reason)
    assert str(failed.value).endswith((".", "?", "}"))
    assert len(server.requests) == before + 1


@pytest.mark.parametrize("form", SOUND)
def test_unusual_but_sound_replies_are_taken(form, settings):
    deltas = ask(settings, replace(REQUEST, model=f"fault:{form}"), limits=LIMITS)
    assert (said(deltas), deltas[-1].finish_reason) == SOUND[form]


def test_how_long_to_wait_is_passed_on(settings):
    with pytest.raises(BackendUnavailable) as busy:
        ask(settings, replace(REQUEST, model="fault:429"))
    assert busy.value.retry_after_s == 7


def test_a_cancelled_reply_closes_its_connection(settings):
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


def test_a_timeout_closes_the_connection_too(settings):
    with serve() as server:
        with pytest.raises(BackendUnavailable):
            ask(
                Settings(openai_base_url=server.base_url),
                replace(REQUEST, model="fault:hang"),
                limits=LIMITS,
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


# The border


def from_list(items):
    async def stream():
        for item in items:
            if isinstance(item, BaseException):
                raise item
            yield item

    return stream()


def through(*items, limits=LIMITS):
    async def read():
        return [delta async for delta in deadlines(from_list(items), limits)]

    return asyncio.run(read())


@pytest.mark.parametrize(
    ("items", "reason"),
    [
        ((), "no_finish_reason"),
        ((Text("a"),), "no_finish_reason"),
        ((Text(" \n"), End("stop")), "empty_reply"),
        ((End("length"),), "empty_reply"),
        ((Text("a"), End("banana")), "finish_reason"),
        ((Text("a" * 5_001),), "too_long"),
        ((Text("a"), ZeroDivisionError("oops")), "fault"),
        ((Text("a"), TimeoutError("not ours")), "fault"),
    ],
)
def test_whatever_is_no_reply_is_broken(items, reason):
    with pytest.raises(BackendBroken) as failed:
        through(*items)
    assert failed.value.reason == reason


def test_a_slow_reader_is_not_timed_out():
    async def read():
        limits = SimpleNamespace(**{**vars(LIMITS), "token_gap_timeout_s": 0.01})
        deltas = []
        async for delta in deadlines(from_list([Text("a"), Text("b"), End("stop")]), limits):
            await asyncio.sleep(0.02)
            deltas.append(delta)
        return deltas

    assert asyncio.run(read())[-1] == End("stop")


# The scripted model


def test_max_tokens_cuts_the_reply_and_says_so():
    deltas = ask(Settings(), replace(REQUEST, max_tokens=5), name="scripted")
    assert len(deltas) == 6
    assert deltas[-1] == End("length", "tutor-1", 8, 5)


def test_the_scripted_pace_is_the_studys():
    waits = []

    async def sleep(seconds):
        waits.append(seconds)

    async def read():
        backend = registry.create("scripted", Settings(), sleep)
        return await collect(backend, replace(REQUEST, options={"first_ms": 1_000, "pace_ms": 50}))

    deltas = asyncio.run(read())
    assert waits == [1.0] + [0.05] * (len(deltas) - 1)
