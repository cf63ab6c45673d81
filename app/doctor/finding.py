"""What a check gives, and what it is given."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from app.config.settings import Settings
from experiments.study.study import Study


class Level(StrEnum):
    """How bad a finding is: with an error something fails; with a warning it may, or data may be worse."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What a check has found, in one sentence, and what to do about it; neither has a secret."""

    level: Level
    what: str
    to_do: str = ""


@dataclass(frozen=True, slots=True)
class Deployment:
    """What is looked at: settings that are valid, which know the saved servers, and the studies to be served."""

    settings: Settings
    studies: tuple[Study, ...] = ()


def ok(what: str) -> Diagnosis:
    """Nothing is wrong."""
    return Diagnosis(Level.OK, what)


def warning(what: str, to_do: str = "") -> Diagnosis:
    """Something may go wrong."""
    return Diagnosis(Level.WARNING, what, to_do)


def error(what: str, to_do: str = "") -> Diagnosis:
    """Something fails."""
    return Diagnosis(Level.ERROR, what, to_do)
