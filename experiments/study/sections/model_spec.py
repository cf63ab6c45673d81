"""A model that replies, as a study file describes it: its backend, its prompt and options, and its price."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import Discriminator, Field, Tag

from experiments.errors import suggestion
from experiments.study.base_model import Slug, StrictModel, Values


class Price(StrictModel):
    """The price of a model, in the study's currency per million tokens."""

    prompt: Annotated[float, Field(ge=0)]
    """The price of prompt tokens."""
    completion: Annotated[float, Field(ge=0)]
    """The price of completion tokens."""

    def of(self, prompt_tokens: float, completion_tokens: float) -> float:
        return (self.prompt * prompt_tokens + self.completion * completion_tokens) / 1e6


T = TypeVar("T", covariant=True)
# The values of names.
Levels = Mapping[str, Sequence[str]]


class PickByFactor(StrictModel, Generic[T]):
    """A value for each value of a factor or of a loop's variable."""

    by: Slug
    """The factor or the variable."""
    pick: dict[str, T]
    """Its values, each with what holds."""


def pick_faults(by_factor: PickByFactor[Any], levels: Levels) -> Iterator[str]:
    """Yield the faults of one where these names have these values."""
    by, values = by_factor.by, levels.get(by_factor.by, ())
    if not values:
        yield f"no factor or loop is called {by!r}{suggestion(by, list(filter(levels.get, levels)))}"
        return
    yield from (f"has nothing for {by} = {value!r}" for value in values if value not in by_factor.pick)
    strays = (value for value in by_factor.pick if value not in values)
    yield from (f"{value!r} is not a value of {by}{suggestion(value, values)}" for value in strays)


class PromptByFactor(PickByFactor[str]):
    """A text for each value of a factor or of a loop's variable."""


# The form of a key: one for all, or one for each value. Tags, so that an error in one is not reported for the other.
ONE_OR_EACH = Discriminator(lambda value: "each" if isinstance(value, Mapping | PickByFactor) else "one")
Texts = Annotated[Annotated[str, Tag("one")] | Annotated[PromptByFactor, Tag("each")], ONE_OR_EACH]


class ModelSpec(StrictModel):
    """A model that replies. The address and the key of its server are settings, not part of the study."""

    backend: str
    """The way to reach the model: scripted, llama, openai, anthropic, http, or a backend that a package adds."""
    server: Slug | None = None
    """One of the deployment's servers. The backend's own by default."""
    model: str = ""
    """The name of the model on its server. The name in the study by default."""
    system: Texts = "You are a helpful AI assistant."
    """The system prompt, in which `{{names}}` are filled in; empty for none. Or one for each value of a factor:
    `{by: tone, pick: {warm: ..., cold: ...}}`. (The default is ChatBench's.)"""
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    """The sampling temperature. The server's own by default."""
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    """The maximum length of a reply, in tokens."""
    sees: tuple[Literal["image"], ...] | None = None
    """The media that the model is sent beside text: `[image]` for one that sees pictures. (`scripted` always does.)"""
    fallback: tuple[str, ...] = ()
    """The study's models that reply in its place when it fails, in this order. The log records which one replied."""
    price: Price | None = None
    """The price of its tokens. Without it costs are unknown."""
    options: Values = {}
    """Options that only this backend has."""
