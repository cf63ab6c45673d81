"""Model servers over real HTTP that fail, in every protocol: what Parley makes of it, after one request and no more."""

import asyncio

import pytest

from app.backends.base import TextDelta
from app.backends.guard import guarded_stream
from app.errors import BackendBroken, BackendDenied, BackendError, BackendRejected, BackendUnavailable
from tests.fakes.asking import KEY, ONE_LIMIT, PATIENT, WAYS, ask, asking, collect, create, said, settings_at
from tests.fakes.latex import BROKEN as BROKEN_LATEX
from tests.fakes.model_faults import FAULTS
from tests.fakes.model_server import serve

REJECTED, DENIED, UNAVAILABLE, BROKEN = BackendRejected, BackendDenied, BackendUnavailable, BackendBroken
TOO_SLOW = (UNAVAILABLE, "timeout_first_token")
TABLE = {
    "302": (REJECTED, "status_302"),
    "400": (REJECTED, "status_400"),
    "400-context": (REJECTED, "context_length_exceeded"),
    "400-filter": (REJECTED, "content_filter"),
    "400-system": (REJECTED, "status_400"),
    "401": (DENIED, "status_401"),
    "401-quote": (DENIED, "status_401"),
    "402": (DENIED, "insufficient_quota"),
    "403": (DENIED, "status_403"),
    "404": (DENIED, "status_404"),
    "408": (UNAVAILABLE, "status_408"),
    "409": (UNAVAILABLE, "status_409"),
    "413": (REJECTED, "status_413"),
    "422": (REJECTED, "status_422"),
    "429": (UNAVAILABLE, "status_429"),
    "429-bare": (UNAVAILABLE, "status_429"),
    "429-date": (UNAVAILABLE, "status_429"),
    "429-long": (UNAVAILABLE, "status_429"),
    "429-soon": (UNAVAILABLE, "status_429"),
    "429-quota": (DENIED, "insufficient_quota"),
    "500": (UNAVAILABLE, "status_500"),
    "502-html": (UNAVAILABLE, "status_502"),
    "503": (UNAVAILABLE, "status_503"),
    "503-html": (UNAVAILABLE, "status_503"),
    "504": (UNAVAILABLE, "status_504"),
    "529": (UNAVAILABLE, "status_529"),
    "blank": (BROKEN, "empty_reply"),
    "break": (UNAVAILABLE, "connection"),
    "content-filter": (BROKEN, "content_filter"),
    "cut-character": (BROKEN, "malformed"),
    "done-only": (BROKEN, "no_finish_reason"),
    "drip": (UNAVAILABLE, "timeout_reply"),
    "drop": (UNAVAILABLE, "connection"),
    "drop-at-once": (UNAVAILABLE, "connection"),
    "empty": (BROKEN, "empty_reply"),
    "endless-event": (BROKEN, "malformed"),
    "endless-lines": (BROKEN, "malformed"),
    "flood": (BROKEN, "too_long"),
    "gzip-broken": (BROKEN, "malformed"),
    "hang": TOO_SLOW,
    "hang-midway": (UNAVAILABLE, "timeout_token_gap"),
    "hang-open": TOO_SLOW,
    "html": (BROKEN, "not_a_stream"),
    "json": (BROKEN, "not_a_stream"),
    "keep-alive": TOO_SLOW,
    "latex": (BROKEN, "too_long"),
    "malformed": (BROKEN, "malformed"),
    "megabyte": (BROKEN, "too_long"),
    "no-answer": (UNAVAILABLE, "connection"),
    "megabyte-in-pieces": (BROKEN, "too_long"),
    "more-than-a-megabyte": (BROKEN, "malformed"),
    "novel": (BROKEN, "too_long"),
    "no-body": (BROKEN, "not_a_stream"),
    "no-finish": (BROKEN, "no_finish_reason"),
    "quote-in-stream": (BROKEN, "malformed"),
    "reset": (UNAVAILABLE, "connection"),
    "short": (UNAVAILABLE, "connection"),
    "refusal": (BROKEN, "refusal"),
    "stream-context": (REJECTED, "context_length_exceeded"),
    "stream-busy": (UNAVAILABLE, "error_in_stream"),
    "stream-error": (UNAVAILABLE, "error_in_stream"),
    "stream-overloaded": (UNAVAILABLE, "error_in_stream"),
    "tool-calls": (BROKEN, "finish_reason"),
}
# Where a protocol makes another error of a fault.
OTHERWISE = {
    # [DONE] says that the reply is complete, and JSON that is no stream is read as a whole answer
    "openai": {"done-only": (BROKEN, "empty_reply"), "json": (BROKEN, "no_finish_reason")},
    # the end of a response is one event, so a response without text is an empty one
    "openai-responses": {"done-only": (BROKEN, "empty_reply"), "json": (BROKEN, "no_finish_reason")},
    # Anthropic tells the type of an error alone
    "anthropic": {"400-filter": (REJECTED, "status_400"), "json": (BROKEN, "no_finish_reason")},
    "http-sse": {"done-only": (BROKEN, "no_text"), "json": (BROKEN, "no_text")},
    # nothing is said before the whole answer is there
    "http-none": {
        "done-only": (BROKEN, "no_finish_reason"),
        "drip": TOO_SLOW,
        "endless-event": (BROKEN, "too_long"),
        "endless-lines": (BROKEN, "too_long"),
        "flood": TOO_SLOW,
        "hang-midway": TOO_SLOW,
        "json": (BROKEN, "no_text"),
        "more-than-a-megabyte": (BROKEN, "too_long"),
        "no-finish": (BROKEN, "malformed"),
    },
}
SOUND = {
    "brief": ("word " * 5, "stop"),
    "bytewise": ("Héllo ∑🎲", "stop"),
    "crlf": ("Hello", "stop"),
    "gzip": ("Hello", "stop"),
    "half-pair": ("Hel\ufffd", "stop"),
    "halves": ("Hel\U0001f600lo", "stop"),
    "latex-broken": ("\n\n".join(text[:1_500] for text in BROKEN_LATEX.values()), "stop"),
    "length": ("Hel", "length"),
    "nothing": ("Hello", "stop"),
    "nul": ("Hello", "stop"),
    "other-type": ("Hello", "stop"),
    "no-usage": ("Hello", "stop"),
    "thoughts": ("Hello", "stop"),
    "thoughts-tagged": ("Hello", "stop"),
    "thoughts-unopened": ("Hello", "stop"),
    **dict.fromkeys(("ended", "thoughts-harmony", "thoughts-bare", "thoughts-kimi"), ("Hello", "stop")),
    "typing": ("word " * 50, "stop"),
}
# The faults that last until somebody's patience ends.
IN_TIME = ("drip", "flood", "hang", "hang-midway", "hang-open", "keep-alive")


