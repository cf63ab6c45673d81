"""Draw the orders in which options, questions and columns are shown (`location.orders_of`).

An order is drawn from the session's seed before the screen is shown, and recorded as the event `ordered` at the step,
which has of these what was drawn: `options`, the keys of the problem's options from first to last; `choices`, the
options of the step's own questions by name; `questions`, their names; `models`, those of a comparison's columns from
left to right. A problem's options get the letters of their places. Participants, browsers and models know these letters
alone; the log has the keys.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from string import ascii_uppercase
from typing import Literal

from experiments.study.fields import Field, MultipleChoiceField, SingleChoice

ORDERED = "ordered"
Order = Literal["listed", "shuffled", "shuffled_once"]
# The items in random order, by the label of the draw.
Draw = Callable[[Sequence[str], str], Sequence[str]]
LETTERS = ascii_uppercase


def drawn(order: Order, keys: Sequence[str], label: str, draw: Draw) -> list[str]:
    """The keys in random order. `shuffled_once` draws one order of places for all that have as many keys."""
    places = {str(place): key for place, key in enumerate(keys)}
    label = "options" if order == "shuffled_once" else f"{label}:options"
    return [places[place] for place in draw(list(places), label)]


def drawn_choices(order: Order, fields: Sequence[Field], draw: Draw) -> dict[str, list[str]]:
    """The options by name; a table's rows have theirs in common. Points of scales and `last` options stay in order."""
    if order == "listed":
        return {}
    found = {}
    for field in fields:
        if isinstance(field, SingleChoice | MultipleChoiceField) and type(field) in (SingleChoice, MultipleChoiceField):
            last = field.last or ()
            free = [key for key in field.options if key not in last]
            found[field.name] = [*drawn(order, free, getattr(field, "matrix", "") or field.name, draw), *last]
    return found


def choice_faults(order: Order | None, fields: Sequence[Field]) -> list[str]:
    """An error if the options of these questions are to be shuffled, and none has any."""
    chosen = drawn_choices(order or "listed", fields, lambda items, label: items)
    return (
        [] if chosen or order in (None, "listed") else [f"`options: {order}`: no question has options to choose from"]
    )
