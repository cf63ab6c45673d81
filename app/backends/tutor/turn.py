"""One turn of the tutor: what was said so far, and the chance that it draws from.

All variety comes from (seed, slot, how many replies there were), so the same messages always get the same
reply, and a phrase comes back only when its slot has been through all others.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

from app.backends.base import PromptMessage

READ_CHARS = 6_000
QUOTE_CHARS = 90
QUOTE_WORDS = 14
PLAIN = " '’,-–+=/%:?"
WHOLE, STRAY = re.compile(r"\\\(.*?\\\)|\\\[.*?\\\]", re.DOTALL), re.compile(r"\\[()\[\]]")
"""A whole formula, and a delimiter of one that is not."""
FINAL = re.compile(r"(?<![-.] )\*\*([^*\n]*[^*\n.:])\*\*")
"""An answer that the tutor commits to is set in bold; a heading in bold ends in `.` or `:`, or begins a list item."""


def chance(*keys: object) -> float:
    """Draw from 0 to 1, always the same for the same keys."""
    digest = blake2b("\x1f".join(map(str, keys)).encode(errors="backslashreplace"), digest_size=7).digest()
    return int.from_bytes(digest) / 2**56


@dataclass(frozen=True)
class TutorTurn:
    """What the tutor replies to: the messages, as a model would be sent them, and nothing else."""

    messages: tuple[PromptMessage, ...]
    seed: str
    wrong: float
    """How often, from 0 to 1, the tutor is mistaken."""

    @cached_property
    def text(self) -> str:
        """What was said last, by the participant."""
        return self._said[-1] if self._said else ""

    @cached_property
    def before(self) -> tuple[str, ...]:
        """What the participant said earlier, newest first."""
        return tuple(reversed(self._said[:-1]))

    @cached_property
    def replies(self) -> tuple[str, ...]:
        """What the tutor said so far, oldest first."""
        return tuple(message.text for message in self.messages if message.role == "assistant")

    @cached_property
    def _said(self) -> tuple[str, ...]:
        return tuple(message.text.strip()[:READ_CHARS] for message in self.messages if message.role == "user")

    @property
    def claim(self) -> str | None:
        """The answer that the tutor last committed to: what it set in bold last."""
        found = [bold for reply in self.replies for bold in FINAL.findall(reply)[-1:]]
        return found[-1] if found and not STRAY.search(WHOLE.sub("", found[-1])) else None

    def pick(self, slot: str, options: Sequence[str]) -> str:
        """Choose a phrase, another one each turn."""
        start = int(chance(self.seed, slot) * len(options))
        return options[(start + len(self.replies)) % len(options)]

    def draw(self, *keys: object) -> float:
        """Draw from 0 to 1 for this seed; the same for the same keys, whatever the turn."""
        return chance(self.seed, *keys)


def quote(text: str) -> str:
    """Give the beginning of `text` in plain words: nothing in it can be read as Markdown, HTML or LaTeX."""
    first = re.split(r"(?<=[.!?])\s|\n", _plain(text).strip(), maxsplit=1)[0]
    words = [word[:30] for word in first.split()]
    short = " ".join(words[:QUOTE_WORDS])[:QUOTE_CHARS].strip(PLAIN + ".!")
    return f"{short} …" if len(words) > QUOTE_WORDS else short


def _plain(text: str) -> str:
    text = re.sub(r"\$(\d[\d.,]*\d|\d)", r"\1 dollars", text).replace(" 1 dollars", " 1 dollar")
    without_math = re.sub(r"\${1,2}[^$]{0,200}\${1,2}|\\[(\[].{0,200}?\\[)\]]|\\[a-zA-Z]+", " ", text)
    return "".join(c if c in f"{PLAIN}.!\n" or unicodedata.category(c)[0] in "LMN" else " " for c in without_math)