@pytest.fixture(params=WAYS)
def way(request):
    return WAYS[request.param]


def failed(settings, way, fault, **more):
    with pytest.raises(BackendError) as raised:
        ask(settings, way, model=f"fault:{fault}", **more)
    return raised.value


def test_every_fault_of_the_fake_is_in_a_table():
    assert {*TABLE, *SOUND} == {*FAULTS}
    assert {*OTHERWISE} == {*WAYS}


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("fault", TABLE)
def test_each_fault_becomes_its_error_after_one_request(fault, name, settings, server):
    before, expected = len(server.requests), OTHERWISE[name].get(fault, TABLE[fault])
    limits = ONE_LIMIT[expected[1]] if fault in IN_TIME else PATIENT
    error = failed(settings, WAYS[name], fault, limits=limits)
    assert (type(error), error.reason) == expected, str(error)
    assert str(error).endswith((".", "?")), "a message is whole sentences"
    assert KEY[:12] not in str(error)
    asked = len(server.requests) - before
    adapts = fault == "400-system" and name.startswith("openai")  # it tries without a system prompt
    assert asked in ((0, 1) if fault in IN_TIME else (2,) if adapts else (1,)), "backends never ask again"


@pytest.mark.parametrize("form", SOUND)
def test_unusual_but_sound_replies_are_taken(form, way, settings):
    deltas = ask(settings, way, model=f"fault:{form}")
    assert (said(deltas), deltas[-1].finish_reason) == SOUND[form]


@pytest.mark.parametrize(("fault", "seconds"), [("429", 7), ("429-bare", None), ("429-date", 9)])
def test_how_long_to_wait_is_passed_on(fault, seconds, way, settings):
    assert failed(settings, way, fault).retry_after_s == seconds


def test_nobody_listening_is_unavailable(way):
    with serve() as server:
        address = server.base_url
    with pytest.raises(BackendUnavailable) as raised:
        ask(settings_at(address), way)
    assert raised.value.reason == "connection"
    assert address in str(raised.value)


def test_a_cancelled_reply_closes_its_connection(way):
    async def cancel(server):
        backend = create(settings_at(server.base_url), way)
        stream = guarded_stream(lambda: backend.stream(asking(way, model="fault:hang-midway")), PATIENT)
        if way is not WAYS["http-none"]:
            assert await anext(stream) == TextDelta("Hel")
        task = asyncio.ensure_future(anext(stream))
        while not server.requests:
            await asyncio.sleep(0.005)
        await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        gone = await asyncio.to_thread(server.wait_until_dropped)
        await backend.close()
        return gone

    with serve() as server:
        assert asyncio.run(cancel(server))


def test_connections_are_used_again(way, settings, server):
    async def several():
        backend, before = create(settings, way), server.connections
        for _ in range(3):
            await collect(backend, asking(way))
        await backend.close()
        return server.connections - before

    assert asyncio.run(several()) == 1
