"""Errors of this room.

ParleyError
└── StorageError   the operator: the database cannot be read or written; nothing was half written
    ├── Conflict   nobody: another writer was first with the next fact; read again and decide again
    └── BadFile    the analyst: a file is not what its schema says; nothing of it was imported
"""

from __future__ import annotations

from problems.errors import ParleyError


class StorageError(ParleyError):
    """The database cannot do what was asked; what was not acknowledged was not written."""


class Conflict(StorageError):
    """The next number of a stream is taken: somebody else was first."""


class BadFile(StorageError):
    """A file is not what its schema says."""
