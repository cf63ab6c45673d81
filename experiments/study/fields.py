"""The fields of forms: a class for each kind of question, with the validation of its answers.

A missing answer is recorded as None, never as 0, a middle or a first option. A browser sends text (or a list of texts);
`read` returns the value that the log stores, or raises Invalid with a message for the participant.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, WithJsonSchema, model_validator
from pydantic import Field as About

from experiments.errors import suggestion, unknown
from experiments.instruments.scales import QUESTIONS, SCALES
from experiments.study.base_model import Name, StrictModel
from experiments.study.number_input import GroupedThousands, read_number
from experiments.study.sections.recruitment import Paste
from experiments.study.texts import lazy
from problems.problem import Option
from problems.text import clean


def typed(value: Any) -> str:
    """A text, a number or a truth value as the author typed it; raises ValueError for anything else."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    raise ValueError(f"{value!r} is neither a text nor a number; put it in quotes if it is a text")


class Invalid(ValueError):
    """An answer is not accepted. The text is the message for the participant."""

    @property
    def said(self) -> str:
        """The message as a LazyString, which can be translated."""
        text: str = self.args[0]
        return text


class Field(StrictModel):
    """Base of all fields: a name for the data, a text for the person, and True if an answer is required."""

    name: Name
    """The name of the answer in the log and in exports."""
    text: str = ""
    """The question, in Markdown. `{{name}}` refers to a value."""
    help: str = ""
    """A smaller line below the question."""
    required: bool = True
    """True if participants must answer before they can leave the screen."""

    def read(self, value: Any) -> Any:
        """The value to store, or None if there is no answer; raises Invalid."""
        if value is None or value == [] or (isinstance(value, str) and not value.strip()):
            if self.required:
                raise Invalid("Please answer this question.")
            return None
        return self.accept(value)

    def accept(self, value: Any) -> Any:
        """The value to store for a non-empty answer; raises Invalid."""
        raise NotImplementedError

    def filled(self, fill: Callable[[str], str]) -> Self:
        """The field with the `{{names}}` in its texts replaced; itself if there are none, as copying is slow."""
        changed = {name: text for name, text in self._texts(fill).items() if text != getattr(self, name)}
        return self.model_copy(update=changed) if changed else self

    def _texts(self, fill: Callable[[str], str]) -> dict[str, Any]:
        """The texts that `filled` changes; a kind with more texts adds them."""
        return {"text": fill(self.text), "help": fill(self.help)}


class TextField(Field):
    """A box for words of one's own."""

    max_chars: int
    """The maximum length of the text, in characters."""
    paste: Paste | None = None
    """The effect of pasting into the box: `allow`, `log` or `block`. The study's `paste` by default."""

    def accept(self, value: Any) -> str:
        return read_text(value, self.max_chars, required=self.required)


def read_text(value: Any, max_chars: int, *, required: bool) -> str:
    """A text of at most `max_chars` characters once it is cleaned; raises Invalid."""
    if not isinstance(value, str):
        raise Invalid("Please enter text.")
    text = clean(value).strip()
    if required and not text:
        raise Invalid("Please answer this question.")
    if len(text) > max_chars:
        message = lazy(
            "Please use at most {most:,} characters. You have entered {count:,}.", most=max_chars, count=len(text)
        )
        raise Invalid(message)
    return text


SHORT_CHARS = 500
# The longest long answer, so that several on a screen fit into a request of 64 KiB, in any script.
LONG_CHARS = 5_000
# The largest number. Beyond it, numbers are not exact in every database and program that may read them.
LARGEST = 10**15


def _as_options(value: Any) -> Any:
    if isinstance(value, list | tuple):
        texts = [typed(item) for item in value]
        twice = sorted(text for text, times in Counter(texts).items() if times > 1)
        if twice:
            raise ValueError(f"the option {twice[0]!r} is listed twice")
        return {text: text for text in texts}
    return {str(key): typed(label) for key, label in value.items()} if isinstance(value, Mapping) else value


Options = Annotated[
    dict[str, str],
    BeforeValidator(_as_options),
    WithJsonSchema(
        {
            "description": "A list of texts, or a mapping from what is stored to what people read.",
            "anyOf": [
                {"type": "array", "items": {"type": ["string", "number"]}},
                {"type": "object", "additionalProperties": {"type": "string"}},
            ],
        },
        mode="validation",
    ),
]


Text = Annotated[str, BeforeValidator(typed)]


