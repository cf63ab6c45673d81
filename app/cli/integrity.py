"""The command that shows evidence on how participants' texts came about.

The analysis is imported where it is needed, as that takes as long as all other imports.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from app.cli.commands import command
from app.cli.common import AsJson, OriginOption, StudyName, existing_database, name_of, out, print_json, settings_in_use
from experiments.views.integrity import THRESHOLDS, Dossier, Evidence, Question, dossiers, flagged
from experiments.views.text_likeness import Runs
from storage.db.engine import Database
from storage.errors import StorageError
from storage.registers.origins import SIMULATED, Origin
from storage.reports.conversations import origin_of
from storage.reports.integrity import replies_alone, session_writings

if TYPE_CHECKING:
    from app.analysis.false_alarms import FlagRate

Rates = Mapping[str, Mapping[str, "FlagRate"]]
"""By whose sessions (`sessions`, `pilots`, `simulated`), the rate of each indicator."""
TITLES: Mapping[str, str] = {
    "paste_share": "pasted",
    "typing_speed": "typed, chars/s",
    "writing_speed": "written, chars/s",
    "ai_likeness": "like a model's",
    "hidden_word": "hidden word",
    "honeypot": "hidden box",
    "duplicate": "like another's",
}
SHARES = ("paste_share", "ai_likeness", "hidden_word", "duplicate")


@command("integrity")
def integrity_(
    study: StudyName,
    every: Annotated[bool, typer.Option("--all", help="List sessions without any flag too.")] = False,
    as_json: AsJson = False,
    origin: OriginOption = None,
) -> None:
    """Evidence, never a verdict: pasting, speed, likeness to models' replies, and copies, with rates of false alarms.

    Conditions, answers and outcomes are not shown, so that exclusions are decided without knowing them.
    """
    database = existing_database(settings_in_use())
    name = name_of(study)
    whose_origin = origin_of(database, name, origin)
    if whose_origin == Origin.IMPORT:
        raise StorageError(f"{name!r} was imported, and a release does not have what participants' pages reported")
    replies = replies_alone(database, name)
    found, excluded = _dossiers(database, name, (whose_origin,), replies)
    references = {"pilots": (Origin.PILOT,), "simulated": SIMULATED}
    rates = {"sessions": _rates(found)} | {
        whose: _rates(_dossiers(database, name, origins, replies)[0]) for whose, origins in references.items()
    }
    if as_json:
        print_json(
            {
                "indicators": [_rate_row(one, rates) for one in THRESHOLDS],
                "sessions": [_row(number, one, excluded=number in excluded) for number, one in found.items()],
            }
        )
        return
    listed = {number: one for number, one in found.items() if every or any(flagged(one).values())}
    out.print(_rates_table(rates))
    out.print(_sessions_table(listed, excluded) if listed else "No session has a flag.")
    if listed:
        _tell_next(study)


def _dossiers(
    database: Database, study: str, origins: Sequence[str], replies: Mapping[Question, Sequence[Runs]]
) -> tuple[dict[int, Dossier], set[int]]:
    """The evidence of the sessions of some origins by number, and the numbers of those that are excluded already."""
    writings = list(session_writings(database, study, origins))
    found = {one.number: dossier for one, dossier in dossiers([one.session for one in writings], replies)}
    return found, {one.session.number for one in writings if one.excluded}


def _rates(found: Mapping[int, Dossier]) -> Mapping[str, FlagRate]:
    from app.analysis.false_alarms import flag_rates

    return flag_rates(map(flagged, found.values()))


def _rate_row(name: str, rates: Rates) -> dict[str, object]:
    """An indicator with its threshold and rates; null where no session of that origin is there."""
    found = {whose: asdict(by[name]) if name in by else None for whose, by in rates.items()}
    return {"indicator": name, "threshold": THRESHOLDS[name], **found}


def _row(number: int, one: Dossier, *, excluded: bool) -> dict[str, object]:
    known = {name: asdict(found) if found is not None else None for name, found in one.items()}
    flags = [name for name, flag in flagged(one).items() if flag]
    return {"number": number, "flags": flags, "excluded": excluded, **known}


def _rates_table(rates: Rates) -> Table:
    about = (
        "false alarms: the share of pilot and of simulated sessions at the threshold, with its 95 % interval. What a "
        "page reports is a hint, not a proof: dictation, autocompletion and translation look like pasting too."
    )
    table = Table(title="Indicators", title_justify="left", caption=about, caption_justify="left")
    table.add_column("indicator")
    for title in ("from", "flagged", "false alarms, pilots", "false alarms, simulated"):
        table.add_column(title, justify="right")
    for name, threshold in THRESHOLDS.items():
        here = rates["sessions"].get(name)
        flags = "–" if here is None or not here.known else f"{here.flagged:,} of {here.known:,}"
        alarms = (_alarms(rates[whose].get(name)) for whose in ("pilots", "simulated"))
        table.add_row(Text(TITLES[name]), _value(name, threshold), flags, *alarms)
    return table


def _alarms(rate: FlagRate | None) -> str:
    from app.analysis.estimates import SHARE, format_interval, format_value

    known = rate.known if rate is not None else 0
    if rate is None or rate.share is None:
        return f"unknown ({known:,} sessions)"
    interval = format_interval(rate.share.low, rate.share.high, SHARE)
    return f"{format_value(rate.share.value, SHARE)} ({interval}) of {known:,}"


def _sessions_table(listed: Mapping[int, Dossier], excluded: Collection[int]) -> Table:
    table = Table(title="Sessions", title_justify="left", caption="* at the threshold", caption_justify="left")
    table.add_column("no.", justify="right")
    for title in TITLES.values():
        table.add_column(title, justify="right")
    table.add_column("excluded")
    for number, one in listed.items():
        flags = flagged(one)
        cells = (_cell(name, one[name], at=bool(flags[name])) for name in TITLES)
        table.add_row(f"{number}", *cells, Text("yes" if number in excluded else ""))
    return table


def _cell(name: str, found: Evidence | None, *, at: bool) -> str:
    if found is None:
        return ""
    other = f" (no. {found.number})" if at and found.number is not None else ""
    return f"{_value(name, found.value)}{other}{'*' if at else ''}"


def _value(name: str, value: float) -> str:
    return f"{100 * value:.0f} %" if name in SHARES else f"{value:.1f}"


def _tell_next(study: str) -> None:
    out.print(
        f'[dim]To exclude one: parley exclude {study} NUMBER --reason "integrity: WHY". Decide by rules that were '
        "fixed before, and look at no outcome first.[/dim]",
        highlight=False,
    )
