"""The root of Parley's one error tree, and this room's branch of it.

    ParleyError              anything that Parley refuses or cannot do
    ├── ProblemError         study author's move: a problem or its source cannot be read
    └── UnusablePicture      participant's move: a file that they attach is no picture, or too large

Every other room has an errors.py of its own, which hangs its branch below ParleyError.
The type says whose move it is; the message says what was wrong, where, what was allowed, and the next step.
"""

import difflib
import json
from collections.abc import Iterable


class ParleyError(Exception):
    """Anything that Parley refuses: a headline and, one a line below it, all faults of a file at once."""

    @property
    def faults(self) -> tuple[str, ...]:
        """Empty where the headline says all."""
        return tuple(str(fault) for fault in self.args[1:])

    def __str__(self) -> str:
        return "\n  ".join(str(part) for part in self.args)


DISTRIBUTION = "parley-studies"


def install_line(extra: str) -> str:
    return f"pip install '{DISTRIBUTION}[{extra}]'"


class ProblemError(ParleyError):
    """A problem, or the source it comes from, cannot be read: the study author's move."""


class UnusablePicture(ParleyError):
    """A file is no picture that can be attached."""


class TooManyPixels(UnusablePicture):
    """A picture would take too much memory."""


def quoted(value: object) -> str:
    """A value from a file, for messages: a text in quotes, anything else as JSON."""
    return repr(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=repr)


def did_you_mean(word: str, allowed: Iterable[str]) -> str:
    """Give ` Did you mean 'x'?` where one of `allowed` is close to `word`, or nothing."""
    close = difflib.get_close_matches(word, list(allowed), n=1)
    return f" Did you mean {close[0]!r}?" if close else ""