class ChoiceField(Field):
    """A field with a closed set of options: stored value -> what people read."""

    options: Options = {}
    """A list of texts, or a mapping from stored values to the texts that participants see."""

    @property
    def numeric(self) -> bool:
        return all(key.lstrip("-").isdigit() for key in self.options)

    def choose(self, value: Any) -> str:
        if isinstance(value, str | int) and typed(value) in self.options:
            return typed(value)
        raise Invalid("Please choose one of the options shown.")

    def _texts(self, fill: Callable[[str], str]) -> dict[str, Any]:
        return {**super()._texts(fill), "options": {key: fill(label) for key, label in self.options.items()}}


def _listed(field: SingleChoice | MultipleChoiceField) -> None:
    """Raise ValueError if an option that is to stay last is not among the options."""
    for key in field.last or ():
        if key not in field.options:
            raise ValueError(f"`last` has {key!r}, which is no option{suggestion(key, field.options)}")


class MatrixField(ChoiceField):
    """A field that can be a row of a table."""

    matrix: str = ""
    """The heading of a table. Consecutive questions with the same heading and the same options become its rows."""

    def _texts(self, fill: Callable[[str], str]) -> dict[str, Any]:
        return {**super()._texts(fill), "matrix": fill(self.matrix)}


class SingleChoice(MatrixField):
    """One of several options."""

    type: Literal["single_choice"] = "single_choice"
    last: tuple[Text, ...] | None = None
    """The options that stay last where options are shuffled, such as `[Other, None of these]`."""

    def accept(self, value: Any) -> str:
        return self.choose(value)

    @model_validator(mode="after")
    def _has_options(self) -> Self:
        if len(self.options) < 2:
            raise ValueError("needs at least two options")
        _listed(self)
        return self


class MultipleChoiceField(ChoiceField):
    """Any number of several options; kept in the order in which they are listed."""

    type: Literal["multiple_choice"] = "multiple_choice"
    last: tuple[Text, ...] | None = None
    """The options that stay last where options are shuffled, such as `[Other, None of these]`."""

    def accept(self, value: Any) -> list[str]:
        values = value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
        chosen = {self.choose(item) for item in values}
        return [key for key in self.options if key in chosen]

    @model_validator(mode="after")
    def _has_options(self) -> Self:
        if not self.options:
            raise ValueError("needs at least one option")
        _listed(self)
        return self


class Scale(MatrixField):
    """A rating on a named scale (helpfulness, correctness, solo_solve, confidence) or on points of your own. Points
    that are numbers are stored as integers."""

    type: Literal["scale"] = "scale"
    name: Name = ""
    """The name of the answer in the log and in exports. The named scale's own by default."""
    scale: str | None = None
    """A named scale. Its wording is part of the instrument and cannot be changed."""

    @model_validator(mode="before")
    @classmethod
    def _named(cls, raw: Any) -> Any:
        if not isinstance(raw, dict) or raw.get("scale") is None:
            return raw
        name = raw["scale"]
        if name not in SCALES:
            raise ValueError(unknown("scale", str(name), SCALES))
        points = {"options": dict(SCALES[name]), "text": QUESTIONS[name], "name": name}
        return {**points, **raw}

    @model_validator(mode="after")
    def _has_points(self) -> Self:
        if len(self.options) < 2:
            raise ValueError("needs a `scale` or at least two options")
        if not self.name:
            raise ValueError("needs a `name`")
        return self

    def accept(self, value: Any) -> int | str:
        point = self.choose(value)
        return int(point) if self.numeric else point


class Number(Field):
    """A number in a range. Participants can type a decimal point or a decimal comma, in the digits of any script."""

    type: Literal["number"] = "number"
    minimum: float | None = None
    """The smallest number accepted."""
    maximum: float | None = None
    """The largest number accepted."""
    integer: bool = True
    """True if only whole numbers are accepted."""
    unit: str = ""
    """The unit, shown behind the box."""

    @model_validator(mode="after")
    def _has_room(self) -> Self:
        if self.minimum is not None and self.maximum is not None and self.minimum > self.maximum:
            raise ValueError(f"minimum {self.minimum:g} is above maximum {self.maximum:g}")
        return self

    def accept(self, value: Any) -> int | float:
        try:
            number = read_number(str(value).strip().removesuffix(self.unit), integer=self.integer)
        except GroupedThousands:
            raise Invalid("Please enter the number without separators between thousands.") from None
        except ValueError:
            raise Invalid("Please enter a whole number." if self.integer else "Please enter a number.") from None
        low = self.minimum if self.minimum is not None else -LARGEST
        high = self.maximum if self.maximum is not None else LARGEST
        if not low <= number <= high or abs(number) > LARGEST:
            raise Invalid(self._range())
        return number

    def _texts(self, fill: Callable[[str], str]) -> dict[str, Any]:
        return {**super()._texts(fill), "unit": fill(self.unit)}

    def _range(self) -> str:
        low, high = self.minimum, self.maximum
        if low is not None and high is not None:
            return lazy("Please enter a number from {low} to {high}.", low=f"{low:g}", high=f"{high:g}")
        if low is not None:
            return lazy("Please enter a number of at least {low}.", low=f"{low:g}")
        return lazy("Please enter a number of at most {high}.", high=f"{LARGEST if high is None else high:g}")


