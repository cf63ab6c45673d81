"""The page of figures: every stable name of a report's estimates, as the analyses declare them."""

from __future__ import annotations

from app.extensions.analysis.report.wording import family
from app.extensions.analysis.results import figure_names

VARIANTS = (
    ", by condition",
    "; only raters kept in the release",
    " for an instrument that several surveys ask, by the path of the survey",
    ", for an instrument that several surveys ask, by the path of the survey",
)


def figures() -> str:
    text = (
        "The figures of `parley report STUDY --format json`, by name. Names are stable, so programs can rely on them. "
        "`<>` marks a value of the data; dots and blanks in it become `_`. Each figure has its `value`, the ends of "
        "its interval (`low`, `high`, `level`; null if it has none, and `why`), `n` and what that `counts`, "
        "`participants`, `unit` (`share` from 0 to 1, `points`: a difference of shares, `number`, `count`), `groups`, "
        "`further` numbers by name, `label` and `sentence`.\n\n"
        "`kept` in a name: only raters kept in the release. `_at`: of an instrument that several surveys ask, by the "
        "path of the survey. In a study that records both editions of DICES, figures of both begin with `dices-350.` "
        "and `dices-990.`. Two figures that would still have the same name are numbered: `_2`.\n"
    )
    for title in dict.fromkeys(family(name) for name in figure_names()):
        names: dict[str, list[str]] = {}
        for name, what in figure_names().items():
            if family(name) == title:
                names.setdefault(_without_variant(what), []).append(f"`{name}`")
        rows = (f"- {', '.join(alike)}: {what}\n" for what, alike in names.items())
        text += f"\n## {title}\n\n{''.join(rows)}"
    return text


def _without_variant(what: str) -> str:
    for variant in VARIANTS:
        what = what.removesuffix(variant)
    return what
