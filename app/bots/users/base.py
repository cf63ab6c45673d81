"""Interface of a kind of simulated user: made for a session, it looks at a screen and returns its action.

    @user("cautious", model=True)
    class Cautious:
        def __init__(self, seed: str) -> None: ...
        async def act(self, screen: Screen, ask: Ask) -> Deed: ...
        def seconds(self, screen: Screen, values: Mapping[str, Any]) -> float: ...

It knows the screen alone, so a session that was interrupted goes on from its facts. What it says comes from its model:
`ask` asks it, and gives what `read` made of the reply. Nothing is invented in place of a reply that cannot be read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from experiments.study.screen import Screen

T = TypeVar("T")


class UnusableReply(ValueError):
    """A reply of a user's model cannot be used; the text tells the model the wanted form."""


@dataclass(frozen=True, slots=True)
class UserAction:
    """An action that the screen offers. What is done `by_chance` was not said by a model: there the simulator gives the
    right answers that a person with the session's tendencies would find."""

    kind: str
    values: Mapping[str, Any] = field(default_factory=dict)
    by_chance: bool = False


class Ask(Protocol):
    """Asks the user's model, and once more if its reply cannot be read; raises UserFailed if that cannot be either."""

    async def __call__(self, messages: Sequence[Mapping[str, str]], read: Callable[[str], T]) -> T:
        """Return the result of `read` for the reply; it raises UnusableReply."""
        ...


class User(Protocol):
    async def act(self, screen: Screen, ask: Ask) -> UserAction: ...

    def seconds(self, screen: Screen, values: Mapping[str, Any]) -> float: ...


class UserFactory(Protocol):
    def __call__(self, seed: str) -> User:
        """`seed` is the session's label, and after the last colon the event from which it goes on."""
        ...
