"""The logged-in user of the console."""

from __future__ import annotations

from dataclasses import dataclass, field

from storage.accounts.roles import Role

# The key in a request's scope under which the gate stores the user.
VISITOR = "parley.visitor"


@dataclass(frozen=True, slots=True)
class CurrentUser:
    name: str
    role: Role
    login: str = field(default="", repr=False, compare=False)
    """Identifies this login among the user's logins, so that all others can be ended. It is not the token."""

    @property
    def owner(self) -> bool:
        """Owners may change studies, manage accounts and see recruiter IDs."""
        return self.role == "owner"
