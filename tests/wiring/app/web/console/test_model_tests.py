"""A test of models in the console: the page reads the replies while they come, its own account's alone."""

from __future__ import annotations

import asyncio
from pathlib import Path

import orjson
import pytest

from app.backends.model_ref import parse_model_ref
from app.web.console.current_user import CurrentUser
from app.web.console.model_tests import ModelTests
from experiments.study.sections.model_spec import ModelSpec
from tests.fakes.served import settings_for

pytestmark = [pytest.mark.anyio, pytest.mark.nightly]
ADA = CurrentUser("Ada", "owner")


async def test_the_texts_grow_until_the_results_are_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.web.console.model_tests.POLL_S", 0.01)
    ref = parse_model_ref(None, "scripted:slow")
    slow = type(ref)("slow", ModelSpec(backend="scripted", options={"first_ms": 100, "pace_ms": 100}))
    tests = ModelTests()
    running = asyncio.create_task(asyncio.to_thread(tests.run, ADA, [slow], settings_for(tmp_path)))
    lines = [orjson.loads(line) async for line in tests.lines("Ada")]
    (attempt,) = await running
    assert attempt.result.error is None
    texts = [line["slow"] for line in lines]
    assert len(set(texts)) > 2
    assert all(attempt.result.text.startswith(text) for text in texts)


async def test_another_account_reads_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.web.console.model_tests.BEGIN_S", 0.05)
    tests = ModelTests()
    ref = parse_model_ref(None, "scripted:model")
    running = asyncio.create_task(asyncio.to_thread(tests.run, ADA, [ref], settings_for(tmp_path)))
    assert [line async for line in tests.lines("Bob")] == []
    await running
