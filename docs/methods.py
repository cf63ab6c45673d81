"""The page of methods: each way to ask a model alone, as its own docstring says it."""

from __future__ import annotations

from app.ai_alone.methods import registry
from app.ai_alone.methods.registry import METHODS


def methods() -> str:
    """Every way to ask a model alone that comes with Parley."""
    text = (
        "The ways in which `parley ai-alone run` asks models a study's questions. The first three have columns in "
        "ChatBench's `ai_alone_answers.csv`; how all of them did, `parley ai-alone status` tells.\n"
    )
    for name in registry.names():
        steps, own = METHODS.find(name).steps, METHODS.find(name).own
        calls = f"Calls: {own}" + (f", and at most {steps - own} to the extractor" if steps > own else "")
        text += f"\n## {name}\n\n{registry.about(name)}\n\n{calls}.\n"
    return text
