"""The page of figures: every stable name that a report's estimates can have, as the analyses declare them."""

from __future__ import annotations

from app.analysis.report.wording import family
from app.analysis.results import NAMES
from docs.tables import table


def figures() -> str:
    """Every pattern of names, with what the figure says."""
    text = (
        "What `parley report STUDY --format json` has under `figures`, by name. A name is stable: a program may go by "
        "it. What stands in `<>` is a value of the data; dots and blanks in it are written `_`. Each figure has its "
        "`value`, the ends of its interval (`low`, `high`, `level`; null where it has none, and `why`), `n` and what "
        "that `counts`, `participants`, `unit` (`share` from 0 to 1, `points`: a difference of shares, `number`, "
        "`count`), `groups`, `further` numbers by name, `label` and `sentence`.\n\n"
        "In a study that records both editions of DICES, figures that both have begin with `dices-350.` and "
        "`dices-990.`. Two figures that would still have one name are numbered: `_2`.\n"
    )
    for title in dict.fromkeys(family(name) for name in NAMES):
        rows = ((f"`{name}`", what) for name, what in NAMES.items() if family(name) == title)
        text += f"\n## {title}\n\n{table(('name', 'what it is'), rows)}"
    return text
