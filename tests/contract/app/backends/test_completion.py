"""One contract for every backend asked for a reply in one piece: what a stream gives, and all of the wire."""

import asyncio
import json

import pytest

from app.backends.completion import complete
from app.errors import BackendBroken, BackendError, BackendUnavailable
from tests.contract.app.test_backends_faults import SOUND, TABLE
from tests.fakes.asking import HASTY, KEY, LOCAL, PATIENT, WAYS, ask, asking, create, said, whole_reply

ALL = {**LOCAL, **WAYS}
# Those that do not stream for it.
BATCHED = ("openai", "openai-responses", "anthropic")
TIMEOUT = (BackendUnavailable, "timeout_reply")
# Of each kind of fault one, and those of which a whole reply makes another error than a stream.
FAULTS = {
    **{fault: TABLE[fault] for fault in ("400-system", "401", "429", "500", "drop", "refusal")},
    **dict.fromkeys(("hang", "hang-midway"), TIMEOUT),
    "endless-event": (BackendBroken, "too_long"),
    "no-finish": (BackendBroken, "not_a_stream"),
    "json": (BackendBroken, "no_finish_reason"),
    "cut-character": (BackendBroken, "malformed"),
}
IN_TIME = ("hang", "hang-midway")
# The sound forms that an answer in one piece can have; how a stream is cut and framed is none of them.
WHOLE = ("gzip", "halves", "length", "no-usage", "nul", "thoughts", "thoughts-harmony", "thoughts-unopened")


@pytest.fixture(params=ALL)
def way(request):
    return ALL[request.param]


def ask_whole(settings, way, limits=PATIENT, **changes):
    async def once():
        backend = create(settings, way)
        try:
            return await complete(backend, asking(way, **changes), limits)
        finally:
            await backend.close()

    return asyncio.run(once())


def test_the_whole_is_what_the_stream_gives(way, settings):
    deltas, reply = ask(settings, way), ask_whole(settings, way)
    assert reply.text == said(deltas) == whole_reply(way)
    assert reply.end == deltas[-1]


def test_what_was_sent_and_what_came_is_kept(way, settings):
    reply = ask_whole(settings, way)
    assert "What is 7+(8-3)x2?" in json.dumps(json.loads(reply.sent))
    assert json.loads(reply.raw)
    assert KEY not in reply.sent + reply.raw


@pytest.mark.parametrize("name", BATCHED)
def test_a_batch_does_not_stream(name, settings, server):
    reply = ask_whole(settings, WAYS[name])
    assert "stream" not in server.requests[-1].body
    assert json.loads(reply.sent) == server.requests[-1].body


@pytest.mark.parametrize("name", BATCHED)
@pytest.mark.parametrize("form", WHOLE)
def test_unusual_but_sound_replies_are_taken(form, name, settings):
    reply = ask_whole(settings, WAYS[name], model=f"fault:{form}")
    assert (reply.text, reply.end.finish_reason) == SOUND[form]


@pytest.mark.parametrize("name", BATCHED)
@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_becomes_its_error_after_one_request(fault, name, settings, server):
    before, expected = len(server.requests), FAULTS[fault]
    with pytest.raises(BackendError) as raised:
        ask_whole(settings, WAYS[name], HASTY if fault in IN_TIME else PATIENT, model=f"fault:{fault}")
    error = raised.value
    assert (type(error), error.reason) == expected, str(error)
    assert KEY[:12] not in str(error) + error.raw + error.sent
    adapts = fault == "400-system" and name.startswith("openai")  # it tries without a system prompt
    asked = len(server.requests) - before
    assert asked in ((0, 1) if fault in IN_TIME else (2,) if adapts else (1,))  # a busy machine may be too late


@pytest.mark.parametrize("name", BATCHED)
def test_a_refusal_is_kept_as_it_came_with_what_it_took(name, settings):
    with pytest.raises(BackendBroken, match="I cannot help with that") as raised:
        ask_whole(settings, WAYS[name], model="fault:refusal")
    assert raised.value.reason == "refusal"
    assert "I cannot help with that." in raised.value.raw
    assert "What is 7+" in raised.value.sent
    assert raised.value.tokens == (12, 7)


SCHEMA = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}


STRICT = {"name": "reply", "schema": SCHEMA, "strict": True}
SENT = {
    "openai": {"response_format": {"type": "json_schema", "json_schema": STRICT}},
    "openai-responses": {"text": {"format": {"type": "json_schema", **STRICT}}},
    "anthropic": {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}},
}


@pytest.mark.parametrize("name", BATCHED)
def test_a_schema_is_sent_as_each_protocol_has_it(name, settings, server):
    ask_whole(settings, WAYS[name], schema=SCHEMA)
    assert server.requests[-1].body.items() >= SENT[name].items()
