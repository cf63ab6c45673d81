"""What the replies of each condition must and must not be, as a study file says, and what follows if they are not."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import inf
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from experiments.study.base_model import Slug, StrictModel

Check = Literal[
    "language", "words", "characters", "reading_level", "question", "answer", "model_name", "label", "pattern", "judge"
]
# The keys that a check needs (of those in a set, one), and those that it may have besides.
NEEDS: Mapping[str, tuple[frozenset[str], ...]] = {
    "language": (frozenset({"language"}),),
    **dict.fromkeys(("words", "characters", "reading_level"), (frozenset({"minimum", "maximum"}),)),
    "pattern": (frozenset({"pattern"}),),
    "judge": (frozenset({"annotator"}), frozenset({"value"}), frozenset({"one_of", "minimum", "maximum"})),
}
OF_JUDGES = ("wait", "time_limit_s", "budget")
OWN_KEYS = ("language", "minimum", "maximum", "pattern", "annotator", "value", "one_of")


class FidelityRule(StrictModel):
    """What the replies of a condition must or must not be. Participants see nothing of it."""

    name: Slug
    """The name of the rule in the data."""
    where: dict[Slug, str] = {}
    """The condition: values of factors, of a loop's `vary`, or of `model`, the model that is asked. All by default."""
    from_turn: Annotated[int, Field(ge=0)] = 0
    """The first turn to which it applies. Turns count the participant's messages from 1."""
    before_turn: Annotated[int, Field(ge=1)] | None = None
    """The turn from which it no longer applies: with `must_not: answer` and `before_turn: 3`, no answer in the first
    two replies."""
    must: Check | None = None
    """What a reply must be or do. `language`: be in `language`. `words`, `characters`: be of a length from `minimum` to
    `maximum`. `reading_level`: have a Flesch-Kincaid grade of that range (English). `question`: ask a question.
    `answer`: give the right answer. `model_name`: name a model or its maker. `label`: name the speaker by the label
    that participants see. `pattern`: match the regular expression. `judge`: be of this `value` to a model."""
    must_not: Check | None = None
    """What a reply must not be or do; one of the same."""
    language: str = ""
    """The language, such as `de`."""
    minimum: float | None = None
    """The smallest number that fits."""
    maximum: float | None = None
    """The largest number that fits."""
    pattern: str = ""
    """A regular expression (Python's), found anywhere in the reply; `(?i)` in front ignores case."""
    annotator: Slug | None = None
    """The study's annotator whose prompt the judge is asked, about the conversation up to the reply."""
    value: str = ""
    """The property of the annotator's answer that counts."""
    one_of: tuple[str, ...] = ()
    """Its values that fit: words, or `true` and `false`. Of a number, `minimum` and `maximum`."""
    wait: bool = False
    """Whether a reply waits for the judge before it is shown, which `ask_again` and `then: end` need. Without it a
    judge neither delays nor changes a reply."""
    time_limit_s: Annotated[float, Field(gt=0, le=300)] = 20
    """How long a judge may take; then its verdict is missing, and the reply is shown."""
    budget: Annotated[float, Field(gt=0)] | None = None
    """The most that the judge's calls may cost in the whole study, in its currency. Verdicts are missing after that. No
    limit by default."""
    ask_again: Annotated[int, Field(ge=0, le=10)] = 0
    """How often the model is asked again, at most, before a reply is shown that breaks the rule. Such replies are not
    shown while they are written."""
    then: Literal["record", "end"] = "record"
    """What follows if the reply still breaks the rule. `record`: it is shown, and recorded. `end`: it is not shown, and
    the session ends with the outcome `off_protocol`."""

    @property
    def check(self) -> Check:
        found = self.must or self.must_not
        assert found is not None, self.name  # noqa: S101  (validated below)
        return found

    @property
    def withholds(self) -> bool:
        """Whether a reply to which it applies may not be shown at once."""
        return bool(self.ask_again) or self.then == "end"

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, pattern: str) -> str:
        try:
            re.compile(pattern)
        except re.error as error:
            raise ValueError(f"is not a regular expression: {error}") from None
        return pattern

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if bool(self.must) == bool(self.must_not):
            raise ValueError("needs either `must` or `must_not`")
        needed = NEEDS.get(self.check, ())
        for names in needed:
            if all(self._lacks(name) for name in sorted(names)):
                raise ValueError(f"`{self.check}` needs {' or '.join(f'`{name}`' for name in sorted(names))}")
        allowed = {*frozenset().union(*needed), *(OF_JUDGES if self.check == "judge" else ())}
        given = (
            name for name in (*OWN_KEYS, *OF_JUDGES) if getattr(self, name) != type(self).model_fields[name].default
        )
        if idle := [name for name in given if name not in allowed]:
            raise ValueError(f"`{idle[0]}` does not go with `{self.check}`")
        if self.check == "judge" and self.withholds != self.wait:
            raise ValueError("`wait: true` goes with `ask_again` or `then: end`, and these of a judge with it alone")
        return self

    def _lacks(self, name: str) -> bool:
        return getattr(self, name) in (None, "", ())

    def fits(self, value: float) -> bool:
        """Whether a number is between the rule's minimum and maximum, both included."""
        low, high = self.minimum, self.maximum
        return (low is None or value >= low) and (high is None or value <= high)

    @property
    def turns(self) -> tuple[float, float]:
        """The first turn to which it applies, and the first to which it no longer does."""
        return self.from_turn, inf if self.before_turn is None else self.before_turn

    def applies(self, values: Mapping[str, str], turn: int) -> bool:
        first, end = self.turns
        return first <= turn < end and all(values.get(name) == level for name, level in self.where.items())
