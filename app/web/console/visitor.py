"""Who is at the console: put into each request by the gate, and by nothing that a browser sends."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from starlette.types import Scope

KEY = "parley.visitor"


@dataclass(frozen=True, slots=True)
class Visitor:
    """A researcher who is logged in."""

    name: str
    role: Literal["owner", "analyst"]
    login: str = field(default="", repr=False, compare=False)
    """Which of their logins it is, for what ends all but this one; no token."""

    @property
    def owner(self) -> bool:
        """Whether they may do everything."""
        return self.role == "owner"


def visitor_of(scope: Scope) -> Visitor:
    """Who makes a request that has passed the gate."""
    found = scope[KEY]
    assert isinstance(found, Visitor)  # noqa: S101  (nothing else is ever put there)
    return found
