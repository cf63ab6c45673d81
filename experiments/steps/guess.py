"""Guess: asks which model the participant thinks replied, to test the blinding of a study.

The options are in a participant-specific order, drawn from the session's seed and the path, with the unsure one last.
The browser gets letters in that order, which reveal nothing. The event `submitted` has the chosen option's key in the
study file as `guess`, the event `ordered` all keys in the order shown. `session/guesses.py` grades guesses; no event
does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import ascii_lowercase
from typing import Annotated, Any, Literal, Self

from pydantic import Field as About
from pydantic import model_validator

from experiments.errors import suggestion
from experiments.events import Data
from experiments.session.guesses import UNSURE, repliers, replies, true_options
from experiments.study.fields import Field, LetteredChoice, Options, Scale, SingleChoice
from experiments.study.location import Location, orders_of
from experiments.study.option_order import Draw
from experiments.study.screen import Panel
from experiments.study.step import Step, step
from experiments.study.texts import names

GUESS = "guess"
# The most options: one for each letter, without the one for the unsure option.
MOST = len(ascii_lowercase) - 1
POINTS = {
    "1": "Not at all sure",
    "2": "Slightly sure",
    "3": "Moderately sure",
    "4": "Very sure",
    "5": "Completely sure",
}


@step
class GuessStep(Step):
    """Asks which model the participant thinks replied. At the end of a study it is about all conversations, within a
    loop about those of that turn."""

    step: Literal["guess"]
    text: str = "Which assistant do you think you talked with?"
    """The question, in Markdown."""
    options: Annotated[Options, About(min_length=2, max_length=MOST)]
    """The options: keys for the data, and the texts that participants see. Each participant sees them in another
    order."""
    truth: dict[str, str]
    """The correct option for each of the study's models, such as `{gpt-4o: openai}`. It never leaves the server."""
    unsure_label: str = "I do not know"
    """The label of the last option, recorded as `unsure`."""
    ask_confidence: bool = False
    """Ask as well how sure participants are of the guess. The answer is recorded as `sure`."""
    confidence_text: str = "How sure are you?"
    """The text of that question."""
    confidence_points: Annotated[Options, About(min_length=2)] = POINTS
    """The points of its scale."""
    button: str = "Continue"
    """The label of the button that ends the screen."""

    @model_validator(mode="after")
    def _unsure_is_ours(self) -> Self:
        if UNSURE in self.options:
            raise ValueError(f"the option {UNSURE!r} always exists; set its text with `unsure_label`")
        return self

    @property
    def _words(self) -> dict[str, str]:
        return {**self.options, UNSURE: self.unsure_label}

    def questions_asked(self) -> tuple[Field, ...]:
        return (SingleChoice(name=GUESS, text=self.text, options=self._words), *self._scale())

    def _scale(self) -> tuple[Field, ...]:
        points = Scale(type="scale", name="sure", text=self.confidence_text, options=self.confidence_points)
        return (points,) if self.ask_confidence else ()

    def instructions(self) -> str:
        return ""

    def orders(self, location: Location, draw: Draw) -> Data:
        return {"choices": {GUESS: [*draw(list(self.options), f"{location.path}:guess"), UNSURE]}}

    def fields(self, location: Location) -> tuple[Field, ...]:
        order = orders_of(location.facts).get("choices", {}).get(GUESS, self._words)
        keys = dict(zip(ascii_lowercase, order, strict=False))
        lettered = {letter: self._words[key] for letter, key in keys.items()}
        guess = LetteredChoice(name=GUESS, text=self.text, options=lettered, keys=keys)
        return tuple(field.filled(location.fill_markdown) for field in (guess, *self._scale()))

    def panel(self, location: Location) -> Panel:
        return Panel(self.title, (), self.fields(location), button=self.button)

    def answer_key(self, location: Location) -> Mapping[str, Any]:
        models = repliers(location.path, replies(location.state.events))
        return {"guess": tuple(sorted(true_options(self.truth, models)))} if models else {}

    def provides(self) -> tuple[str, ...]:
        """`guess`, an option's key or `unsure`; and `sure`, if `ask_confidence` is set."""
        return ("guess", "sure") if self.ask_confidence else ("guess",)

    def requires(self) -> frozenset[str]:
        """A conversation before it."""
        return frozenset({"reply"})

    def faults(self, models: Sequence[str]) -> Sequence[str]:
        shown = (self.text, *self._words.values())
        revealing = [label for label in self._words.values() if label in models]
        return [
            *(
                f"`truth`: no model is called {name!r}{suggestion(name, models)}"
                for name in self.truth
                if name not in models
            ),
            *(
                f"`truth` has no {name!r}: name the correct option for this model"
                for name in models
                if name not in self.truth
            ),
            *(
                f"`truth`: {name} is {key!r}, which is not an option{suggestion(key, self.options)}"
                for name, key in self.truth.items()
                if key not in self.options
            ),
            *(
                f"the option {label!r} is a model's name in the study, which participants must not see; use another"
                for label in revealing
            ),
            *(["{{model}} would reveal which model replied"] if any("model" in names(text) for text in shown) else []),
        ]
