"""A model that replies, as a study file describes it: how to reach it, how to ask it, and what it costs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Discriminator, Field, Tag

from experiments.study.base_model import Config, Slug, Values


class Price(Config):
    """What a model costs, in the study's currency for a million tokens."""

    prompt: Annotated[float, Field(ge=0)]
    """What it reads."""
    completion: Annotated[float, Field(ge=0)]
    """What it writes."""

    def of(self, prompt_tokens: float, completion_tokens: float) -> float:
        """What so many tokens cost."""
        return (self.prompt * prompt_tokens + self.completion * completion_tokens) / 1e6


class PickText(Config):
    """A text for each value of a factor, or of a loop's variable."""

    by: Slug
    """The factor or the variable."""
    pick: dict[str, str]
    """Its values, each with the text."""


Texts = Annotated[
    Annotated[str, Tag("str")] | Annotated[PickText, Tag("PickText")],
    Discriminator(lambda value: "PickText" if isinstance(value, Mapping | PickText) else "str"),
]
"""One text for all, or one for each value. A union with tags, so that a fault in the one is not told of the other."""


class Model(Config):
    """A model that replies. Where its server is and its key are settings, not part of the study."""

    backend: str
    """How to reach it: scripted, replay, openai, anthropic, http, or one that a package adds."""
    server: Slug | None = None
    """Which of the deployment's servers; the backend's own unless given."""
    model: str = ""
    """The name under which its server knows it; the name in the study unless given."""
    system: Texts = "You are a helpful AI assistant."
    """The system prompt, in which `{{names}}` are filled; empty for none. One for all, or one for each value of a
    factor: `{by: tone, pick: {warm: ..., cold: ...}}`. (The default is ChatBench's.)"""
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    """Sampling temperature; the server's own unless given."""
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    """The longest reply, in tokens."""
    fallback: tuple[str, ...] = ()
    """The study's models that reply in its place where it cannot, in this order; the log says who did."""
    price: Price | None = None
    """What its tokens cost; without it costs are unknown."""
    options: Values = {}
    """What only this backend knows."""
