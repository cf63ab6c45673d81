"""The characters that a text may have: the one guard at every door through which text enters.

CRLF and a lone CR become LF, everywhere but in the cells of released files, which are kept to the byte. A byte order
mark at the beginning of a file is dropped. Characters that are no text (`UNFIT`) are refused with their place in what
researchers write (`decoded`, `checked`), who can correct it, and cleaned from what participants type and models reply
(`clean`), who cannot. docs/researchers/write.md, "Encodings and control characters", has the rule for users.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from problems.errors import ProblemError

# The control characters of Unicode (category Cc) except tab and line ends, halves of surrogate pairs, byte order marks,
# and U+FFFE and U+FFFF, which are no characters.
UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufeff\ufffe\uffff]")
# What PostgreSQL or UTF-8 cannot hold at all; released files may have every other character.
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
NAMES: Mapping[str, str] = {
    "\0": "NUL",
    "\x07": "a bell",
    "\x08": "a backspace",
    "\x0b": "a vertical tab",
    "\x0c": "a form feed",
    "\x1b": "escape",
    "\x7f": "delete",
    "\ufeff": "a byte order mark within the text",
    "\ufffe": "no character of Unicode",
    "\uffff": "no character of Unicode",
}
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark begins like it
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CLEANED: dict[int, str | None] = {
    **{code: None for code in (*range(0xA0), 0xFEFF, 0xFFFE, 0xFFFF) if UNFIT.match(chr(code))},
    0x0B: "\n",
    0x0C: "\n",
}
_ESCAPES = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)"
)
_HALF = re.compile(rb"\\u[dD][89a-fA-F]")


class NotText(ProblemError):
    """A file or value holds bytes that are no text; with its line and column, from 1, where they are known."""

    def __init__(self, problem: str, line: int, column: int, name: str = "") -> None:
        self.problem, self.line, self.column = problem, line, column
        where = f"line {line}, column {column}"
        super().__init__(f"{name}: {where}: {problem}" if name else f"{where}: {problem}")


def read_text(path: Path) -> str:
    """The text of a file; raises ProblemError if it cannot be opened, and NotText."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ProblemError(f"{path}: cannot be read ({error.strerror}). Check the path and its permissions.") from error
    return checked(decoded(content, str(path)), str(path))


def decoded(content: bytes, name: str) -> str:
    """The text in UTF-8, or by its mark UTF-16 or UTF-32, with LF as line ends and control characters; else NotText."""
    encoding = encoding_of(content)
    try:
        return _with_lf(content.decode(encoding))
    except UnicodeDecodeError as error:
        before = _with_lf(content[: error.start].decode(encoding, "replace"))
        byte = content[error.start : error.start + 1]
        meant = byte.decode("cp1252", "ignore")
        hint = f"; in Windows-1252 it is {meant!r}" if meant.isprintable() and meant and encoding == "utf-8-sig" else ""
        called = encoding.upper().removesuffix("-SIG")
        problem = f"the byte 0x{byte.hex()} is not {called}{hint}. {_save(name)}"
        raise NotText(problem, *place_of(before, len(before)), name) from None


def encoding_of(content: bytes) -> str:
    """The encoding that a file's byte order mark says: utf-16, utf-32, or utf-8-sig, which reads UTF-8 without one."""
    return next((encoding for mark, encoding in _MARKS if content.startswith(mark)), "utf-8-sig")


def checked(text: str, name: str = "") -> str:
    """The text with LF as line ends; raises NotText at the first character that has no place in a text."""
    text = _with_lf(text)
    found = UNFIT.search(text)
    if found is None:
        return text
    start = text[:1_000]
    problem = f"{named(found[0])}. Remove it."
    if start.count("\0") * 3 > len(start):
        problem = f"looks like UTF-16 without a byte order mark. {_save(name)}"
    raise NotText(problem, *place_of(text, found.start()), name)


def checked_values(value: Any) -> Any:
    """A value of JSON with each text in it `checked`; raises NotText, with the place in its text."""
    return _each(value, checked)


def clean(text: str) -> str:
    """The text with LF also for vertical tabs and form feeds, U+FFFD for lone surrogates, and no `UNFIT` characters."""
    text = _with_lf(text)
    if not UNFIT.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").translate(_CLEANED)


def clean_values(value: Any) -> Any:
    return _each(value, clean)


def clean_json(body: bytes) -> bytes:
    """JSON as it came, with each half of a surrogate pair that is written as an escape replaced by U+FFFD: readers of
    JSON refuse it, and a browser sends it for an emoji that was cut in two."""
    if not _HALF.search(body):
        return body
    return _ESCAPES.sub(lambda match: rb"\ufffd" if match[1] else match[0], body)


def named(character: str) -> str:
    """A character that is no text, for a message: its code point and its name."""
    half = "\ud800" <= character <= "\udfff"
    name = "half of a surrogate pair" if half else NAMES.get(character, "a control character")
    return f"U+{ord(character):04X} ({name}) has no place in a text"


def unstorable(text: str) -> str:
    """The first character that no database or no UTF-8 file can hold; empty if there is none."""
    found = UNSTORABLE.search(text)
    return found[0] if found else ""


def texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from texts_in(key)
            yield from texts_in(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from texts_in(part)


class Cleaner:
    """Cleans a text that comes in pieces: what `feed` and `end` give is together what `clean` gives of the whole."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> str:
        """The certain part of the text so far; a CR or half of a pair at the end is held until the next piece."""
        text = self._held + piece
        kept = len(text) - (text[-1:] == "\r" or "\ud800" <= text[-1:] <= "\udbff")
        self._held = text[kept:]
        return clean(text[:kept])

    def end(self) -> str:
        held, self._held = self._held, ""
        return clean(held)


def _save(name: str) -> str:
    return f"Save the file as UTF-8{' (Excel: CSV UTF-8)' if name.lower().endswith('.csv') else ''}."


def _with_lf(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def place_of(text: str, at: int) -> tuple[int, int]:
    """The line and column of a character, from 1."""
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


def _each(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {change(key) if isinstance(key, str) else key: _each(part, change) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_each(part, change) for part in value]
    return value
