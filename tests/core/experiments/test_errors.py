"""What an error about an unknown name offers instead."""

from __future__ import annotations

from string import ascii_lowercase

from experiments.errors import suggestion


def test_of_many_names_those_that_are_nearest_are_offered() -> None:
    many = [*ascii_lowercase, "partner_name"]
    assert "partner_name" in suggestion("nam", many)
    assert suggestion("", many).startswith("; allowed: a, b, c, d,")
    assert suggestion("x", many[:12]).startswith("; allowed: a, b, c, d,")
