"""A server that refuses a part of a request which can be left out or put elsewhere is asked once more."""

import asyncio
import logging

import pytest

from app.backends.base import PromptMessage, StreamEnd
from app.backends.completion import complete
from app.errors import BackendRejected
from tests.fakes.asking import PATIENT, WAYS, asking, collect, create, settings_at
from tests.fakes.model_server import serve

MESSAGES = (
    PromptMessage("system", "Be brief."), PromptMessage("user", "Hi."), PromptMessage("assistant", "Hello."),
    PromptMessage("user", "What is 7 x 8?"),
)  # fmt: skip


@pytest.fixture
def server():
    with serve() as running:
        yield running


def ask(server, model, *, way="openai", whole=False, times=1, **options):
    request = asking(WAYS[way], model=model, messages=MESSAGES, temperature=0.5, max_tokens=20, options=options)

    async def several():
        backend, ends = create(settings_at(server.base_url), WAYS[way]), []
        try:
            for _ in range(times):
                if whole:
                    ends.append((await complete(backend, request, PATIENT)).end)
                else:
                    ends.append((await collect(backend, request))[-1])
        finally:
            await backend.close()
        return ends

    return asyncio.run(several())


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize(("way", "name"), [
    ("openai", "temperature"), ("openai", "max_tokens"), ("openai", "system"), ("openai-responses", "temperature"),
    ("openai-responses", "max_output_tokens"), ("openai-responses", "store"), ("openai-responses", "system"),
])  # fmt: skip
def test_what_a_server_refuses_is_left_out_from_then_on(server, caplog, whole, way, name):
    with caplog.at_level(logging.WARNING):
        ends = ask(server, f"picky:{name}", way=way, whole=whole, times=2)
    assert [end.adapted for end in ends] == [(name,), (name,)]
    assert len(server.requests) == 3, "one more, the first time"
    refused, *taken = (request.body for request in server.requests)
    said = "messages" if way == "openai" else "input"
    roles = [[one["role"] for one in body[said]] for body in (refused, *taken)]
    assert name in refused or roles[0][0] == "system"
    assert taken[0] == taken[1]
    if name == "system":
        assert roles[1] == ["user", "assistant", "user"]
        assert taken[0][said][0]["content"] == "Be brief.\n\nHi."
    else:
        assert name not in taken[0]
        assert taken[0].get("max_completion_tokens") == (20 if name == "max_tokens" else None)
    assert [name in record.getMessage() for record in caplog.records if "refuses" in record.getMessage()] == [True]


@pytest.mark.parametrize("name", ["top_p", "messages", "model"])
def test_what_a_reply_cannot_be_had_without_stays_an_error(server, name):
    with pytest.raises(BackendRejected):
        ask(server, f"picky:{name}", top_p=0.5)
    assert len(server.requests) == 1


@pytest.mark.parametrize(("role", "roles"), [
    ("system", ["system", "user", "assistant", "user"]), ("developer", ["developer", "user", "assistant", "user"]),
    ("user", ["user", "assistant", "user"]),
])  # fmt: skip
@pytest.mark.parametrize("way", ["openai", "openai-responses"])
def test_the_study_says_where_the_system_prompt_goes(server, way, role, roles):
    (end,) = ask(server, "m", way=way, system_role=role)
    assert isinstance(end, StreamEnd)
    sent = server.requests[-1].body["messages" if way == "openai" else "input"]
    assert [one["role"] for one in sent] == roles
