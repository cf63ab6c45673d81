"""The clock of this machine, compared with other clocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime

from app.doctor.finding import Diagnosis, error, ok, warning

WARN_S = 30
WRONG_S = 300
"""Five minutes is what Kerberos (RFC 4120) and Standard Webhooks tolerate."""
SYNCHRONISE = "Let the machine keep its time by NTP: `timedatectl set-ntp true`."


def check_clock(now_us: int, others: Mapping[str, int], last_us: int = 0) -> Iterator[Diagnosis]:
    """Compare the time with that of other clocks, by their names, and with the last activity in the database.

    All in microseconds UTC since 1970, read at about the same moment; a clock in an HTTP header counts whole seconds.
    """
    local = datetime.fromtimestamp(now_us / 1e6).astimezone()
    yield ok(f"The time is {local:%Y-%m-%d %H:%M:%S} in the zone {local:%Z} (UTC{local:%z}); Parley stores UTC.")
    for name, their_us in others.items():
        yield _compared(name, (now_us - their_us) / 1e6)
    if last_us > now_us + WARN_S * 1_000_000:
        yield error(
            f"The newest activity in the database is {_length((last_us - now_us) / 1e6)} ahead of this machine's "
            "clock, so the clock was or is wrong.",
            f"{SYNCHRONISE} If the clock is right now, times go on from the wrong one until it has caught up.",
        )


def _compared(name: str, ahead_s: float) -> Diagnosis:
    if abs(ahead_s) < WARN_S:
        return ok(f"The clock agrees with that of {name}.")
    level = error if abs(ahead_s) >= WRONG_S else warning
    side = "ahead of" if ahead_s > 0 else "behind"
    return level(
        f"The clock is {_length(abs(ahead_s))} {side} that of {name}: times in the data are wrong, and signed links "
        "and certificates may be refused.",
        SYNCHRONISE,
    )


def _length(seconds: float) -> str:
    for unit, size in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} seconds"
