"""Recruitment of a study at Prolific by its API (`parley recruit prolific`). It is part of the study's hash: what
participants are promised decides who comes and how they work."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from experiments.study.base_model import StrictModel, Values
from experiments.study.sections.recruitment import Amount, OutcomeName

CodeAction = Literal["approve", "review", "return", "screen_out"]
# Prolific's type of each outcome's code, and what it does with who enters it unless the study says otherwise.
CODES: Mapping[OutcomeName, tuple[str, CodeAction]] = {
    "complete": ("COMPLETED", "review"),
    "screened_out": ("FIXED_SCREENOUT", "return"),
    "failed_attention": ("FAILED_ATTENTION_CHECK", "review"),
    "no_consent": ("NO_CONSENT", "return"),
    "timed_out": ("OTHER", "review"),
    "technical_failure": ("OTHER", "review"),
    "off_protocol": ("OTHER", "review"),
    "withdrawn": ("OTHER", "return"),
}


class ScreenOut(StrictModel):
    """A payment for participants who are screened out."""

    reward: Amount
    """The payment for each; less than the study's reward."""
    places: Annotated[int, Field(ge=1)]
    """The number of people paid so. With more of them Prolific pauses the study."""


class ProlificRecruitment(StrictModel):
    """Recruitment of a study at Prolific by its API. The places are the study's quota."""

    description: str
    """The text that Prolific shows to those who can take part."""
    reward: Amount
    """The payment for each complete submission, in the currency of the account at Prolific."""
    minutes: Annotated[int, Field(ge=1)]
    """The expected duration. Once there are complete sessions, their median replaces it."""
    spend_limit: Amount
    """The most that may be spent at Prolific on this study, in all its versions: rewards of all places, screen-outs
    and bonuses, with Prolific's fees."""
    fee_percent: Annotated[Decimal, Field(gt=0)] | None = None
    """The most that Prolific's fees and their tax add to rewards, in percent. Only needed if Prolific's API does not
    tell what the study costs: without either nothing is published, as the limit could not be kept."""
    max_minutes: Annotated[int, Field(ge=1)] | None = None
    """The time after which Prolific ends a submission. Prolific's own rule by default."""
    devices: tuple[Literal["desktop", "tablet", "mobile"], ...] = ("desktop", "tablet", "mobile")
    """The devices on which the study can be taken. All by default."""
    peripherals: tuple[Literal["audio", "camera", "download", "microphone"], ...] = ()
    """Further equipment that participants need."""
    filters: tuple[Values, ...] = ()
    """Prolific's filters, as its API has them, such as `{filter_id: handedness, selected_values: ["2"]}`. Participant
    groups are filters too: `{filter_id: participant_group_allowlist, selected_values: [ID]}` lets only their members
    take part, and `participant_group_blocklist` everybody else."""
    filter_set: str = ""
    """The id of a saved set of filters, in place of `filters`."""
    add_to_group: str = ""
    """The id of the participant group to which those who complete the study are added."""
    project: str = ""
    """The id of the project at Prolific. That of the account by default."""
    codes: dict[OutcomeName, CodeAction] = {}
    """Prolific's action on a participant who enters an outcome's code. `approve`: pays at once. `review`: waits for
    approval. `return`: asks for a return. `screen_out`: pays as in `screen_out`. By default `return` for no_consent,
    screened_out and withdrawn, and `review` for the others."""
    approval: Literal["by_hand", "automatic"] = "by_hand"
    """The approval of complete submissions with the code action `review`: by a researcher, or by the server once they
    await review. One that is excluded, flagged, has failed an attention check, or whose ID is paid by another session
    waits for a researcher in any case. Nothing is rejected automatically."""
    screen_out: ScreenOut | None = None
    """The payment of participants who are screened out."""

    def action(self, outcome: OutcomeName) -> CodeAction:
        default = "screen_out" if outcome == "screened_out" and self.screen_out else CODES[outcome][1]
        return self.codes.get(outcome, default)

    @model_validator(mode="after")
    def _fitting(self) -> Self:
        if self.filter_set and self.filters:
            raise ValueError("has both `filter_set` and `filters`; Prolific takes either, so keep one")
        if "screen_out" in self.codes.values() and self.screen_out is None:
            raise ValueError("has a code with `screen_out`, which needs `screen_out: {reward: ..., places: ...}`")
        if self.screen_out and self.screen_out.reward >= self.reward:
            raise ValueError("has a `reward` in `screen_out` that is not less than the reward")
        return self
