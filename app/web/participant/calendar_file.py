"""A calendar file (RFC 5545) with the time at which a participant's next part opens, in UTC: calendars show it in their
own time zone, whatever changes of daylight saving come before."""

from __future__ import annotations

from experiments.study.sections.waves import local_time, zone_of

# The longest line in octets; the rest goes on in the next, after a blank.
LONGEST = 75


def calendar_file(uid: str, *, now_us: int, opens_us: int, summary: str, description: str, url: str) -> bytes:
    lines = (
        *("BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Parley//waves//EN", "BEGIN:VEVENT"),
        *(f"UID:{uid}", f"DTSTAMP:{_utc(now_us)}", f"DTSTART:{_utc(opens_us)}"),
        *(f"SUMMARY:{_text(summary)}", f"DESCRIPTION:{_text(description)}", f"URL:{url}"),
        *("BEGIN:VALARM", "ACTION:DISPLAY", f"DESCRIPTION:{_text(summary)}", "TRIGGER:PT0S", "END:VALARM"),
        *("END:VEVENT", "END:VCALENDAR"),
    )
    return b"".join(_folded(line) for line in lines)


def _utc(at_us: int) -> str:
    return f"{local_time(at_us, zone_of('UTC')):%Y%m%dT%H%M%SZ}"


def _text(text: str) -> str:
    for char in "\\;,":
        text = text.replace(char, f"\\{char}")
    return "\\n".join(text.splitlines())


def _folded(line: str) -> bytes:
    """A line in pieces of at most LONGEST octets, none of which breaks a character."""
    pieces, piece = list[str](), ""
    for char in line:
        if len((piece + char).encode()) > LONGEST:
            pieces, piece = [*pieces, piece], " "
        piece += char
    return "".join(f"{each}\r\n" for each in (*pieces, piece)).encode()
