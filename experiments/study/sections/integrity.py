"""Checks of whether a model took part, which a study may switch on and its consent form discloses; and the values from
which evidence on texts is flagged."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from experiments.study.base_model import StrictModel

Share = Annotated[float, Field(gt=0, le=1)]
CharsPerSecond = Annotated[float, Field(gt=0)]


class IntegrityThresholds(StrictModel):
    """From which value each indicator of `parley show integrity` is flagged."""

    paste_share: Share = 0.5
    """The share of the written characters that was pasted, as the page reported it. Needs `telemetry`."""
    typing_speed: CharsPerSecond = 12.0
    """Characters a second while keys were pressed, without pasted ones. Needs `telemetry`."""
    writing_speed: CharsPerSecond = 12.0
    """Characters a second of the time for which the screen was shown, pasted ones included."""
    ai_likeness: Share = 0.5
    """The share of a text that is in a reply of a model that was asked the same question alone."""
    honeypot: Annotated[int, Field(ge=1)] = 1
    """Screens on which something was written in the hidden box. Needs `honeypot: true`."""
    duplicate: Share = 0.8
    """The similarity of a text to another session's in the same box: shared runs of three words, of all in either."""


class IntegrityChecks(StrictModel):
    """The parts of pages that people do not see, and the values from which evidence is flagged."""

    hidden_instruction: Annotated[str, Field(pattern=r"^[a-z]{4,20}$")] | None = None
    """A word that nobody would write by chance, such as `hazelnut`. Beside each box for long texts the page has an
    instruction for AI models to use it. The consent form says so, and it is shown only after consent."""
    honeypot: bool = False
    """True if each form has a box that people do not see. That something was written in it is recorded, not what. The
    consent form says so, and it is there only after consent."""
    thresholds: IntegrityThresholds | None = None
    """From which values the indicators are flagged, where not from Parley's: `{paste_share: 0.3}`. Those of the newest
    version count, for sessions of all versions."""

    @property
    def hides(self) -> bool:
        return self.hidden_instruction is not None or self.honeypot

    @model_validator(mode="after")
    def _some(self) -> Self:
        if not self.hides and self.thresholds is None:
            raise ValueError(
                "switches nothing on; write `hidden_instruction: WORD`, `honeypot: true` or `thresholds: {...}`"
            )
        return self
