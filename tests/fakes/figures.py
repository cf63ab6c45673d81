"""What tests of analyses compare with: the patterns of names, where `<model>` is one part without dots, and ranks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def pattern_of(name: str, patterns: Iterable[str]) -> list[str]:
    return [one for one in patterns if re.fullmatch(re.sub(r"<\w+>", r"[^.]+", one.replace(".", r"\.")), name)]


def midranks(values: Sequence[float]) -> list[float]:
    """The rank of each value by its definition, equal ones sharing the mean of theirs."""
    return [
        sum(other < value for other in values) + (sum(other == value for other in values) + 1) / 2 for value in values
    ]
