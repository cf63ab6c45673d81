"""What use cases need of a recruiter with an API. Recruiters without one have links and lists (`app/use_cases/pay`)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict, model_validator

from experiments.money import Money


class Answer(BaseModel):
    """A part of an answer of an API. What is not used of it is ignored, and null is as if it were not there."""

    model_config = ConfigDict(frozen=True, extra="ignore", coerce_numbers_to_str=True)

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, value: Any) -> Any:
        return {key: part for key, part in value.items() if part is not None} if isinstance(value, dict) else value


class Submission(Answer):
    """A submission at a recruiter. `status` is one of `storage.payments.prolific.STATUSES`."""

    id: str
    participant_id: str
    status: str
    study_id: str = ""
    code: str = ""
    started_at: datetime | None = None
    completed_at: datetime | None = None
    return_requested: datetime | None = None
    reward_cents: int = 0
    bonus_cents: tuple[int, ...] = ()
    """The bonuses that were paid."""


class BonusRun(Answer):
    """Bonuses that were announced and are not paid before `pay_bonuses`; in the currency's cents."""

    id: str
    amount: float
    fees: float
    total_amount: float


class Recruiter(Protocol):
    """A recruiter's API. All methods raise RecruiterError."""

    name: str

    def submissions(self, study: str) -> tuple[Submission, ...]: ...

    def submission(self, submission: str) -> Submission: ...

    def approve(self, submissions: Collection[str]) -> None:
        """Ask for the approval of submissions that await review; carried out later."""
        ...

    def reject(self, submission: str, message: str, category: str) -> Submission: ...

    def request_return(self, submission: str, reasons: Sequence[str]) -> None: ...

    def announce_bonuses(self, study: str, bonuses: Mapping[str, Money]) -> BonusRun:
        """Bonuses by the id of a submission or a participant. Nothing is paid yet."""
        ...

    def pay_bonuses(self, run: str) -> None: ...

    def send_message(self, participants: Collection[str], body: str, study: str) -> None: ...
