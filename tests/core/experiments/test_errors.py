"""What an error about an unknown name offers instead."""

from __future__ import annotations

from decimal import Decimal
from string import ascii_lowercase
from typing import Annotated, Any

import pytest
from pydantic import Field, TypeAdapter, ValidationError

from experiments.errors import plain_message, suggestion


def test_of_many_names_those_that_are_nearest_are_offered() -> None:
    many = [*ascii_lowercase, "partner_name"]
    assert "partner_name" in suggestion("nam", many)
    assert suggestion("", many).startswith("; allowed: a, b, c, d,")
    assert suggestion("x", many[:12]).startswith("; allowed: a, b, c, d,")


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        *[(kind, given) for kind in (int, float, Decimal, bool) for given in (None, "three")],
        (int, 1.5),
        (Annotated[int, Field(ge=1, le=9)], 0),
        (Annotated[int, Field(ge=1, le=9)], 10),
        (Annotated[Decimal, Field(decimal_places=2)], "0.001"),
    ],
)
def test_what_a_validator_says_is_said_without_its_words(kind: Any, given: object) -> None:
    with pytest.raises(ValidationError) as refused:
        TypeAdapter(kind).validate_python(given)
    (fault,) = refused.value.errors()
    said = plain_message(fault).lower()
    assert [
        word for word in ("input", "decimal object", "pars", "integer", "boolean", "equal to") if word in said
    ] == []
