"""The number of Hypothesis's examples where one takes long: some in `make test`, many in `make soak`."""

from typing import Any

from hypothesis import settings

# How many times as many are tried in a soak.
MORE = 25

SOAKS = settings.get_current_profile_name() == "soak"
# The last seed of the sessions that are played: each takes a while, and is then known.
SEEDS = 40 if SOAKS else 2


def examples(number: int, **more: Any) -> settings:
    """Settings of a test that tries so many examples, and more of them in a soak."""
    return settings(max_examples=number * MORE if SOAKS else number, **more)
