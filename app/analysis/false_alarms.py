"""How often indicators of integrity are wrong in a study: the share of sessions at the threshold that should not be.

Pilot sessions, in which the researchers know who took part, and simulated ones are held against the same thresholds.
Below `FEWEST_SESSIONS` with a figure the rate is unknown: of 20 sessions without any alarm the interval still reaches
to about 17 %. Intervals are those of `intervals.share_of`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from app.analysis.intervals import Interval, codes, share_of

FEWEST_SESSIONS = 20
"""Sessions with a figure, below which a rate of false alarms is unknown."""


@dataclass(frozen=True, slots=True)
class FlagRate:
    """How many of the sessions for which an indicator has a figure are at its threshold."""

    flagged: int
    known: int
    share: Interval | None
    """None below FEWEST_SESSIONS."""


def flag_rates(found: Iterable[Mapping[str, bool | None]]) -> dict[str, FlagRate]:
    """The rate of each indicator over sessions; those for which it has no figure do not count."""
    by_name: dict[str, list[bool]] = {}
    for one in found:
        for name, flag in one.items():
            by_name.setdefault(name, []).extend([] if flag is None else [flag])
    return {name: _rate(flags) for name, flags in by_name.items()}


def _rate(flags: list[bool]) -> FlagRate:
    share = share_of(np.asarray(flags, dtype=np.float64), codes(range(len(flags)))) if flags else None
    return FlagRate(sum(flags), len(flags), share if len(flags) >= FEWEST_SESSIONS else None)
