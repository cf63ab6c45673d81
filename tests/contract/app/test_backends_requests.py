"""What each backend sends: the study's settings, in the words of the protocol, and nothing of the machine's."""

import asyncio
import json

import pytest
from pydantic import SecretStr

from app.backends import registry
from app.backends.base import PromptMessage, PromptPicture, StreamEnd, ToolCall, ToolSpec
from app.config.model_servers import Server
from app.config.settings import Settings
from tests.fakes.asking import ASKED, KEY, WAYS, Way, ask, asking, collect, create

MESSAGES = [{"role": message.role, "content": message.text} for message in ASKED]
QUESTION = MESSAGES[1:]
ENDED = StreamEnd("stop", "tutor-1-2026", 12, 7)


@pytest.fixture
def sent(settings, server):
    def asked(name, **changes):
        assert ask(settings, WAYS[name], **changes)[-1] == ENDED
        return server.requests[-1]

    return asked


def test_chat_completions(sent):
    options = {"top_p": 0.5, "stop": ["END"], "reasoning_effort": "low", "extra": {"top_k": 20, "min_p": 0.05}}
    received = sent("openai", options=options)
    assert received.path == "/v1/chat/completions"
    assert received.headers["authorization"] == f"Bearer {KEY}"
    assert received.body == {
        "model": "tutor-1",
        "messages": MESSAGES,
        "temperature": 0.7,
        "max_tokens": 400,
        "top_p": 0.5,
        "stop": ["END"],
        "reasoning_effort": "low",
        "top_k": 20,
        "min_p": 0.05,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_responses(sent):
    received = sent("openai-responses", options={"reasoning_effort": "high", "top_p": 0.9, "extra": {"user": "x"}})
    assert received.path == "/v1/responses"
    assert received.body == {
        "model": "tutor-1",
        "input": MESSAGES,
        "temperature": 0.7,
        "max_output_tokens": 400,
        "top_p": 0.9,
        "reasoning": {"effort": "high"},
        "user": "x",
        "stream": True,
        "store": False,
    }


def test_messages(sent):
    options = {"top_k": 5, "stop_sequences": ["END"], "effort": "low", "extra": {"service_tier": "standard_only"}}
    received = sent("anthropic", options=options)
    assert received.path == "/v1/messages"
    assert received.headers["x-api-key"] == KEY
    assert received.headers["anthropic-version"] == "2023-06-01"
    assert "authorization" not in received.headers
    assert received.body == {
        "model": "tutor-1",
        "system": ASKED[0].text,
        "messages": QUESTION,
        "max_tokens": 400,
        "temperature": 0.7,
        "top_k": 5,
        "stop_sequences": ["END"],
        "output_config": {"effort": "low"},
        "service_tier": "standard_only",
        "stream": True,
    }


@pytest.mark.parametrize(
    ("given", "options", "max_tokens", "thinking"),
    [
        (None, {}, 1000, None),
        (None, {"max_tokens": 50}, 50, None),
        (400, {"max_tokens": 50, "thinking": "adaptive"}, 400, {"type": "adaptive"}),
        (400, {"thinking_budget": 2000}, 2400, {"type": "enabled", "budget_tokens": 2000}),
    ],
)
def test_the_longest_reply_and_thinking(given, options, max_tokens, thinking, sent):
    body = sent("anthropic", max_tokens=given, options=options).body
    assert (body["max_tokens"], body.get("thinking")) == (max_tokens, thinking)


def test_azure_as_it_used_to_be(server):
    azure = Server(
        url=f"{server.base_url}/openai/deployments/gpt",
        headers={"api-key": SecretStr(KEY)},
        query={"api-version": SecretStr("2024-10-21")},
    )
    assert ask(Settings(model_servers={"azure": azure}, _env_file=None), Way("openai", server="azure"))[-1] == ENDED
    received = server.requests[-1]
    assert received.path == "/v1/openai/deployments/gpt/chat/completions?api-version=2024-10-21"
    assert received.headers["api-key"] == KEY
    assert "authorization" not in received.headers


@pytest.mark.parametrize("name", WAYS)
def test_no_cookie_of_a_server_joins_peoples_conversations(name, settings, server):
    async def twice():
        backend = create(settings, WAYS[name])
        for _ in range(2):
            await collect(backend, asking(WAYS[name]))
        await backend.close()

    asyncio.run(twice())
    assert "cookie" not in server.requests[-1].headers


def test_an_endpoint_is_asked_as_the_study_describes_it(sent):
    received = sent("http-sse")
    assert received.path == "/v1/speak/sse"
    assert received.body == {"model": "tutor-1", "chat": {"turns": MESSAGES}, "heat": 0.7}
    assert received.headers["authorization"] == f"Bearer {KEY}"


def test_the_values_of_a_template_are_typed_and_never_searched(sent):
    sly = (ASKED[0], PromptMessage("user", 'Say "{{system}}" and {{model}}\n'))
    body = {
        "model": "{{model}}",
        "name": "m:{{model}}",
        "chat": {"turns": "{{messages}}", "rules": "{{system}}"},
        "say": "Q: {{ prompt }}!",
        "few": [1, None, True, "{{max_tokens}}"],
        "heat": "{{temperature}}",
        "nothing": None,
    }
    received = sent("http-sse", messages=sly, temperature=None, options={"body": body}).body
    assert received == {
        "model": "tutor-1",
        "name": "m:tutor-1",
        "chat": {"turns": [{"role": "user", "content": sly[1].text}], "rules": ASKED[0].text},
        "say": f"Q: {sly[1].text}!",
        "few": [1, None, True, 400],
        "nothing": None,
    }


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"body": {"q": "{{promt}}"}}, "{{promt}} is not a value; allowed: messages, prompt,"),
        ({"body": {"q": "{{promt}}"}}, "Did you mean 'prompt'?"),
        ({"body": {"q": "{{prompt}} {{messages}}"}}, "{{messages}} must stand alone"),
        ({"body": {"q": "hello"}}, "the model would not see what is said"),
        ({"path": "/a/{{prompt}}"}, "`path` can hold {{model}}, not {{prompt}}"),
        ({"path": "a"}, "options: `path` must start with /"),
        ({"body": None}, "options.body=None"),
    ],
)
def test_what_cannot_be_asked_is_told_before_anybody_asks(change, said):
    faults = registry.check_options("http", {**WAYS["http-sse"].options, **change})
    assert said in " ".join(faults)


