"""One contract for every backend of the registry, and what the scripted one promises beyond it."""

import asyncio
from contextlib import aclosing
from dataclasses import replace

import pytest

from app.backends import registry, tutor
from app.backends.base import End, Text
from app.backends.deadlines import deadlines
from app.errors import BackendRejected
from app.settings import Settings
from tests.fakes.asking import ASKED, PATIENT, REQUEST, ask, collect, no_time, said
from tests.fakes.openai_faults import reply_to
from tests.fakes.openai_server import serve


@pytest.fixture(scope="module")
def server():
    with serve() as running:
        yield running


@pytest.fixture
def settings(server):
    return Settings(openai_base_url=server.base_url, connect_timeout_s=1, _env_file=None)


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
