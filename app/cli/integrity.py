"""The command that shows evidence on how participants' texts came about.

The analysis is imported where it is needed, as that takes as long as all other imports.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from app.cli.commands import command
from app.cli.common import AsJson, OriginOption, StudyName, existing_database, name_of, out, print_json, settings_in_use
from experiments.views.integrity import INDICATORS, TITLES, Evidence, written_value
from storage.datasets.describe.markdown import count as how_many
from storage.datasets.integrity import SessionEvidence, excluded_sessions
from storage.reports.conversations import origin_of

if TYPE_CHECKING:
    from app.analysis.false_alarms import FlagRate, IntegrityFindings


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
    from app.analysis.false_alarms import integrity_findings

    database = existing_database(settings_in_use())
    name = name_of(study)
    found = integrity_findings(database, name, origin_of(database, name, origin))
    excluded = excluded_sessions(database, name)
    if as_json:
        print_json(
            {
                "indicators": [_rate_row(one, found) for one in INDICATORS],
                "sessions": [_row(number, one, excluded=number in excluded) for number, one in found.sessions.items()],
            }
        )
        return
    listed = {number: one for number, one in found.sessions.items() if every or any(one.flags.values())}
    out.print(_rates_table(found))
    out.print(_sessions_table(listed, excluded) if listed else "No session has a flag.")
    if listed:
        _tell_next(study)


def _rate_row(name: str, found: IntegrityFindings) -> dict[str, object]:
    """An indicator with its threshold and rates; null where no session of that origin is there."""
    rates = {"sessions": found.here, **found.false_alarms}
    known = {whose: asdict(by[name]) if name in by else None for whose, by in rates.items()}
    return {"indicator": name, "threshold": found.thresholds[name], **known}


def _row(number: int, one: SessionEvidence, *, excluded: bool) -> dict[str, object]:
    known = {name: asdict(found) if found is not None else None for name, found in one.dossier.items()}
    flags = [name for name, flag in one.flags.items() if flag]
    return {"number": number, "flags": flags, "excluded": excluded, **known}


def _rates_table(found: IntegrityFindings) -> Table:
    about = (
        "false alarms: the share of pilot and of simulated sessions at the threshold, with its 95 % interval. What a "
        "page reports is a hint, not a proof: dictation, autocompletion and translation look like pasting too."
    )
    table = Table(title="Indicators", title_justify="left", caption=about, caption_justify="left")
    table.add_column("indicator")
    for title in ("from", "flagged", "false alarms, pilots", "false alarms, simulated"):
        table.add_column(title, justify="right")
    for name, threshold in found.thresholds.items():
        here = found.here.get(name)
        flags = "–" if here is None or not here.known else f"{here.flagged:,} of {here.known:,}"
        alarms = (_alarms(by.get(name)) for by in found.false_alarms.values())
        table.add_row(Text(TITLES[name]), written_value(name, threshold), flags, *alarms)
    return table


def _alarms(rate: FlagRate | None) -> str:
    from app.analysis.estimates import SHARE, format_interval, format_value

    known = rate.known if rate is not None else 0
    if rate is None or rate.share is None:
        return f"unknown ({how_many(known, 'session')})"
    interval = format_interval(rate.share.low, rate.share.high, SHARE)
    return f"{format_value(rate.share.value, SHARE)} ({interval}) of {known:,}"


def _sessions_table(listed: Mapping[int, SessionEvidence], excluded: Collection[int]) -> Table:
    table = Table(title="Sessions", title_justify="left", caption="* at the threshold", caption_justify="left")
    table.add_column("no.", justify="right")
    for title in TITLES.values():
        table.add_column(title, justify="right")
    table.add_column("excluded")
    for number, one in listed.items():
        cells = (_cell(name, one.dossier[name], at=bool(one.flags[name])) for name in TITLES)
        table.add_row(f"{number}", *cells, Text("yes" if number in excluded else ""))
    return table


def _cell(name: str, found: Evidence | None, *, at: bool) -> str:
    if found is None:
        return ""
    other = f" (no. {found.number})" if at and found.number is not None else ""
    return f"{written_value(name, found.value)}{other}{'*' if at else ''}"


def _tell_next(study: str) -> None:
    out.print(
        f'[dim]To exclude one: parley exclude {study} NUMBER --reason "integrity: WHY". Decide by rules that were '
        "fixed before, and look at no outcome first.[/dim]",
        highlight=False,
    )
