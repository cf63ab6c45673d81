"""What a check of a study says beforehand of its models."""

from __future__ import annotations

from typing import Any

import pytest

from app.backends.registry import streaming_advice
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
