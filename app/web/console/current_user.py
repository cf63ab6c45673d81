"""Who is at the console."""

from __future__ import annotations

from dataclasses import dataclass, field

from storage.accounts.roles import Role

VISITOR = "parley.visitor"
"""Under which name the gate leaves in a request's scope who asks."""


@dataclass(frozen=True, slots=True)
class Visitor:
    """A researcher who is logged in."""

    name: str
    role: Role
    login: str = field(default="", repr=False, compare=False)
    """Which of their logins it is, for what ends all but this one; no token."""

    @property
    def owner(self) -> bool:
        """Whether they may change studies, manage people and see identities; analysts look, note and export."""
        return self.role == "owner"
