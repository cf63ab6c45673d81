"""The command line: `parley`, its commands, and how errors look.

One of the three edges where everything is caught: an error of ours is a message, not a traceback.
"""

from __future__ import annotations

from app.cli import (
    attempts,
    blinding,
    console,
    data,
    money,
    pay,
    people,
    places,
    remarking,
    running,
    simulating,
    simulators,
    times,
    translating,
    users,
    versions,
    walking,
)
from app.cli.common import app, err
from problems.errors import ParleyError

__all__ = [
    "app",
    "attempts",
    "blinding",
    "console",
    "data",
    "main",
    "money",
    "pay",
    "people",
    "places",
    "remarking",
    "running",
    "simulating",
    "simulators",
    "times",
    "translating",
    "users",
    "versions",
    "walking",
]


def main() -> None:
    """Run a command; an error of ours is told in words and exits with 2."""
    try:
        app()
    except ParleyError as error:
        err.print(str(error), style="red", markup=False, highlight=False)
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        err.print("Stopped. What was finished is saved.")
        raise SystemExit(130) from None
