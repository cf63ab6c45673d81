"""What a sheet shows of a number or a day, by the cell's number format (ECMA-376 part 1, 18.8.31).

The usual formats: numbers with fixed or optional decimals and with thousands, percent, currencies, units, sections for
negative numbers and zero; days and times. The decimal point is a point and the names of months are English, whatever
language the sheet is opened in.
"""

from __future__ import annotations

import re
from datetime import date, datetime, time
from decimal import ROUND_HALF_UP, Decimal

GENERAL = ("General", "general", "@")
LARGEST = 10**15
"""Numbers from here on have more digits than a sheet keeps."""
MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August", "September", "October"),
    *("November", "December"),
)
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
NAMES = {"mmm", "mmmm", "mmmmm", "ddd", "dddd"}
OF_THE_COMPUTER = ("mm-dd-yy", "m/d/yy h:mm")
"""How `openpyxl` calls the formats 14 and 22, in which each computer writes days in its own way."""
ENGLISH = 0x09
"""The language in the lower ten bits of a locale such as 409; 0 stands for that of the computer."""
_LITERAL = r'"(?P<quoted>[^"]*)"|\\(?P<escaped>.)|(?P<padding>[_*].)'
_SECTION = re.compile(r'((?:"[^"]*"|\\.|[_*].|\[[^\]]*\]|[^;"\\])*)(?:;|$)')
_NUMBER = re.compile(
    rf"{_LITERAL}|\[\$(?P<currency>[^\]-]*)(?:-[^\]]*)?\]|\[(?:black|blue|cyan|green|magenta|red|white|yellow)\]"
    r"|(?P<digits>[#0?][#0?,]*(?:\.[#0?]*)?|\.[#0?]+)|(?P<percent>%)|(?P<sign>[-+$€£¥():/ ])",
    re.IGNORECASE,
)
_MOMENT = re.compile(
    rf"{_LITERAL}|\[\$-(?P<locale>[0-9A-F]+)(?:,[^\]]*)?\]|(?P<part>y+|m+|d+|h+|s+|AM/PM)|(?P<sign>[-/.,: ])",
    re.IGNORECASE,
)


def general(value: float) -> str:
    """A number in no format of its own, with the 15 digits that a sheet keeps."""
    return str(int(value)) if value == int(value) and abs(value) < LARGEST else f"{value:.15G}"


def number_text(value: float, code: str) -> str | None:
    """A number as this format shows it; None for a format that is not known here."""
    if code in GENERAL:
        return general(value)
    code = code.replace("_)_(", "_);_(")  # `openpyxl` gives the format 44 without these semicolons
    sections = [section for section in _SECTION.findall(code)][: code.count(";") + 1]
    chosen = sections[0]
    own_sign = value < 0 and len(sections) > 1
    if own_sign:
        chosen = sections[1]
    elif value == 0 and len(sections) > 2:
        chosen = sections[2]
    found = _in_section(abs(value), chosen)
    return f"-{found}" if found and value < 0 and not own_sign else found


def _in_section(value: float, section: str) -> str | None:
    if abs(value) >= LARGEST:
        return None
    tokens = list(_NUMBER.finditer(section))
    percent = sum(bool(token["percent"]) for token in tokens)
    numbers = [token["digits"] for token in tokens if token["digits"]]
    if "".join(token[0] for token in tokens) != section or len(numbers) > 1:
        return None
    if numbers and numbers[0].partition(".")[0].endswith(","):  # shows thousands
        return None
    exact = Decimal(f"{value:.15g}").scaleb(2 * percent)
    return "".join(_digits(exact, token["digits"]) if token["digits"] else _literal(token) for token in tokens).strip()


def _literal(token: re.Match[str]) -> str:
    if token["padding"]:
        return ""
    given = token.groupdict()
    parts = (given.get(name) for name in ("quoted", "escaped", "currency", "percent", "sign"))
    return next((part for part in parts if part), "")


def _digits(value: Decimal, pattern: str) -> str:
    """A number with as many digits as a pattern such as `#,##0.0#` asks for."""
    whole, point, decimals = pattern.partition(".")
    rounded = value.quantize(Decimal(1).scaleb(-len(decimals)), ROUND_HALF_UP)
    before, _, after = (f"{rounded:,f}" if "," in whole else f"{rounded:f}").partition(".")
    before = before.zfill(whole.count("0")) if whole.count("0") or before != "0" else ""
    while after and len(after) > decimals.count("0") and after.endswith("0"):
        after = after[:-1]
    return f"{before}{point}{after}"


def moment_text(value: date | time, code: str) -> str | None:
    """A day or a time as this format shows it; None for a format that is not known here."""
    tokens = list(_MOMENT.finditer(code.partition(";")[0]))
    if code in OF_THE_COMPUTER or "".join(token[0] for token in tokens) != code.partition(";")[0]:
        return None
    parts = [token["part"].lower() if token["part"] else "" for token in tokens]
    languages = {int(token["locale"], 16) & 0x3FF for token in tokens if token["locale"]}
    if 0 in languages or (languages - {ENGLISH} and NAMES & {*parts}):
        return None
    half = "am/pm" in parts
    told = [part for part in parts if part]
    shown, place = [], 0
    for token, part in zip(tokens, parts, strict=True):
        if not part:
            shown.append(_literal(token))
            continue
        near = (told[place - 1 : place] if place else []) + told[place + 1 : place + 2]
        minutes = part in ("m", "mm") and (near[:1] == ["h"] or near[:1] == ["hh"] or "s" in near or "ss" in near)
        place += 1
        found = _part(value, "min" + part if minutes else part, half)
        if found is None:
            return None
        shown.append(found)
    return "".join(shown).strip()


def _part(value: date | time, part: str, half: bool) -> str | None:
    """One part of a moment, such as `mmm`; None if it has no such part."""
    day = value if isinstance(value, date) else None
    clock = value.time() if isinstance(value, datetime) else value if isinstance(value, time) else time()
    hour = (clock.hour + 11) % 12 + 1 if half else clock.hour
    parts = {
        **{"h": f"{hour}", "hh": f"{hour:02}", "minm": f"{clock.minute}", "minmm": f"{clock.minute:02}"},
        **{"s": f"{clock.second}", "ss": f"{clock.second:02}", "am/pm": "AM" if clock.hour < 12 else "PM"},
    }
    if day is not None:
        month, weekday = MONTHS[day.month - 1], DAYS[day.weekday()]
        parts |= {"yy": f"{day.year % 100:02}", "yyyy": f"{day.year:04}", "mmmm": month, "mmm": month[:3]}
        parts |= {"m": f"{day.month}", "mm": f"{day.month:02}", "mmmmm": month[0]}
        parts |= {"d": f"{day.day}", "dd": f"{day.day:02}", "ddd": weekday[:3], "dddd": weekday}
    return parts.get(part)
