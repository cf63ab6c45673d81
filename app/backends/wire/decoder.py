"""What reads the bytes of one reply, and how what came together is passed on together."""

from collections.abc import Iterator
from typing import Protocol

from app.backends.base import Delta, Text
from app.errors import BackendError


class Decoder(Protocol):
    """What reads the bytes of one reply; pure."""

    def feed(self, chunk: bytes) -> Iterator[Delta]:
        """Take the next bytes, give the deltas that they complete; nothing is fed after the `End`."""
        ...

    def end(self) -> Iterator[Delta]:
        """Give what is left once the body is over, the `End` last; raise a BackendError if it was cut off."""
        ...


def gathered(deltas: Iterator[Delta]) -> Iterator[Delta]:
    """Words that came together as one piece, also those that came before an error."""
    words: list[str] = []
    try:
        for delta in deltas:
            if isinstance(delta, Text):
                words.append(delta.text)
                continue
            if words:
                yield Text("".join(words))
                words = []
            yield delta
    except BackendError:
        if words:
            yield Text("".join(words))
        raise
    if words:
        yield Text("".join(words))