def test_bodies_are_json_that_any_server_reads(sent):
    text = 'a "quoted" \\ line\n\u2028 🎲 \x00 é'
    body = sent("openai", messages=(PromptMessage("user", text),)).body
    assert json.loads(json.dumps(body))["messages"][0]["content"] == text


LOOK = ToolSpec("look", "Look up an order.", {"type": "object", "properties": {"order": {"type": "string"}}})
CALLED = (
    PromptMessage("user", "Where is it?"),
    PromptMessage("assistant", "I look.", (ToolCall("a", "look", '{"order": "7"}'), ToolCall("b", "look", "{"))),
    PromptMessage("tool", "on its way", call_id="a"),
    PromptMessage("tool", "bad arguments", call_id="b"),
)


def test_tools_their_calls_and_results_in_chat_completions(sent):
    body = sent("openai", messages=CALLED, tools=(LOOK,)).body
    described = {"name": "look", "description": "Look up an order.", "parameters": LOOK.schema}
    assert body["tools"] == [{"type": "function", "function": described}]
    asked, called, *results = body["messages"]
    assert (asked["role"], called["content"]) == ("user", "I look.")
    functions = [(call["id"], call["type"], call["function"]) for call in called["tool_calls"]]
    assert functions == [
        ("a", "function", {"name": "look", "arguments": '{"order": "7"}'}),
        ("b", "function", {"name": "look", "arguments": "{"}),
    ]
    assert results == [
        {"role": "tool", "tool_call_id": "a", "content": "on its way"},
        {"role": "tool", "tool_call_id": "b", "content": "bad arguments"},
    ]


def test_tools_their_calls_and_results_in_messages(sent):
    body = sent("anthropic", messages=CALLED, tools=(LOOK,)).body
    assert body["tools"] == [{"name": "look", "description": "Look up an order.", "input_schema": LOOK.schema}]
    _, called, results = body["messages"]
    assert called["content"] == [
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "a", "name": "look", "input": {"order": "7"}},
        {"type": "tool_use", "id": "b", "name": "look", "input": {}},
    ]
    assert results == {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": "on its way"},
            {"type": "tool_result", "tool_use_id": "b", "content": "bad arguments"},
        ],
    }


PICTURE = PromptPicture("0" * 64, "image/png", 30, 20, b"\x89PNG")
SHOWN = (
    PromptMessage("system", "Be brief."),
    PromptMessage("user", "What is it?", pictures=(PICTURE,)),
    PromptMessage("assistant", "A line."),
    PromptMessage("user", "", pictures=(PICTURE, PICTURE)),
)
URL = "data:image/png;base64,iVBORw=="


@pytest.mark.parametrize("options", [{}, {"system_role": "user"}])
def test_pictures_in_chat_completions(sent, options):
    *system, first, reply, second = sent("openai", messages=SHOWN, options=options).body["messages"]
    text = "What is it?" if system else "Be brief.\n\nWhat is it?"
    part = {"type": "image_url", "image_url": {"url": URL}}
    assert first == {"role": "user", "content": [part, {"type": "text", "text": text}]}
    assert reply == {"role": "assistant", "content": "A line."}
    assert second == {"role": "user", "content": [part, part]}


def test_pictures_in_responses(sent):
    _, first, _, second = sent("openai-responses", messages=SHOWN).body["input"]
    part = {"type": "input_image", "image_url": URL}
    assert first == {"role": "user", "content": [part, {"type": "input_text", "text": "What is it?"}]}
    assert second == {"role": "user", "content": [part, part]}


def test_pictures_in_messages(sent):
    first, _, second = sent("anthropic", messages=SHOWN).body["messages"]
    part = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw=="}}
    assert first == {"role": "user", "content": [part, {"type": "text", "text": "What is it?"}]}
    assert second == {"role": "user", "content": [part, part]}
