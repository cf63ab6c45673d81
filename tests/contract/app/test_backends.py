"""One contract for every backend of the registry, in all its forms, and what the scripted one promises beyond it."""

import asyncio
from contextlib import aclosing
from dataclasses import replace

import pytest

from app.backends import registry
from app.backends.base import StreamEnd, TextDelta
from app.backends.guard import guarded_stream
from app.errors import BackendRejected
from tests.fakes.asking import (
    KEY,
    LOCAL,
    PATIENT,
    PIECEWISE,
    WAYS,
    ask,
    asking,
    collect,
    create,
    said,
    whole_reply,
)  # fmt: skip

ALL = {**LOCAL, **WAYS}


@pytest.fixture(params=ALL)
def way(request):
    return ALL[request.param]


def test_every_backend_is_under_the_contract():
    assert {way.backend for way in ALL.values()} | {"llama"} == {*registry.BACKENDS.all()}  # backends/test_llama.py


@pytest.mark.parametrize("name", PIECEWISE)
def test_a_reply_comes_in_pieces_and_ends_once(name, settings):
    deltas = ask(settings, PIECEWISE[name], **({} if name in LOCAL else {"model": "fault:typing"}))
    assert len(deltas) > 5
    assert [type(delta) for delta in deltas] == [TextDelta] * (len(deltas) - 1) + [StreamEnd]


def test_the_same_request_may_be_made_twice_at_once(way, settings):
    async def twice():
        backend = create(settings, way)
        replies = await asyncio.gather(collect(backend, asking(way)), collect(backend, asking(way)))
        await backend.close()
        return replies

    first, second = asyncio.run(twice())
    assert said(first) == said(second)
    assert first[-1] == second[-1]


def test_leaving_midway_is_clean(way, settings):
    async def leave():
        backend = create(settings, way)
        async with aclosing(backend.stream(asking(way))) as stream:
            await anext(stream)
        assert said(await collect(backend, asking(way)))
        await backend.close()

    asyncio.run(leave())


def test_cancelling_midway_is_clean(way, settings):
    async def cancel():
        backend, begun = create(settings, way), asyncio.Event()

        async def read():
            async with aclosing(guarded_stream(lambda: backend.stream(asking(way)), PATIENT)) as stream:
                async for _ in stream:
                    begun.set()
                    await asyncio.sleep(0.001)

        task = asyncio.create_task(read())
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert said(await collect(backend, asking(way)))
        await backend.close()

    asyncio.run(cancel())


def test_options_are_described_and_unknown_ones_refused(way, settings):
    assert registry.check_options(way.backend, way.options) == []
    (fault,) = registry.check_options(way.backend, {**way.options, "temprature": 1})
    assert "options.temprature: no such option; allowed: " in fault
    with pytest.raises(BackendRejected, match="temprature") as refused:
        ask(settings, way, options={"temprature": 1})
    assert refused.value.reason == "bad_options"


@pytest.mark.parametrize("name", WAYS)
def test_a_named_server_is_asked_in_place_of_the_own_one(name, settings, server):
    way = WAYS[name]
    elsewhere = settings.model_copy(update={"openai_base_url": "http://127.0.0.1:9", "anthropic_base_url": None})
    before = len(server.requests)
    assert said(ask(elsewhere, replace(way, server="fake"))) == whole_reply(way)
    assert len(server.requests) == before + 1
    assert KEY in str(server.requests[-1].headers)
