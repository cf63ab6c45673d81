"""What a study says about its participants: where they come from, how many, how a session can end, what is paid."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field

from experiments.study.base_model import Config, Slug


def _address(text: str) -> str:
    if text and not text.startswith(("https://", "http://localhost", "http://127.0.0.1")):
        raise ValueError("must be an address that begins with https://")
    return text


OutcomeName = Literal[
    "complete", "screened_out", "failed_attention", "no_consent", "timed_out", "technical_failure", "withdrawn"
]
"""How a session can end; one that has not ended is live."""
Paste = Literal["allow", "log", "block"]
Address = Annotated[str, AfterValidator(_address)]
"""An address that people's browsers are sent to; empty for none."""
Recruiter = Literal["prolific", "connect", "sona", "panel", "lab", "open"]
CENT = Decimal("0.01")
Amount = Annotated[
    Decimal, Field(gt=0, max_digits=9, decimal_places=2), AfterValidator(lambda amount: amount.quantize(CENT))
]
"""Money, exactly: a study is the same whether its file says 0.1, 0.10 or "0.10"."""


class Ending(Config):
    """The last page of an outcome, and what the recruiter is told."""

    title: str = ""
    """Its heading; a common one unless given."""
    text: str = ""
    """What it says, in Markdown; a common sentence unless given."""
    code: str = ""
    """The completion code; give each outcome another one."""
    url: Address = ""
    """Where the code is taken: an https address, in which `{{id}}`, `{{session}}` and `{{code}}` are filled. For
    Prolific it is made from the code unless given."""


class Recruitment(Config):
    """Where participants come from, and what becomes of who comes a second time."""

    channels: tuple[Recruiter, ...] = ()
    """Whose links are let in: prolific, connect, sona, panel (any other with an id in its link), lab (personal links
    made by `parley links`), open (no id). Any of them unless given; who comes by another link reads why not."""
    id_parameter: Slug = "pid"
    """The name under which a panel's links carry the id."""
    repeat_participation: Literal["resume", "refuse", "new_session"] = "resume"
    """Who has ended and comes with a new submission: sees the last page again, reads that it was only once, or begins a
    new session, which the data mark as another attempt. Who has not ended always goes on in their session. It holds for
    whom the browser's cookie or a proof knows; who comes with an id alone, in another browser, begins a session."""
    id_proof: Literal["optional", "required"] = "optional"
    """What an id needs that comes in a link. optional: nothing, and it begins a session that the data mark as not
    proven. required: a proof, which is a personal link, a signed link (`parley links --ids`) or Prolific's token; who
    comes without one reads that the link does not say who they are."""


class Cap(Config):
    """How many are wanted who have completed or are taking part."""

    where: dict[Slug, str] = {}
    """With these values of factors; all participants unless given."""
    max: Annotated[int, Field(ge=0)]
    """How many; 0 lets nobody new in there."""

    def as_data(self) -> dict[str, Any]:
        """The quota as events record it."""
        return {"where": dict(self.where), "most": self.max}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """The quota that an event recorded."""
        return cls(where=data.get("where", {}), max=data["most"])


class Times(Config):
    """How long a session may take, and how long a place is kept. Seconds."""

    time_limit_s: Annotated[float, Field(gt=0)] | None = None
    """From the first click to the end; then the session ends as timed out."""
    warn_before_s: Annotated[float, Field(ge=20)] = 120
    """How long before its end people are warned."""
    idle_after_s: Annotated[float, Field(ge=20)] | None = None
    """After so long without a sign of life the page asks whether somebody is there."""
    away_after_s: Annotated[float, Field(ge=60)] | None = None
    """After so long without a sign of life the session ends as timed out; never unless given."""
    hold_place_s: Annotated[float, Field(ge=60)] = 7200
    """How long after somebody's last step their place is kept for them. Then it may be given to another; who comes back
    later still goes on."""


class Bonus(Config):
    """A rule by which something is paid on top to who completes the study."""

    per: Literal["correct_answer", "answer", "completion"]
    """For what: a question answered correctly, a question answered, or having completed the study."""
    amount: Amount
    """How much for each, in the recruiter's currency."""
    pools: tuple[Slug, ...] = ()
    """Only questions of these pools; all unless given."""
    correct_if: Literal["any", "last", "all"] = "any"
    """Where a question is answered twice: it is correct if any of its answers is (ChatBench), the last, or all."""
    max: Amount | None = None
    """The most that is paid by this rule."""
