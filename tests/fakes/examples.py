"""How many examples Hypothesis tries where one takes long: some in `make test`, many in `make soak`."""

from typing import Any

from hypothesis import settings

MORE = 25
"""How many times as many are tried in a soak."""


def examples(number: int, **more: Any) -> settings:
    """Settings of a test that tries so many examples, and more of them in a soak."""
    soaks = settings.get_current_profile_name() == "soak"
    return settings(max_examples=number * MORE if soaks else number, **more)