class Slider(Field):
    """A whole number on a line between two ends. The handle appears only after the participant has chosen a
    position."""

    type: Literal["slider"] = "slider"
    minimum: int = 0
    """The number at the left end."""
    maximum: int = 100
    """The number at the right end."""
    step: Annotated[int, About(ge=1)] = 1
    """The distance between two numbers."""
    left: str = ""
    """The label of the left end."""
    right: str = ""
    """The label of the right end."""

    @model_validator(mode="after")
    def _has_room(self) -> Self:
        if self.minimum + self.step > self.maximum:
            raise ValueError(f"has no two numbers from {self.minimum} to {self.maximum} in steps of {self.step}")
        return self

    def accept(self, value: Any) -> int:
        places = {str(place): place for place in range(self.minimum, self.maximum + 1, self.step)}
        if str(value).strip() not in places:
            raise Invalid("Please choose a position on the scale.")
        return places[str(value).strip()]

    def _texts(self, fill: Callable[[str], str]) -> dict[str, Any]:
        return {**super()._texts(fill), "left": fill(self.left), "right": fill(self.right)}


class ShortText(TextField):
    """A line of text."""

    type: Literal["short_text"] = "short_text"
    max_chars: Annotated[int, About(ge=1, le=SHORT_CHARS)] = SHORT_CHARS
    """The maximum length of the text, in characters."""


class LongText(TextField):
    """Several lines of text."""

    type: Literal["long_text"] = "long_text"
    max_chars: Annotated[int, About(ge=1, le=LONG_CHARS)] = LONG_CHARS
    """The maximum length of the text, in characters."""


class ProposedText(LongText):
    """A text that is there already, to be changed or deleted. No study file has it."""

    required: bool = False
    proposed: Annotated[str, About(exclude=True)]


class Checkbox(Field):
    """A box to tick: a promise or a consent."""

    type: Literal["checkbox"] = "checkbox"

    def accept(self, value: Any) -> bool:
        if value in (True, "on", "true", "yes"):
            return True
        raise Invalid("Please tick the box to continue.")


AnyField = Annotated[
    SingleChoice | MultipleChoiceField | Scale | Number | Slider | ShortText | LongText | Checkbox,
    About(discriminator="type"),
]


KINDS = (SingleChoice, MultipleChoiceField, Scale, Number, Slider, ShortText, LongText, Checkbox)


# The longest text that a draft keeps, in characters: the participant may still shorten it.
DRAFT_CHARS = 192 * 1024


def draft_chars(field: Field) -> int:
    if isinstance(field, TextField):
        return DRAFT_CHARS
    return sum(len(value) + 4 for value in field.options) if isinstance(field, MultipleChoiceField) else SHORT_CHARS


def read_form(fields: Sequence[Field], given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """The values to store, and the error of each invalid field; further values are ignored."""
    values: dict[str, Any] = {}
    faults: dict[str, str] = {}
    for item in fields:
        try:
            values[item.name] = item.read(given.get(item.name))
        except Invalid as fault:
            faults[item.name] = fault.said
    return values, faults


ANSWER = Field(name="answer", text="{{problem.text}}")


class LetteredChoice(SingleChoice):
    """A choice between options that the browser knows by letters in the order in which they are shown."""

    keys: Annotated[dict[str, str], About(exclude=True, repr=False)]
    """The stored values by letter; in no screen, as they may say which option is right."""

    def accept(self, value: Any) -> str:
        return self.keys[super().accept(value)]


def stored(fields: Sequence[Field], entered: Mapping[str, Any]) -> dict[str, Any]:
    """The content of a form that was not sent, with stored values in place of letters."""
    keys = {field.name: field.keys for field in fields if isinstance(field, LetteredChoice)}
    return {name: keys.get(name, {}).get(str(value), value) for name, value in entered.items()}


@lru_cache(maxsize=1_000)
def choice(options: tuple[Option, ...], keys: tuple[str, ...] = ()) -> SingleChoice:
    """The field, cached, as people have problems in common. `keys` are what is stored, for options with letters."""
    texts = {option.key: option.text for option in options}
    if keys:
        return LetteredChoice(name="answer", options=texts, keys=dict(zip(texts, keys, strict=True)))
    return SingleChoice(name="answer", options=texts)
