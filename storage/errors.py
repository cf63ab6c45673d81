"""Errors of this room.

ParleyError
├── StorageError        the operator: the database cannot be read or written; nothing was half written
│   ├── Unwritable      the operator: nothing can be written at the moment, as the disk is full or the database away
│   ├── Conflict        nobody: another writer was first with the next fact; read again and decide again
│   └── BadFile         the analyst: a file is not what its schema says; nothing of it was imported
└── AccountError        the researcher: an account cannot be made or changed like that
    └── LoginRefused    who wants to come in: the name and the password do not go together
        └── TooMany     who wants to come in: too many tries; again after `wait_s`
"""

from __future__ import annotations

from problems.errors import ParleyError


class StorageError(ParleyError):
    """The database cannot do it; nothing that was not acknowledged was written."""


class Unwritable(StorageError):
    """Nothing can be written at the moment."""


class Conflict(StorageError):
    """The next number of a stream is taken: another writer was first."""


class BadFile(StorageError):
    """A file is not what its schema says."""


class AccountError(ParleyError):
    """An account of the console cannot be made or changed like that; it is as it was."""


class LoginRefused(AccountError):
    """A name and a password that do not go together; the message does not say which of the two is wrong."""


class TooMany(LoginRefused):
    def __init__(self, message: str, wait_s: int) -> None:
        super().__init__(message)
        self.wait_s = wait_s
        """Seconds after which another try is taken."""


def cause(error: Exception) -> str:
    """The message of a database or its driver, without its further lines: PostgreSQL quotes whole rows there."""
    return str(getattr(error, "orig", None) or error).partition("\n")[0]
