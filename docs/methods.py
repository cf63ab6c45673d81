"""The page of AI-alone methods, made from their docstrings."""

from __future__ import annotations

from app.ai_alone.methods import registry
from app.ai_alone.methods.registry import METHODS


def methods() -> str:
    text = (
        "The methods by which `parley ai-alone run` asks models a study's questions, with columns in "
        "ChatBench's `ai_alone_answers.csv`.\n"
    )
    for name in registry.names():
        steps, own = METHODS.find(name).steps, METHODS.find(name).own
        calls = f"Calls: {own}" + (f", and at most {steps - own} to the extractor" if steps > own else "")
        text += f"\n## {name}\n\n{registry.about(name)}\n\n{calls}.\n"
    return text
