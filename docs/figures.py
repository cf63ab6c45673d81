"""The page of figures: every stable name of a report's estimates, as the analyses declare them."""

from __future__ import annotations

from app.analysis.report.wording import family
from app.analysis.results import NAMES


def figures() -> str:
    """Every pattern of names, with its meaning."""
    text = (
        "The figures of `parley report STUDY --format json`, by name. Names are stable, so programs can rely on them. "
        "`<>` marks a value of the data; dots and blanks in it become `_`. Each figure has its `value`, the ends of "
        "its interval (`low`, `high`, `level`; null if it has none, and `why`), `n` and what that `counts`, "
        "`participants`, `unit` (`share` from 0 to 1, `points`: a difference of shares, `number`, `count`), `groups`, "
        "`further` numbers by name, `label` and `sentence`.\n\n"
        "In a study that records both editions of DICES, figures of both begin with `dices-350.` and `dices-990.`. "
        "Two figures that would still have the same name are numbered: `_2`.\n"
    )
    for title in dict.fromkeys(family(name) for name in NAMES):
        rows = (f"- `{name}`: {what}\n" for name, what in NAMES.items() if family(name) == title)
        text += f"\n## {title}\n\n{''.join(rows)}"
    return text
