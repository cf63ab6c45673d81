"""The base of all models of study files (frozen and strict), and the small types they share."""

from __future__ import annotations

import json
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints


class StrictModel(BaseModel):
    """A part of a study file: unknown keys are errors, values never change."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        populate_by_name=True,
        allow_inf_nan=False,
        coerce_numbers_to_str=True,  # a number is accepted where a text is expected
        defer_build=True,  # few are read alone
    )


class AsTyped(str):
    """A number spelled unlike Python's (1.10, 1e3): texts keep it, numbers parse it, `Values` convert it."""

    __slots__ = ()


def _valued(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _valued(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_valued(part) for part in value]
    return json.loads(value) if isinstance(value, AsTyped) else value


# A mapping that another component interprets. Each AsTyped in it is converted to a number.
Values = Annotated[dict[str, Any], BeforeValidator(_valued)]


NAMES = r"^[A-Za-z][A-Za-z0-9_-]*$"
# A name that becomes part of paths: a letter, then letters, digits, `_` and `-`.
Slug = Annotated[str, StringConstraints(pattern=NAMES, max_length=60)]

# A name of an answer in the data: as a Slug, but as long as the columns of released files are.
Name = Annotated[str, StringConstraints(pattern=NAMES, max_length=200)]


def _compiles(pattern: str) -> str:
    import regex  # only studies with such expressions wait for it

    try:
        regex.compile(pattern)
    except regex.error as error:
        raise ValueError(f"is not a regular expression: {error}") from None
    return pattern


Pattern = Annotated[str, AfterValidator(_compiles)]

ONE_LINE = r"^\S(.*\S)?$"
# A value of a factor: one line of text, such as a condition or any model's name (`llama-3.1-8b`, `org/name:tag`).
Level = Annotated[str, StringConstraints(pattern=ONE_LINE, max_length=200)]

Condition = Annotated[
    dict[str, str | bool | int | tuple[str | bool | int, ...]],
    Field(description="All must hold: a factor, an `each` variable or `step.field`, and its value or list of values."),
]
