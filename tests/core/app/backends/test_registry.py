"""What a check of a study says beforehand of its models."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic import SecretStr

from app.backends.registry import streaming_advice, untested
from app.config.settings import Settings
from experiments.study.sections.model_spec import ModelSpec


@pytest.mark.parametrize(("backend", "model", "options", "says"), [
    ("openai", "gpt-4o", {}, False), ("openai", "deepseek-r1", {}, True),
    ("openai", "deepseek-r1", {"reasoning_until": ""}, False),
    ("openai", "mine", {"reasoning_until": "</think>"}, True),
    ("http", "mine", {"stream": "none"}, True), ("http", "mine", {"stream": "sse"}, False), ("http", "mine", {}, True),
    ("anthropic", "claude", {}, False), ("scripted", "any", {}, False),
])  # fmt: skip
def test_models_whose_replies_are_not_streamed_are_named(
    backend: str, model: str, options: dict[str, Any], says: bool
) -> None:
    found = streaming_advice({"one": ModelSpec(backend=backend, model=model, options=options)})
    assert [line.startswith("models.one: ") for line in found] == [True] * says


@pytest.mark.parametrize(("url", "backend", "options", "unknown"), [
    ("http://127.0.0.1:9/v1", "openai", {}, True), ("http://127.0.0.1:9/v1", "openai", {"reasoning_until": ""}, False),
    (None, "openai", {}, False), ("http://127.0.0.1:9/v1", "scripted", {}, False),
])  # fmt: skip
def test_models_of_servers_that_nobody_tested_are_named(
    url: str | None, backend: str, options: dict[str, Any], unknown: bool
) -> None:
    settings = Settings(openai_base_url=url, openai_api_key=SecretStr("sk-test"))
    found = asyncio.run(untested({"one": ModelSpec(backend=backend, model="mine", options=options)}, settings))
    assert found == ["one"] * unknown
