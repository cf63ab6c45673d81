"""False-alarm rates of a study's indicators of integrity: the share of sessions at the threshold that should not be.

Pilot sessions, in which the researchers know who took part, and simulated ones are held to the same thresholds.
Below `FEWEST_SESSIONS` with a figure the rate is unknown: of 20 sessions without any alarm the interval still reaches
to about 17 %. Intervals are those of `intervals.share_of`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from app.extensions.analysis.intervals import Interval, codes, share_of
from experiments.views.integrity import Thresholds
from storage.datasets.integrity import SessionEvidence, session_evidence, thresholds_in_force
from storage.db.engine import Database
from storage.errors import StorageError
from storage.registers.origins import SIMULATED, Origin

# Sessions with a figure, below which a rate of false alarms is unknown.
FEWEST_SESSIONS = 20


PILOTS, SIMULATED_USERS = "pilots", "simulated"
# By whose sessions an indicator's rate of false alarms is known: their origins.
REFERENCES = {PILOTS: (Origin.PILOT,), SIMULATED_USERS: SIMULATED}


@dataclass(frozen=True, slots=True)
class FlagRate:
    """The number of sessions with a figure for an indicator, and of those at its threshold."""

    flagged: int
    known: int
    share: Interval | None
    """None below FEWEST_SESSIONS."""


@dataclass(frozen=True, slots=True)
class IntegrityFindings:
    """The evidence of the sessions of an origin by number, oldest first, and how often each indicator flags."""

    thresholds: Thresholds
    sessions: Mapping[int, SessionEvidence]
    here: Mapping[str, FlagRate]
    """By indicator, over `sessions`."""
    false_alarms: Mapping[str, Mapping[str, FlagRate]]
    """By REFERENCES and indicator."""


def integrity_findings(database: Database, study: str, origin: str) -> IntegrityFindings:
    """The evidence, with false alarms of pilot and simulated sessions; raises StorageError for imported sessions."""
    if origin == Origin.IMPORT:
        raise StorageError(f"{study!r} was imported, and a release does not have what participants' pages reported")
    thresholds = thresholds_in_force(database, study)
    found = session_evidence(database, study, (origin,), thresholds)
    alarms = {
        whose: _flag_rates(session_evidence(database, study, origins, thresholds))
        for whose, origins in REFERENCES.items()
    }
    return IntegrityFindings(thresholds, found, _flag_rates(found), alarms)


def _flag_rates(evidence: Mapping[int, SessionEvidence]) -> dict[str, FlagRate]:
    return flag_rates(one.flags for one in evidence.values())


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
