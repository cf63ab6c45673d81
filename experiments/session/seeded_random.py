"""Seeded random draws: each is a pure function of a seed and a label.

They use SHA-256 of "seed:label" and no generator with a state, so that each draw can be recomputed alone, in any
programming language, and draws with different labels are independent. Results are recorded as events, so no draw of a
session is made twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from uuid import UUID


def uniform(seed: str, label: str) -> float:
    """A number in [0, 1), uniform over seeds; 53 bits."""
    return (int.from_bytes(sha256(f"{seed}:{label}".encode()).digest()[:8], "big") >> 11) / 2**53


def shuffled(items: Sequence[str], seed: str, label: str) -> tuple[str, ...]:
    """The items in a random order that does not depend on their order in `items`."""
    return tuple(sorted(items, key=lambda item: sha256(f"{seed}:{label}:{item}".encode()).digest()))


def pick(weights: Mapping[str, float], seed: str, label: str) -> str:
    """One of the keys, with probability proportional to its weight. At least one weight must be positive."""
    threshold = uniform(seed, label) * sum(weights.values())
    below = 0.0
    last = ""
    for item, weight in weights.items():
        if weight <= 0:
            continue
        below += weight
        last = item
        if threshold < below:
            break
    return last


def spread(supply: Mapping[str, Sequence[str]], take: int) -> dict[str, int]:
    """The number to take of each stratum so that counts are as even as the supply allows; earlier strata first."""
    counts = dict.fromkeys(supply, 0)
    while sum(counts.values()) < take:
        open_strata = [name for name in supply if counts[name] < len(supply[name])]
        if not open_strata:
            break
        counts[min(open_strata, key=lambda name: counts[name])] += 1
    return counts


ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"


@lru_cache(maxsize=5_000)
def public_id(seed: str, label: str, length: int = 10) -> str:
    """Letters and digits, from which the seed cannot be derived; cached, because every row contains it."""
    number = int.from_bytes(sha256(f"{seed}:{label}".encode()).digest(), "big")
    letters = []
    for _ in range(length):
        number, index = divmod(number, len(ALPHABET))
        letters.append(ALPHABET[index])
    return "".join(letters)


def public_uuid(seed: str, label: str) -> str:
    """An identifier in the form of a UUID (version 4), from which seed and label cannot be derived."""
    return str(UUID(bytes=sha256(f"{seed}:{label}".encode()).digest()[:16], version=4))


def public_number(seed: str, label: str, digits: int) -> str:
    """A number from which seed and label cannot be derived; no leading 0, so that parsing it keeps all digits."""
    number = int.from_bytes(sha256(f"{seed}:{label}".encode()).digest(), "big")
    first = 10 ** (digits - 1)
    return str(first + number % (9 * first))
