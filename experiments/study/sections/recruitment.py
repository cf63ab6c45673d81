"""A study's participants: where they come from, how many, the ends of a session, the pay, and periods of retention."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field

from experiments.money import CENT
from experiments.study.base_model import Slug, StrictModel


def _address(text: str) -> str:
    if text and not text.startswith(("https://", "http://localhost", "http://127.0.0.1")):
        raise ValueError("must be an address that begins with https://")
    return text


DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}
_PERIOD = re.compile(rf"([1-9][0-9]{{0,3}}) ({'|'.join(DAYS)})s?")


def days_of(period: str) -> int:
    """The days of a period; raises ValueError for anything else."""
    found = _PERIOD.fullmatch(" ".join(period.lower().split()))
    if found is None:
        raise ValueError("must be a whole number and a unit: days, weeks, months or years, such as `90 days`")
    return int(found[1]) * DAYS[found[2]]


def _period(text: str) -> str:
    days_of(text)
    return " ".join(text.lower().split())


# A whole number of days, weeks, months (30 days) or years (365 days).
Period = Annotated[str, AfterValidator(_period)]
# How a session can end; one that has not ended is live.
OutcomeName = Literal[
    "complete",
    "screened_out",
    "failed_attention",
    "no_consent",
    "timed_out",
    "technical_failure",
    "off_protocol",
    "withdrawn",
]
Paste = Literal["allow", "log", "block"]
# An address that people's browsers are sent to; empty for none.
Address = Annotated[str, AfterValidator(_address)]
Recruiter = Literal["prolific", "connect", "sona", "panel", "lab", "open"]
# Money, exactly: a study is the same whether its file says 0.1, 0.10 or "0.10".
Amount = Annotated[
    Decimal, Field(gt=0, max_digits=9, decimal_places=2), AfterValidator(lambda amount: amount.quantize(CENT))
]


class EndPage(StrictModel):
    """The last page of an outcome, and its completion code."""

    title: str = ""
    """The heading. A standard heading by default."""
    text: str = ""
    """The text, in Markdown. A standard sentence by default."""
    code: str = ""
    """The completion code. Use a different code for each outcome."""
    url: Address = ""
    """The https address to which the code is submitted; `{{id}}`, `{{session}}` and `{{code}}` are filled in. For
    Prolific it is made from the code by default."""


class Recruitment(StrictModel):
    """The channels by which participants come, and the rules for those who come again."""

    channels: tuple[Recruiter, ...] = ()
    """The channels whose links are accepted; `panel`: any other link with an id, `lab`: personal links of `parley
    recruit links`, `open`: no id. All by default. Other links lead to a page that says why the study cannot
    start."""
    id_parameter: Slug = "pid"
    """The URL parameter that contains the id in a panel's links, in any case. The usual names of other panels are
    read as well."""
    unreadable_id: Literal["report", "refuse"] = "report"
    """The action when a link has an id that cannot be taken: a placeholder that was not filled in, a value that is no
    id, two different ids, or an unknown parameter that looks like an id. `report`: the session starts without an id,
    with the flag `unreadable_id`, if the study accepts links without an id. `refuse`: a page says that the link has no
    valid id."""
    repeat_participation: Literal["resume", "refuse", "new_session"] = "resume"
    """The action when a participant whose session has ended, known by the browser's cookie or a proof, comes with a new
    submission. `resume`: the last page is shown again. `refuse`: a page explains that the study can be taken only once.
    `new_session`: a new session starts, which the data mark as a further attempt."""
    id_proof: Literal["optional", "required"] = "optional"
    """The proof that an id in a link needs: a personal link, a signed link (`parley recruit links --ids`) or
    Prolific's token. `optional`: without one the id starts a session that the data mark as unproven. `required`: it
    starts none."""


class Quota(StrictModel):
    """The number of participants wanted, counting those who have completed the study or are taking part."""

    where: dict[Slug, str] = {}
    """The values of factors that it applies to. All participants by default."""
    max: Annotated[int, Field(ge=0)]
    """The number of participants; 0 admits no new ones."""

    def as_data(self) -> dict[str, Any]:
        return {"where": dict(self.where), "most": self.max}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        return cls(where=data.get("where", {}), max=data["most"])


class SessionLimits(StrictModel):
    """Time limits of a session, and how long a place is held. All in seconds."""

    time_limit_s: Annotated[float, Field(gt=0)] | None = None
    """The time from the first click until the session ends as timed out. No limit by default."""
    warn_before_s: Annotated[float, Field(ge=20)] = 120
    """The time before the end at which participants are warned."""
    idle_after_s: Annotated[float, Field(ge=20)] | None = None
    """After this time without activity the page asks whether the participant is still there. Never by default."""
    away_after_s: Annotated[float, Field(ge=60)] | None = None
    """After this time without activity, the session ends as timed out. Never by default."""
    end_after_unattended: Annotated[int, Field(ge=1)] | None = 2
    """The session ends as timed out when so many screens in a row have run out of time without a key, a click, a
    draft or a visible page. Each such screen has the flag `unattended`. With `null` the session goes on."""
    hold_place_s: Annotated[float, Field(ge=60)] = 7200
    """The time for which a participant's place is held after their last step. One who comes back later still
    continues."""


class Bonus(StrictModel):
    """A rule for a bonus payment to participants who complete the study."""

    per: Literal["correct_answer", "answer", "completion"]
    """The unit of pay: each question answered correctly, each question answered, or completing the study."""
    amount: Amount
    """The amount for each, in the recruiter's currency."""
    pools: tuple[Slug, ...] = ()
    """Only questions of these pools. All by default."""
    correct_if: Literal["any", "last", "all"] = "any"
    """The rule for a question that is answered twice: correct if any of its answers is (ChatBench), if the last is, or
    if all are."""
    max: Amount | None = None
    """The most that this rule pays to one participant."""
