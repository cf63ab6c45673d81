"""The part of the card that tells which sessions an export holds, which it leaves out, and why."""

from __future__ import annotations

from storage.datasets.describe.markdown import bullets, code, count, join, table
from storage.datasets.manifest import Exported, Selected


def chosen(exported: Exported) -> str:
    """What was asked of sessions, and how many each rule left out; empty where all of them are there."""
    selected = exported.selected
    if selected is None:
        return ""
    whole = [code(file.path) for file in exported.files if file.table.of_study]
    own = f" What belongs to the study itself is whole: {', '.join(whole)}." if whole else ""
    said = f"{selected.number:,} of {count(selected.of, 'session')} are here.{own}"
    return join("## Which sessions", said, _rules(selected), _left_out(selected), _excluded(selected))


def _rules(selected: Selected) -> str:
    return join("What was asked of them:", bullets(selected.rules)) if selected.rules else ""


def _left_out(selected: Selected) -> str:
    if not selected.left_out:
        return "Nobody is left out."
    rows = ((why, f"{number:,}") for why, number in selected.left_out)
    return join(
        "Left out, each session once, by the first of these that holds for it:", table(("why", "sessions"), rows)
    )


def _excluded(selected: Selected) -> str:
    """Researchers' own words, as they stand in the log."""
    if not selected.excluded:
        return ""
    said = "Researchers excluded these, in their own words; "
    said += "they are among the data all the same:" if selected.with_excluded else "they are not among the data:"
    return join(said, table(("reason", "sessions"), ((code(why), f"{number:,}") for why, number in selected.excluded)))
