"""Instruments: published questionnaires with their wording, their reverse items and the rule of each score.

An instrument is one YAML file. A survey asks it by name (`- instrument: sus`): its items become questions of the
survey, called `<instrument>_<item>`. The scores are computed in experiments/views/instrument_scores.py.
"""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Literal, Self

from pydantic import Field as About
from pydantic import model_validator

from experiments.study.base_model import Slug, StrictModel
from experiments.study.fields import Field, SingleChoice, Slider

MOST_POINTS = 11

# The heading of a table of items whose instrument has no instructions.
HEADING = "Please answer for each statement."


class Points(StrictModel):
    """The scale of items: whole numbers, shown as points to choose from or as a line."""

    minimum: int
    """The number of the lowest point."""
    maximum: int
    """The number of the highest point."""
    labels: dict[int, str] = {}
    """The texts of points that participants read, by number: all of them, or only both ends."""
    shown: Literal["points", "line"] = "points"
    """`points`: one button for each number. `line`: a slider, whose ends have the labels of both ends."""
    step: Annotated[int, About(ge=1)] = 1
    """The distance between two numbers of a line."""

    @model_validator(mode="after")
    def _sound(self) -> Self:
        if self.minimum >= self.maximum:
            raise ValueError(f"minimum {self.minimum} must be below maximum {self.maximum}")
        numbers = range(self.minimum, self.maximum + 1, self.step)
        if numbers[-1] != self.maximum:
            raise ValueError(f"steps of {self.step} from {self.minimum} do not end at {self.maximum}")
        if self.shown == "points" and len(numbers) > MOST_POINTS:
            raise ValueError(f"has {len(numbers)} points; more than {MOST_POINTS} are shown as a line (`shown: line`)")
        allowed = numbers if self.shown == "points" else (self.minimum, self.maximum)
        if strays := [number for number in self.labels if number not in allowed]:
            raise ValueError(f"labels {strays[0]}, which is not {'a point' if self.shown == 'points' else 'an end'}")
        return self

    def options(self) -> dict[str, str]:
        """The points with what is shown. If only some have a label, the number stands before it."""
        numbers = range(self.minimum, self.maximum + 1, self.step)
        if all(number in self.labels for number in numbers):
            return {str(number): self.labels[number] for number in numbers}
        return {str(number): f"({number}) {self.labels.get(number, '')}".strip() for number in numbers}


class Item(StrictModel):
    """One question of an instrument."""

    id: Slug | Annotated[str, About(pattern=r"^[0-9]+$", max_length=60)]
    """Its name in the data, after the name of the instrument and `_`; numbers are allowed."""
    text: str
    """The question, exactly as published."""
    reverse: bool = False
    """True if it is scored in reverse: minimum + maximum − answer."""
    scale: Points | None = None
    """The scale of this item, if it differs from that of the instrument."""


class Score(StrictModel):
    """A score: the mean or the sum of some items, after reverse items have been turned."""

    name: Slug
    """Its name in the data and in the report."""
    title: str = ""
    """The subject that it measures, in a few words."""
    items: tuple[str, ...] = ()
    """The ids of its items. All items of the instrument by default."""
    rule: Literal["mean", "sum"] = "mean"
    """The rule of scoring: the items are averaged or added up."""
    range: tuple[float, float] | None = None
    """The numbers to which the lowest and the highest possible score are mapped, such as `[0, 100]`. Without it the
    score stays as it is."""
    missing: Annotated[int, About(ge=0)] = 0
    """The number of its items that may be unanswered. With more of them there is no score. A sum with unanswered items
    is the mean of the others times the number of items."""


class Instrument(StrictModel):
    """A published questionnaire with its scoring."""

    instrument: Slug
    """The name by which surveys ask it."""
    version: Annotated[int, About(ge=1)] = 1
    """Increased with every change of the file."""
    title: str
    """Its full name; participants do not see it."""
    source: str
    """The publication of its wording and scoring."""
    licence: str
    """The terms under which its wording may be used."""
    licence_url: str
    """The address of the statement of these terms."""
    note: str = ""
    """A note for users of the instrument, such as a difference from the publication."""
    instructions: str = ""
    """The text above the items, if the publication has one: the heading of their table, or the first paragraph of the
    first item if that is on a line."""
    scale: Points | None = None
    """The scale of all items that have none of their own."""
    items: tuple[Item, ...]
    """The items, in their order."""
    scores: tuple[Score, ...]
    """The scores that are computed from them."""

    @model_validator(mode="after")
    def _sound(self) -> Self:
        ids = [item.id for item in self.items]
        for what, names in (("items", ids), ("scores", [score.name for score in self.scores])):
            if not names:
                raise ValueError(f"has no {what}")
            if twice := [name for name, times in Counter(names).items() if times > 1]:
                raise ValueError(f"two {what} are called {twice[0]!r}")
        if without := [item.id for item in self.items if not (item.scale or self.scale)]:
            raise ValueError(f"item {without[0]!r} has no `scale`, and the instrument has none for all items")
        for score in self.scores:
            if strays := [name for name in score.items if name not in ids]:
                raise ValueError(f"score {score.name!r} names the item {strays[0]!r}; there are {', '.join(ids)}")
            if score.missing >= len(self.items_of(score)):
                raise ValueError(f"score {score.name!r} needs at least one answered item; lower `missing`")
        return self

    def scale_of(self, item: Item) -> Points:
        found = item.scale or self.scale
        assert found is not None  # noqa: S101  (validated)
        return found

    def items_of(self, score: Score) -> tuple[Item, ...]:
        return tuple(item for item in self.items if not score.items or item.id in score.items)

    def questions(self, use: InstrumentUse) -> tuple[Field, ...]:
        return tuple(self._question(item, use, first=item is self.items[0]) for item in self.items)

    def _question(self, item: Item, use: InstrumentUse, *, first: bool) -> Field:
        scale, heading = self.scale_of(item), use.text or self.instructions
        own = {"instrument": self.instrument, "item": item.id}
        about = {"name": f"{self.instrument}_{item.id}", "required": use.required, **own}
        if scale.shown == "points":
            return ItemOnPoints(text=item.text, options=scale.options(), matrix=heading or HEADING, **about)
        ends = {"left": scale.labels.get(scale.minimum, ""), "right": scale.labels.get(scale.maximum, "")}
        line = {"minimum": scale.minimum, "maximum": scale.maximum, "step": scale.step}
        above = f"{heading}\n\n" if first and heading else ""
        return ItemOnLine(text=above + item.text, **line, **ends, **about)


class ItemOnPoints(SingleChoice):
    """An item of an instrument as a question of a survey, with points to choose from."""

    instrument: str
    item: str


class ItemOnLine(Slider):
    """An item of an instrument as a question of a survey, with a line."""

    instrument: str
    item: str


class InstrumentUse(StrictModel):
    """In place of a question: all items of an instrument."""

    instrument: Slug
    """The name of an instrument: one that comes with Parley, or one in the folder `instruments` beside the study."""
    text: str = ""
    """The text above its items. The instructions of the instrument by default."""
    required: bool = True
    """True if all its items must be answered before participants can leave the screen."""
