"""Who is at the console."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Role = Literal["owner", "analyst"]


@dataclass(frozen=True, slots=True)
class Visitor:
    """A researcher who is logged in."""

    name: str
    role: Role

    @property
    def owner(self) -> bool:
        """Whether they may change studies, manage people and see identities; analysts look, note and export."""
        return self.role == "owner"
