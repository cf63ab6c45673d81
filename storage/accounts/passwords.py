"""Passwords: long and hard to guess, without rules about their characters, and kept as argon2id alone."""

from __future__ import annotations

import base64
import secrets
import threading
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from storage.errors import AccountError, StorageError, TooMany

if TYPE_CHECKING:  # a server of participants hashes no password
    from argon2 import PasswordHasher

LEAST_CHARS = 15
MOST_CHARS = 1_000
# zxcvbn's score from 0 to 4; 3 is more than 10^8 guesses.
LEAST_SCORE = 3
# Characters that zxcvbn looks at: the time that it takes grows with their square, and more.
MOST_JUDGED = 72
# Each takes 64 MiB and four threads for a quarter of a second.
AT_ONCE = 2
PATIENCE_S = 20.0
# zxcvbn keeps what it is told about a person in a variable of its module.
_JUDGING = threading.Lock()


class Passwords:
    """Makes and checks hashes of passwords, `AT_ONCE` at most."""

    def __init__(self, hasher: PasswordHasher | None = None) -> None:
        self._given = hasher
        self._few = threading.BoundedSemaphore(AT_ONCE)

    @cached_property
    def _hasher(self) -> PasswordHasher:
        from argon2 import PasswordHasher

        return self._given or PasswordHasher()

    def kept(self, password: str) -> str:
        with self._turn():
            return self._hasher.hash(_bytes(password))

    def fits(self, kept: str | None, password: str) -> bool:
        """True for the stored password; where none is stored, it takes as long to return False."""
        from argon2.exceptions import InvalidHashError, VerificationError, VerifyMismatchError

        if len(password) > MOST_CHARS:
            return False
        with self._turn():
            try:
                return self._hasher.verify(kept or self._nobodys(), _bytes(password)) and kept is not None
            except VerifyMismatchError:
                return False
            except (InvalidHashError, VerificationError) as error:
                raise StorageError(f"a stored password cannot be read ({error}). Set it again") from error

    def anew(self, kept: str, password: str) -> str:
        """The hash to store: the same, unless the parameters have changed."""
        return self.kept(password) if self._hasher.check_needs_rehash(kept) else kept

    @contextmanager
    def _turn(self) -> Iterator[None]:
        if not self._few.acquire(timeout=PATIENCE_S):
            raise TooMany("Too many logins at the moment. Please try again in a minute.", 60)
        try:
            yield
        finally:
            self._few.release()

    def _nobodys(self) -> str:
        """Something to check against that no password fits, under the same parameters."""
        h = self._hasher
        salt, hashed = (
            base64.b64encode(secrets.token_bytes(size)).decode().rstrip("=") for size in (h.salt_len, h.hash_len)
        )
        return f"$argon2id$v=19$m={h.memory_cost},t={h.time_cost},p={h.parallelism}${salt}${hashed}"


def refuse_weak(password: str, name: str) -> None:
    """Raise AccountError for a password that is too short, too long, or easily guessed by who knows the name."""
    password = _same(password)
    if len(password) < LEAST_CHARS:
        raise AccountError(
            f"This password has {len(password)} characters; {LEAST_CHARS} or more are needed. Several "
            "unrelated words are easy to remember and hard to guess."
        )
    if len(password) > MOST_CHARS:
        raise AccountError(f"This password has {len(password):,} characters; at most {MOST_CHARS:,} are allowed.")
    from zxcvbn import zxcvbn  # type: ignore[import-untyped]  # 12 MB of words, which a server of participants spares

    with _JUDGING:
        found = zxcvbn(password[:MOST_JUDGED], user_inputs=[name, "parley", *name.replace("@", ".").split(".")])
    if found["score"] < LEAST_SCORE:
        why = found["feedback"]["warning"] or "It consists of parts that are commonly guessed."
        hints = " ".join(found["feedback"]["suggestions"])
        raise AccountError(f"This password is easy to guess. {why.rstrip('.')}. {hints}".rstrip())


def _same(password: str) -> str:
    """One spelling for what looks the same, so that it is the same password on every keyboard."""
    return unicodedata.normalize("NFKC", password)


def _bytes(password: str) -> bytes:
    return _same(password).encode(errors="surrogatepass")
