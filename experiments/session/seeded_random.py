"""Seeded chance: every draw is a pure function of a seed and a label.

SHA-256 of "seed:label" is used rather than a generator with a state, so that a draw can be re-derived by itself, in any
language, whatever else was drawn before; two draws of different labels are independent. Outcomes are recorded as facts,
so nothing here runs twice in the life of a session.
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
    """The items in a random order that does not depend on the order in which they were listed."""
    return tuple(sorted(items, key=lambda item: sha256(f"{seed}:{label}:{item}".encode()).digest()))


def pick(weights: Mapping[str, float], seed: str, label: str) -> str:
    """One of the keys, with probability in proportion to its weight (at least one weight is positive)."""
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
    """How many to take of each stratum so that the counts are as even as the supply allows; earlier strata first."""
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
    """An identifier of letters and digits by which a session is known in exports; the seed cannot be told from it.

    Kept, as each of a session's rows has it."""
    number = int.from_bytes(sha256(f"{seed}:{label}".encode()).digest(), "big")
    letters = []
    for _ in range(length):
        number, index = divmod(number, len(ALPHABET))
        letters.append(ALPHABET[index])
    return "".join(letters)


def public_uuid(seed: str, label: str) -> str:
    """A name made of seed and label that tells neither, in the form of a random UUID (version 4)."""
    return str(UUID(bytes=sha256(f"{seed}:{label}".encode()).digest()[:16], version=4))


def public_number(seed: str, label: str, digits: int) -> str:
    """A number made of seed and label that tells neither, of so many digits; the first is not 0, so that programs that
    read numbers keep them all."""
    number = int.from_bytes(sha256(f"{seed}:{label}".encode()).digest(), "big")
    first = 10 ** (digits - 1)
    return str(first + number % (9 * first))
