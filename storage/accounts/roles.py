"""The names of accounts, and the roles."""

from __future__ import annotations

import re
from typing import Literal, get_args

from experiments.errors import suggestion
from storage.errors import AccountError

Role = Literal["owner", "analyst"]
ROLES: tuple[Role, ...] = get_args(Role)
# The actor of commands. No account can have this name, as names have no blanks.
TERMINAL = "command line"
FIRST = "first start"
STRANGER = "not logged in"
NAME = re.compile(r"[a-z0-9][a-z0-9._@+-]{0,59}")


def role_label(name: str) -> str:
    """A name in its stored form, without capitals."""
    return name.strip().lower()


def name_for(name: str) -> str:
    """The name of a new account in its stored form; raises AccountError where none can be called so."""
    if not NAME.fullmatch(role_label(name)):
        raise AccountError(
            f"{name!r} cannot be an account name: use 1 to 60 of the letters a to z, digits and . _ - + @, and start "
            "with a letter or a digit. An e-mail address is fine."
        )
    return role_label(name)


def role_for(role: str) -> Role:
    for known in ROLES:
        if role == known:
            return known
    raise AccountError(f"{role!r} is not a role{suggestion(role, ROLES)}")
