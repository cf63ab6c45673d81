"""A check of whether texts were written by a model, which a study may switch on and its consent form discloses."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from experiments.study.base_model import StrictModel


class IntegrityChecks(StrictModel):
    """What the pages contain that people do not see."""

    hidden_instruction: Annotated[str, Field(pattern=r"^[a-z]{4,20}$")]
    """A word that nobody would write by chance, such as `hazelnut`. Beside each box for long texts the page has an
    instruction for AI models alone to use it. The consent form says that there are such instructions, and they are
    shown only after consent."""
