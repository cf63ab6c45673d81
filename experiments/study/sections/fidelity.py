"""Rules on the replies of each condition, as a study file states them, and the actions if a reply breaks them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from experiments.study.base_model import Pattern, Slug, StrictModel

Check = Literal[
    "language", "words", "characters", "reading_level", "question", "answer", "model_name", "label", "pattern", "judge"
]
RANGE = ("minimum", "maximum")
# The keys that a check has to itself; one of the first two is needed.
KEYS: Mapping[str, tuple[str, ...]] = {
    **{"language": ("language",), "pattern": ("pattern",), **dict.fromkeys(("words", "characters"), RANGE)},
    **{"reading_level": RANGE, "judge": ("annotator", "value", *RANGE, "one_of", "wait", "time_limit_s", "budget")},
}


class FidelityRule(StrictModel):
    """A rule on the replies of a condition. Participants see nothing of it."""

    name: Slug
    """The name of the rule in the data."""
    where: dict[Slug, str] = {}
    """The condition: values of factors, of a loop's `vary`, or of `model`, the model that is asked. All by default."""
    before_turn: Annotated[int, Field(ge=1)] | None = None
    """The turn from which it no longer applies: with `must_not: answer` and `before_turn: 3`, no answer in the first
    two replies. Turns count the participant's messages from 1."""
    must: Check | None = None
    """The property that a reply must have. `language`: be in `language`. `words`, `characters`: be of a length from
    `minimum` to `maximum`. `reading_level`: have a Flesch-Kincaid grade of that range (English). `question`: ask a
    question. `answer`: give the right answer. `model_name`: name a model or its maker. `label`: name the speaker by the
    label that participants see. `pattern`: match the regular expression. `judge`: be of this `value` to a model."""
    must_not: Check | None = None
    """The property that a reply must not have; one of the same."""
    language: str = ""
    """The language, such as `de`."""
    minimum: float | None = None
    """The smallest number that fits."""
    maximum: float | None = None
    """The largest number that fits."""
    pattern: Pattern = ""
    """A regular expression (Python's), found anywhere in the reply; `(?i)` in front ignores case. If that takes over
    0.05 s, there is no verdict."""
    annotator: Slug | None = None
    """The study's annotator whose prompt the judge is asked, about the conversation up to the reply."""
    value: str = ""
    """The property of the annotator's answer that counts. By default it fits if it is true."""
    one_of: tuple[str, ...] = ()
    """Its values that fit. Of a number, `minimum` and `maximum`."""
    wait: bool = False
    """True if a reply waits for the judge before it is shown, which `ask_again` and `then: end` need. Without it a
    judge neither delays nor changes a reply."""
    time_limit_s: Annotated[float, Field(gt=0, le=300)] = 20
    """The time limit of a judge; after it the verdict is missing, and the reply is shown."""
    budget: Annotated[float, Field(gt=0)] | None = None
    """The most that the judge's calls may cost in the whole study, in its currency. Verdicts are missing after that. No
    limit by default."""
    ask_again: Annotated[int, Field(ge=0, le=10)] = 0
    """The maximum number of further calls before a reply is shown that breaks the rule. Replies are then not shown
    while they are written."""
    then: Literal["record", "end"] = "record"
    """The action if the reply still breaks the rule. `record`: it is shown, and recorded. `end`: it is not shown, and
    the session ends with the outcome `off_protocol`."""

    @property
    def check(self) -> str:
        return self.must or self.must_not or ""

    @property
    def withholds(self) -> bool:
        """True if a reply to which it applies may have to stay hidden at first."""
        return bool(self.ask_again) or self.then == "end"

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if bool(self.must) == bool(self.must_not):
            raise ValueError("needs either `must` or `must_not`")
        own = KEYS.get(self.check, ())
        fields = {name: type(self).model_fields[name] for names in KEYS.values() for name in names}
        given = {name for name, field in fields.items() if getattr(self, name) != field.default}
        if own and given.isdisjoint(own[:2]):
            raise ValueError(f"`{self.check}` needs {' or '.join(f'`{name}`' for name in own[:2])}")
        if idle := sorted(given - set(own)):
            raise ValueError(f"`{idle[0]}` does not go with `{self.check}`")
        if self.check == "judge" and self.withholds != self.wait:
            raise ValueError("`wait: true` goes with `ask_again` or `then: end`, and these of a judge with it alone")
        return self

    def applies(self, values: Mapping[str, str], turn: int) -> bool:
        within = self.before_turn is None or turn < self.before_turn
        return within and all(values.get(name) == level for name, level in self.where.items())
