"""What a backend is asked to read: the bytes of one reply."""

from collections.abc import Iterator
from typing import Protocol

from app.backends.base import Delta


class Decoder(Protocol):
    """What reads the bytes of one reply; pure."""

    def feed(self, chunk: bytes) -> Iterator[Delta]:
        """Take the next bytes, give the deltas that they complete; nothing is fed after the `End`."""
        ...

    def end(self) -> Iterator[Delta]:
        """Give what is left once the body is over, the `End` last; raise a BackendError if it was cut off."""
        ...
