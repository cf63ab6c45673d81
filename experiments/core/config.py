"""What people write: frozen, strict pydantic models, and the small types they share."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints


class Config(BaseModel):
    """A part of a study file: unknown keys are errors, values never change."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, use_attribute_docstrings=True)


NAMES = r"^[A-Za-z][A-Za-z0-9_-]*$"
Slug = Annotated[str, StringConstraints(pattern=NAMES, max_length=60)]
"""A name that becomes part of paths: a letter, then letters, digits, `_` and `-`."""

Name = Annotated[str, StringConstraints(pattern=NAMES, max_length=200)]
"""A name of an answer in the data: as a Slug, but as long as the columns of released files are."""

Condition = Annotated[
    dict[str, str | bool | int | tuple[str | bool | int, ...]],
    Field(description="All must hold: a factor, an `each` variable or `step.field`, and its value or list of values."),
]
