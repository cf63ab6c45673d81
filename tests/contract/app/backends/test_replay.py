"""Recorded conversations answer again: the same words for the same words, and nothing where nothing was recorded."""

import json
from hashlib import sha256

import pytest

from app.backends import registry
from app.backends.base import PromptMessage, StreamEnd
from app.config.settings import Settings
from app.errors import BackendRejected, SettingsError
from tests.fakes.asking import Way, ask, no_time, said

TALKS = (
    [("user", "Hi"), ("assistant", "Hello!"), ("user", "2+2?"), ("assistant", "4."), ("user", "Thanks")],
    [("system", "Be rude."), ("user", "Hi"), ("assistant", "What?"), ("user", "2+2?"), ("assistant", "Five.")],
    [("user", "Hi"), ("user", "Anybody?"), ("assistant", "Yes?")],
)


def messages(*texts):
    roles = ("user", "assistant")
    return tuple(PromptMessage(roles[n % 2], text) for n, text in enumerate(texts))


@pytest.fixture
def settings(tmp_path):
    lines = [json.dumps({"messages": [{"role": r, "content": t} for r, t in talk]}) for talk in TALKS]
    (tmp_path / "talks.jsonl").write_text("\n".join(lines) + "\n\n", encoding="utf-8")
    return Settings(replay_dir=tmp_path, _env_file=None)


def replay(settings, *texts, **options):
    way = Way("replay", {"conversations": "talks.jsonl", **options})
    return ask(settings, way, messages=messages(*texts))


def test_the_same_words_get_the_same_reply(settings):
    assert said(replay(settings, "Hi")) == "Hello!"
    assert said(replay(settings, " Hi\n", "Hello!", "2+2?")) == "4."


def test_where_people_said_the_same_the_replies_so_far_decide(settings):
    assert said(replay(settings, "Hi", "What?", "2+2?")) == "Five."


@pytest.mark.parametrize(
    ("texts", "options", "told"),
    [
        (("Bye",), {}, "nobody has said this"),
        (("Hi", "Hello!", "2+2?", "4.", "Thanks"), {}, "nobody has said this, or got no reply: 'Thanks'"),
        (("a", "b", "c", "d", "e"), {"match": "position"}, "conversation 0 has no reply at this point"),
        (("Hi",), {"match": "position", "conversation": 7}, "conversation 7 has no reply"),
    ],
)
def test_nothing_is_invented_where_nothing_was_recorded(settings, texts, options, told):
    with pytest.raises(BackendRejected, match=told) as refused:
        replay(settings, *texts, **options)
    assert refused.value.reason == "no_recording"


def test_the_files_hash_is_the_version_and_can_be_pinned(settings, tmp_path):
    found = sha256((tmp_path / "talks.jsonl").read_bytes()).hexdigest()
    assert replay(settings, "Hi", sha256=found)[-1] == StreamEnd("stop", f"talks.jsonl@{found[:12]}")
    with pytest.raises(BackendRejected, match=f"its sha256 is {found}"):
        replay(settings, "Hi", sha256="0" * 64)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "cannot be read: No such file"),
        (b"{broken", "is neither a JSON list nor JSON Lines"),
        (b"\xff\xfe", "has no conversation"),
        (b'{"messages": []}\n"\xe9"', "line 2, column 2: the byte 0xe9"),
        (b'{"messages": "["}', "conversation 1: its messages are not JSON"),
        (b'{"talk": []}', "conversation 1 has neither `messages` nor `chat_history`"),
        (
            b'{"messages": []}\n{"messages": [{"role": "robot", "content": "x"}]}',
            "conversation 2: .*robot.* is not a message",
        ),
    ],
)
def test_a_file_that_cannot_be_used_is_told_at_the_start(tmp_path, content, told):
    if content is not None:
        (tmp_path / "talks.jsonl").write_bytes(content)
    backend = registry.create("replay", Settings(replay_dir=tmp_path, _env_file=None), no_time)
    with pytest.raises(SettingsError, match=told):
        backend.prepare({"conversations": "talks.jsonl"})


def test_no_file_outside_the_folder_is_read(settings):
    for name in ("../secret.jsonl", "/etc/passwd"):
        with pytest.raises(BackendRejected, match="is outside PARLEY_REPLAY_DIR"):
            replay(settings, "Hi", conversations=name)
