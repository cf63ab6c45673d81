"""Which patterns of estimates' names a name fits: `<model>` stands for one part, without dots."""

from __future__ import annotations

import re
from collections.abc import Iterable


def pattern_of(name: str, patterns: Iterable[str]) -> list[str]:
    """The patterns that a name fits; there should be one."""
    return [one for one in patterns if re.fullmatch(re.sub(r"<\w+>", r"[^.]+", one.replace(".", r"\.")), name)]
