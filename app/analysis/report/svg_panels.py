"""The figure of models alone, people alone and people with models: a panel for each dataset, as in ChatBench's paper.

It is drawn from the estimates `chatbench.accuracy.<dataset>.<model>.<answer_type>`, with the chatbot those by condition
(`...user-AI.<condition>`) where there are such. A panel has a band for each model, and in it a place for each type of
answer: shapes as well as shades tell them apart, so that it can be read in grey. All places are numbers in a panel's
own units, for a page to draw.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.analysis.estimates import SHARE, Estimate, format_interval, format_value
from app.analysis.report.published_comparison import FigureComparison

PREFIX = "chatbench.accuracy."
PARTS = 5
"""So many parts such a name has, with a condition one more."""
WIDTH, HEIGHT = 320, 236
LEFT, RIGHT, TOP, BOTTOM = 48, 6, 10, 34
LONGEST = 22
"""How many letters of a model's name are written below its band."""
SHAPES = {
    "circle": "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0z",
    "square": "M-4.5-4.5h9v9h-9z",
    "up": "M0-5.5L5.4 4.4H-5.4z",
    "down": "M0 5.5L5.4-4.4H-5.4z",
    "cross": "M-4.5-4.5L4.5 4.5M-4.5 4.5L4.5-4.5",
    "diamond": "M0-6.5L5.5 0L0 6.5L-5.5 0z",
}
LOOKS = {
    "alone": (("up", "hollow"), ("up", "full"), ("down", "hollow"), ("down", "full"), ("cross", "hollow")),
    "user-alone": (("square", "hollow"), ("square", "full")),
    "user-AI": (("circle", "full"), ("circle", "hollow"), ("cross", "full")),
}
"""How the types of answers of each kind look, in their order."""
WORDS = {"alone": "AI alone: ", "user-alone": "", "user-AI": ""}
Names = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class MarkStyle:
    """How the answers of a type are drawn, and what they are."""

    path: str
    fill: str
    words: str


@dataclass(frozen=True, slots=True)
class ChartMark:
    """An estimate, or a published figure, and its interval; the shape is drawn around its place."""

    x: float
    y: float
    low: float | None
    high: float | None
    look: MarkStyle
    words: str


@dataclass(frozen=True, slots=True)
class ChartPanel:
    """A dataset: its models with their places, and its marks."""

    title: str
    models: tuple[tuple[float, str], ...]
    borders: tuple[float, ...]
    marks: tuple[ChartMark, ...]


@dataclass(frozen=True, slots=True)
class PanelChart:
    """The figure; `ticks` are places and words of its upright axis, from 0 to 100 %."""

    panels: tuple[ChartPanel, ...]
    legend: tuple[MarkStyle, ...]
    ticks: tuple[tuple[float, str], ...]


PUBLISHED = MarkStyle(SHAPES["diamond"], "theirs", "published, ± 1 standard error")


def panels(estimates: Sequence[Estimate], published: Sequence[FigureComparison] = ()) -> PanelChart | None:
    """The figure of these estimates; None where none of them belongs in it."""
    found = _without_sums({names: one for one in estimates if (names := _names(one.name))})
    if not found:
        return None
    looks = dict(_looks(list(dict.fromkeys(kind for _, _, kind in found))))
    papers = {names: one for one in published if (names := _names(one.estimate.name))}
    drawn = tuple(_panel(dataset, found, papers, looks) for dataset in dict.fromkeys(key[0] for key in found))
    ticks = tuple((_y(share / 100), f"{share} %") for share in range(0, 101, 20))
    return PanelChart(drawn, (*looks.values(), *([PUBLISHED] if papers else [])), ticks)


def _names(name: str) -> Names | None:
    """Dataset, model and type of answer, of a name that has them."""
    parts = name.split(".", PARTS - 1)
    return (parts[2], parts[3], parts[4]) if name.startswith(PREFIX) and len(parts) == PARTS else None


def _without_sums(found: dict[Names, Estimate]) -> dict[Names, Estimate]:
    """Without the types of answers that are there by condition too."""
    by_condition = {(dataset, model, answer.partition(".")[0]) for dataset, model, answer in found if "." in answer}
    return {names: one for names, one in found.items() if names not in by_condition}


def kind_of(answer: str) -> str:
    """Whose answers these are: a person's alone, theirs with a model, or the model's alone."""
    plain = answer.lower().replace("_", "-")
    return next((kind for kind in ("user-alone", "user-AI") if plain.startswith(kind.lower())), "alone")


def _looks(answers: Sequence[str]) -> Iterator[tuple[str, MarkStyle]]:
    """Each type of answer with its look: models alone first, then people alone, then both."""
    for kind, looks in LOOKS.items():
        for number, answer in enumerate(sorted(one for one in answers if kind_of(one) == kind)):
            shape, fill = looks[number % len(looks)]
            yield answer, MarkStyle(SHAPES[shape], fill, WORDS[kind] + answer.replace("_", " ").replace(".", ", "))


def _panel(
    dataset: str, found: dict[Names, Estimate], papers: dict[Names, FigureComparison], looks: dict[str, MarkStyle]
) -> ChartPanel:
    here = {names: one for names, one in found.items() if names[0] == dataset}
    models = list(dict.fromkeys(model for _, model, _ in here))
    answers = [answer for answer in looks if any(names[2] == answer for names in here)]
    band = (WIDTH - LEFT - RIGHT) / len(models)
    marks: list[ChartMark] = []
    for names, one in here.items():
        place = LEFT + band * (models.index(names[1]) + (answers.index(names[2]) + 1) / (len(answers) + 1))
        marks.append(_mark(place, one, looks[names[2]]))
        if names in papers:
            marks.append(_theirs(place + min(9.0, band / (len(answers) + 1) / 2), papers[names]))
    first = {model: next(one for names, one in here.items() if names[1] == model) for model in models}
    parts = (
        (LEFT + band * (n + 0.5), _short(first[model].groups.get("model", model))) for n, model in enumerate(models)
    )
    title = next(iter(here.values())).groups.get("dataset", dataset).replace("_", " ")
    return ChartPanel(title, tuple(parts), tuple(LEFT + band * n for n in range(1, len(models))), tuple(marks))


def _mark(x: float, one: Estimate, look: MarkStyle) -> ChartMark:
    sure = f", {format_interval(one.low, one.high, SHARE)}" if one.low is not None else ""
    words = f"{one.label}: {format_value(one.value, SHARE)}{sure}, n = {one.n:,}"
    low, high = (None, None) if one.low is None or one.high is None else (_y(one.low), _y(one.high))
    return ChartMark(round(x, 1), _y(one.value), low, high, look, words)


def _theirs(x: float, one: FigureComparison) -> ChartMark:
    low, high = map(_y, one.ends) if one.ends else (None, None)
    words = f"published: {format_value(one.published.value, SHARE)} ({one.published.source})"
    return ChartMark(round(x, 1), _y(one.published.value), low, high, PUBLISHED, words)


def _y(share: float) -> float:
    return round(HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * min(1.0, max(0.0, share)), 1)


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
