"""Checks of whether a model took part, which a study may switch on and its consent form discloses."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from experiments.study.base_model import StrictModel


class IntegrityChecks(StrictModel):
    """What the pages contain that people do not see."""

    hidden_instruction: Annotated[str, Field(pattern=r"^[a-z]{4,20}$")] | None = None
    """A word that nobody would write by chance, such as `hazelnut`. Beside each box for long texts the page has an
    instruction for AI models alone to use it. The consent form says that there are such instructions, and they are
    shown only after consent."""
    honeypot: bool = False
    """Whether each form has a box that people do not see. That something was written in it is recorded, not what. The
    consent form says that there are such boxes, and they are there only after consent."""

    @model_validator(mode="after")
    def _some(self) -> Self:
        if self.hidden_instruction is None and not self.honeypot:
            raise ValueError("switches nothing on; write `hidden_instruction: WORD`, `honeypot: true` or both")
        return self
