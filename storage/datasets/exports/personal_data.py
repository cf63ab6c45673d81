"""Find personal data in free text by patterns and checksums, and mask them in an export.

Patterns find what has a form: addresses of mail, profiles and computers, numbers of phones, accounts and cards, ids of
recruiters, dates of birth. They find no name and no place; docs/decisions/0016 says why there is no library for that.

Only columns of free text are read. A mask replaces text by text, inside of conversations too, so columns keep their
types. What was found is counted and never repeated.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from ipaddress import ip_address
from types import MappingProxyType
from typing import Any

from storage.columns import UNREADABLE, Column, PythonLiteral, literal
from storage.datasets.writers import Rows

SITES = (
    "facebook|fb|instagram|linkedin|twitter|x|github|gitlab|tiktok|youtube|reddit|snapchat|pinterest|threads|twitch|"
    "medium|xing|vk|weibo|strava|soundcloud|patreon"
)
MONTHS = r"(?:jan|feb|m[aä]r|apr|ma[iy]|jun|jul|aug|sep|o[ck]t|nov|de[cz])[a-zä]*\.?"
YEAR = r"(?:19|20)\d\d"
DATE = (
    rf"(?:{YEAR}[-/.]\d{{1,2}}[-/.]\d{{1,2}}|\d{{1,2}}[-/. ] ?\d{{1,2}}[-/. ] ?(?:{YEAR}|\d\d)"
    rf"|\d{{1,2}}(?:st|nd|rd|th|\.)? (?:of )?{MONTHS},? {YEAR}|{MONTHS} \d{{1,2}}(?:st|nd|rd|th)?,? {YEAR})"
)
BORN = r"(?:\b(?:born|birth|birthday|birthdate|dob|d\.o\.b\.|geboren|geb\.|geburtstag|geburtsdatum|née?|nacid[oa]))"
BETWEEN = r"[^\d\n\[\]]{0,25}?"
# Of a phone number. ITU-T E.164 has at most 15; shorter ones look like any other number.
LEAST_DIGITS, MOST_DIGITS = 9, 15
DIGITS = "0123456789"
NO_DATE = r"(?!\d{1,2}[-/]\d{1,2}[-/]\d{2,4})"


def _iban(text: str) -> bool:
    """The checksum of ISO 13616: the number, its first four signs at the end, is 1 modulo 97."""
    signs = re.sub(r"\s", "", text).upper()
    moved = signs[4:] + signs[:4]
    return 15 <= len(signs) <= 34 and int("".join(str(int(sign, 36)) for sign in moved)) % 97 == 1


def _card(text: str) -> bool:
    """The checksum of ISO/IEC 7812-1 (Luhn), and a first digit that payment cards have."""
    digits = [int(sign) for sign in text if sign.isdigit()]
    doubled = [digit * 2 - 9 * (digit > 4) for digit in digits[-2::-2]]
    return digits[0] in (2, 3, 4, 5, 6) and len(set(digits)) > 1 and (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def _address(text: str) -> bool:
    """An address of a computer other than the reader's own."""
    try:
        found = ip_address(text)
    except ValueError:
        return False
    return not (found.is_loopback or found.is_unspecified)


def _phone(text: str) -> bool:
    digits = "".join(sign for sign in text if sign.isdigit())
    return LEAST_DIGITS <= len(digits.removeprefix("00")) <= MOST_DIGITS and digits not in (DIGITS, DIGITS[1:])


def _recruiter_id(text: str) -> bool:
    """Prolific's ids are ObjectIds of MongoDB: 24 hexadecimal digits."""
    return any(sign.isdigit() for sign in text) and any(sign.isalpha() for sign in text)


def _any(text: str) -> bool:
    return True


