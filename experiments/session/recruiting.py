"""What was asked of a recruiter's API about a study, folded from events of the study's own stream.

    recruiting {act, who, hash, request, cents}  before a request; `cents` is the money that it commits
    recruited {of, study, status} or {of, error} its answer; `of` is the number of the request's event
    asked {act, what, who, cents}, settled {act, result}  money for submissions (`storage.payments.submissions`)

A request with neither, or with `lost`, may have been carried out: the recruiter is looked at before anything else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from experiments.events import Event

# Longer than any request takes: one without an answer is over by then.
IN_PROGRESS_S = 180


@dataclass(frozen=True, slots=True)
class RecruiterAct:
    number: int
    act: str
    who: str
    at_us: int
    cents: int
    request: Mapping[str, Any]
    answer: Mapping[str, Any] | None = None

    @property
    def is_open(self) -> bool:
        return self.answer is None or "lost" in self.answer

    def in_progress(self, now_us: int) -> bool:
        return self.answer is None and now_us - self.at_us < IN_PROGRESS_S * 1_000_000


def fold_acts(events: Iterable[Event]) -> tuple[RecruiterAct, ...]:
    found: dict[int, RecruiterAct] = {}
    bonuses: dict[str, int] = {}
    for event in events:
        data = event.data
        if event.kind == "recruiting":
            known = (data["act"], data["who"], event.at_us, data["cents"], data["request"])
            found[event.seq] = RecruiterAct(event.seq, *known)
        elif event.kind == "recruited":
            found[data["of"]] = replace(found[data["of"]], answer=data)
        elif event.kind == "asked" and "cents" in data:
            bonuses[data["act"]] = event.seq
            known = (data["what"], data["who"], event.at_us, data["cents"], {})
            found[event.seq] = RecruiterAct(event.seq, *known, answer={})
        elif event.kind == "settled" and data["result"] == "refused" and data["act"] in bonuses:
            number = bonuses[data["act"]]
            found[number] = replace(found[number], answer={"error": data["detail"]})
    return tuple(found.values())


def committed_cents(acts: Iterable[RecruiterAct]) -> int:
    """The money of all that was, or may have been, carried out."""
    return sum(act.cents for act in acts if act.answer is None or "error" not in act.answer)


def recruited_studies(acts: Iterable[RecruiterAct]) -> tuple[str, ...]:
    """The recruiter's ids of the studies that were made, the last first."""
    ids = [str(act.answer["study"]) for act in acts if act.answer and act.answer.get("study")]
    return tuple(dict.fromkeys(reversed(ids)))