_PATTERNS: tuple[tuple[str, str, Callable[[str], bool]], ...] = (
    ("email", r"[\w.!#$%&'*+/=?^`{|}~-]{0,63}\w@(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,63}", _any),
    (
        "profile",
        rf"\b(?:https?://)?(?:[\w-]{{1,63}}\.)?(?:{SITES})\.(?:com|org|net|de|tv|ru|cn)/[\w@%.~/-]*[\w~/]",
        _any,
    ),
    ("profile", r"\b(?:https?://)?(?:www\.)?(?:t\.me|youtu\.be|orcid\.org)/[\w@-]+", _any),
    ("profile", r"\bhttps?://[^\s<>()\[\]@]{1,200}/(?:@[\w.-]+|(?:~|(?:users?|profiles?|people|in|u)/)[\w.-]+)", _any),
    (
        "iban",
        r"(?<!\w)[A-Za-z]{2}\d{2}(?:[A-Za-z0-9]{11,30}|(?: [A-Za-z0-9]{4}){2,7}(?: [A-Za-z0-9]{1,3})?)(?!\w)",
        _iban,
    ),
    ("card", r"(?<![\w.,])(?:\d[ -]?){12,18}\d(?!\w)", _card),
    ("ip_address", r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?!\w|\.\d)", _address),
    ("ip_address", r"(?<![\w:.])[0-9A-Fa-f]{4}:[0-9A-Fa-f:]{2,34}(?![\w:])", _address),
    ("recruiter_id", r"(?<![0-9A-Za-z])[0-9A-Fa-f]{24}(?![0-9A-Za-z])", _recruiter_id),
    ("date_of_birth", rf"({BORN}{BETWEEN})({DATE})(?!\d)", _any),
    ("phone", r"(?<![\w+.,])(?:\+|00)[1-9](?:[ ()./-]{0,2}\d){6,14}(?!\w)", _phone),
    ("phone", r"(?<![\w+.,])\(\d{2,5}\)[ -]?\d{3,4}[ -]?\d{3,5}(?!\w)", _phone),
    ("phone", r"(?<![\w+.,-])(?:1[-. ])?\d{3}(?:-\d{3}-|\.\d{3}\.)\d{4}(?![\w-])", _phone),
    ("phone", rf"(?<![\w+.,/-]){NO_DATE}0[1-9]\d{{0,4}}[ /-]?\d{{2,4}}(?:[ -]?\d{{2,4}}){{1,3}}(?!\w)", _phone),
)
KINDS = tuple(dict.fromkeys(kind for kind, _, _ in _PATTERNS))
# What replaces personal data of each kind; no pattern finds anything in it.
MARKS: Mapping[str, str] = MappingProxyType({kind: f"[{kind.upper()}]" for kind in KINDS})
# A sign without which there is none of a kind, which saves most texts the search; a digit for the other kinds.
NEEDS: Mapping[str, str] = MappingProxyType({"email": "@", "profile": "/"})
_DIGIT = re.compile(r"\d")
_COMPILED = tuple((kind, re.compile(pattern, re.IGNORECASE), check) for kind, pattern, check in _PATTERNS)


def mask(text: str) -> tuple[str, Counter[str]]:
    """The text with marks in place of personal data, and the number found of each kind."""
    found: Counter[str] = Counter()
    before = None
    while text != before:  # what stood beside something that is masked now can be found then
        before = text
        some = {sign for sign in "@/" if sign in text} | ({"0"} if _DIGIT.search(text) else set())
        for kind, pattern, check in _COMPILED:
            if NEEDS.get(kind, "0") not in some:
                continue
            text = pattern.sub(partial(_masked, kind, check, found), text)
    return text, found


def _masked(kind: str, check: Callable[[str], bool], found: Counter[str], match: re.Match[str]) -> str:
    """The mark and the rest of a match: words before, and numbers after, without which the checksum is right."""
    *before, text = (match[0],) if not match.re.groups else match.groups()
    end = len(text)
    while end > 0 and not check(text[:end]):
        end = text.rfind(" ", 0, end)
    if end <= 0:
        return match[0]
    found[kind] += 1
    return "".join((*before, MARKS[kind], text[end:]))


@dataclass
class Mask:
    """Masks the rows of a file with these columns, in order. `found` has the counts by column and kind."""

    columns: Sequence[Column]
    found: Counter[tuple[str, str]] = field(default_factory=Counter)

    def rows(self, batches: Iterator[Rows]) -> Iterator[Rows]:
        free = [(number, column) for number, column in enumerate(self.columns) if column.free_text]
        for batch in batches:
            yield [self._masked(row, free) for row in batch] if free else batch

    def _masked(self, row: Sequence[Any], columns: Sequence[tuple[int, Column]]) -> Sequence[Any]:
        cells = list(row)
        for number, column in columns:
            cells[number], counts = masked_cell(row[number], column)
            self.found.update({(column.name, kind): count for kind, count in counts.items()})
        return cells


def masked_cell(cell: Any, column: Column) -> tuple[Any, Counter[str]]:
    """A cell with marks in place of personal data, unchanged if there are none, and the number found of each kind."""
    found: Counter[str] = Counter()
    if not isinstance(cell, str):
        value = _walked(cell, found)
        return (value if found else cell), found
    if column.kind == "json" or isinstance(column.form, PythonLiteral):
        try:
            value = _walked(json.loads(cell) if column.kind == "json" else literal(cell), found)
        except UNREADABLE:  # an imported cell that is no such value
            return _text(cell)
        if not found:
            return cell, found
        return (column.form.take(value) if column.kind == "json" else repr(value)), found
    return _text(cell)


def personal_data_in(cell: Any) -> Counter[str]:
    """The count of each kind in a cell: a text, a JSON value, or the text of a JSON value or Python literal."""
    found: Counter[str] = Counter()
    for read in (json.loads, literal) if isinstance(cell, str) and cell[:1] in "[{" else ():
        try:
            _walked(read(cell), found)
        except UNREADABLE:
            continue
        return found
    _walked(cell, found)
    return found


def _text(cell: str) -> tuple[str, Counter[str]]:
    text, found = mask(cell)
    return (text if found else cell), found


def _walked(value: Any, found: Counter[str]) -> Any:
    """A value with every text in it masked; the names of its keys stay."""
    match value:
        case str():
            text, counts = mask(value)
            found.update(counts)
            return text
        case list() | tuple():
            return type(value)(_walked(part, found) for part in value)
        case dict():
            return {name: _walked(part, found) for name, part in value.items()}
        case _:
            return value
