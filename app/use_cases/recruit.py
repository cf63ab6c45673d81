"""Recruit: open and close studies, quotas, budgets and links."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import Any
from urllib.parse import urlencode

from app.clock import Clock
from app.studies.link_ids import ID, LAB, LAB_CHANNEL, RECRUITERS, SIGNATURE, clean_id
from app.use_cases.pay import count_strangers
from experiments.errors import NotPossible, suggestion
from experiments.plural import count
from experiments.session.study_status import Decision, StudyStatus
from experiments.study.study import Study
from storage.accounts.audit_log import AuditLog
from storage.db.engine import Database
from storage.log.seats import cell_key
from storage.payments.submissions import OVER, Observation, observe
from storage.registers.contacts import PROLIFIC
from storage.registers.participants import ParticipantId, Participants
from storage.registers.study_status import StatusTransaction, decided, operations_of

# The channels whose links can be signed. A lab's personal links are always signed.
SIGNED = ("panel", "sona", "connect", "prolific")
MOST_PARTICIPANTS, MOST_LINKS = 1_000_000, 10_000
Cell = Mapping[str, str]
# A link with the label or ID that it is for before it.
Link = tuple[str, str]


@dataclass(frozen=True, slots=True)
class ReleasedPlaces:
    submissions: int
    places: int
    strangers: int

    def __str__(self) -> str:
        over = count(self.submissions, "submission was", "submissions were")
        free = count(self.places, "place is", "places are")
        unknown = count(self.strangers, "ID belongs", "IDs belong")
        return f"{over} returned, timed out or rejected; {free} free again; {unknown} to no session of this study."


def decide(database: Database, study: str, decision: Decision, who: str, clock: Clock, why: str = "") -> StudyStatus:
    """Pilot, open, pause, close or archive a study; its status then. Raises NotPossible if that does not fit it."""
    data = {"why": why.strip() or decision} if decision in ("paused", "closed") else {}
    _record(database, study, decision, data, (who, decision, study), clock)
    return operations_of(database, study)


def set_quota(database: Database, study: Study, cell: Cell, most: float | None, who: str, clock: Clock) -> None:
    """Limit how many complete a study or a cell of it, or take part; None for no limit. Raises NotPossible."""
    if most is not None and not (isinstance(most, int) and 0 <= most <= MOST_PARTICIPANTS):
        raise NotPossible(f"A quota is a whole number from 0 to {MOST_PARTICIPANTS:,}; 0 admits no new participants.")
    what = "removed the quota" if most is None else f"set the quota to {most}"
    _record(database, study.name, "capped", {"where": cell, "most": most}, (who, what, _whom(study, cell)), clock)


def set_budget(database: Database, study: Study, cell: Cell, amount: float | None, who: str, clock: Clock) -> None:
    """Limit the cost of the models of a study or a cell of it; None for no limit. Raises NotPossible."""
    if amount is not None and not 0 <= amount < inf:
        raise NotPossible(f"A budget is an amount in {study.file.currency}, 0 or more.")
    what = "removed the budget" if amount is None else f"set the budget to {amount:,.2f}"
    data = {"amount": amount, "where": cell}
    _record(database, study.name, "budgeted", data, (who, what, _whom(study, cell)), clock)


def _whom(study: Study, cell: Cell) -> str:
    return f"{study.name}: {cell_key(cell) or 'all participants'}"


def _record(
    database: Database,
    study: str,
    decision: Decision,
    data: Mapping[str, Any],
    said: tuple[str, str, str],
    clock: Clock,
) -> None:
    """Write a decision, and in the same transaction who decided what about whom into the audit log."""
    audit = AuditLog(database, clock.now_us)

    def write(transaction: StatusTransaction) -> None:
        transaction.add(decision, data, by="researcher", at_us=clock.now_us())
        audit.forward(transaction.connection, *said)

    decided(database, study, write)


def accepts_personal_links(study: Study) -> bool:
    channels = study.file.recruitment.channels
    return not channels or LAB_CHANNEL in channels


def personal_links(
    participants: Participants, study: Study, address: str, number: int, prefix: str = "P"
) -> list[Link]:
    """Links that each give one participant one session, labelled by a prefix and a number; raises NotPossible."""
    if not accepts_personal_links(study):
        by = ", ".join(study.file.recruitment.channels)
        instead = " or create signed links for the recruiter's IDs" if signers(study) else ""
        raise NotPossible(
            f"{study.name} does not accept personal links: its recruitment has `channels: [{by}]`. Add `lab` to them "
            f"and publish the study{instead}."
        )
    if not ID.fullmatch(prefix or "0") or not 1 <= number <= MOST_LINKS:
        raise NotPossible(
            f"Links: {number:,}, that begin with {prefix!r}; allowed are 1 to {MOST_LINKS:,}, letters, digits and . _ -"
        )
    labels = [f"{prefix}{one:0{len(str(number))}}" for one in range(1, number + 1)]
    return [(label, f"{address}/s/{study.name}?{LAB}={participants.link(study.name, label)}") for label in labels]


def signed_links(participants: Participants, study: Study, address: str, text: str, recruiter: str = "") -> list[Link]:
    """Links with a signature for a recruiter's IDs, one a line of a text; raises NotPossible."""
    recruiter = _signing(study, recruiter)
    name = RECRUITERS[recruiter].id if recruiter in RECRUITERS else study.file.recruitment.id_parameter
    at, signature = f"{address}/s/{study.name}?", partial(participants.signature, study.name, recruiter)
    return [(id_, at + urlencode({name: id_, SIGNATURE: signature(id_)})) for id_ in listed_ids(text)]


def signers(study: Study) -> list[str]:
    by = study.file.recruitment.channels
    return [name for name in SIGNED if not by or name in by]


def _signing(study: Study, given: str) -> str:
    """The recruiter whose IDs are signed: the one given if the study accepts it, else the study's own."""
    by, fit = study.file.recruitment.channels, signers(study)
    if given in fit or (not given and len(fit) == 1):
        return given or fit[0]
    if given in SIGNED or not fit:
        raise NotPossible(
            f"{study.name} does not accept signed links: its recruitment has `channels: [{', '.join(by)}]`"
        )
    raise NotPossible(f"For signed links choose a recruiter, not {given!r}{suggestion(given, fit)}")


def listed_ids(text: str) -> list[str]:
    """The IDs in a text, one a line; raises NotPossible if there are none, or one that a link cannot have."""
    lines = {number: line.strip() for number, line in enumerate(text.split("\n"), start=1) if line.strip()}
    wrong = [f"line {number}: {id_!r}" for number, id_ in lines.items() if not clean_id(id_)]
    if wrong or not lines:
        raise NotPossible(
            "Signed links need one ID a line, of up to 128 letters, digits and . _ @ : + = ~ * / -", *wrong[:5]
        )
    return list(dict.fromkeys(map(clean_id, lines.values())))


def release_places(
    database: Database, participants: Participants, study: str, statuses: Mapping[str, str], who: str, clock: Clock
) -> ReleasedPlaces:
    """Free the places of submissions that are over; they are in no payment file. NotPossible without a status."""
    if not statuses:
        raise NotPossible("Upload or paste Prolific's export of the study first: it says which submissions are over.")
    now_us, audit = clock.now_us(), AuditLog(database, clock.now_us)
    people = {id_: ParticipantId(PROLIFIC, id_) for id_ in statuses}
    over = [id_ for id_, status in statuses.items() if status in OVER]
    sessions = {
        stream: participants.marks(study, participants.reveal(stream) or people[id_])
        for id_ in over
        for stream in participants.sessions(study, people[id_])
    }
    seen = [Observation(participants.marks(study, people[id_])[-1], statuses[id_], now_us, "export") for id_ in people]
    places = observe(
        database, PROLIFIC, seen, sessions, now_us,
        lambda connection, freed: audit.forward(connection, who, f"freed {count(freed, 'place')}", study),
    )  # fmt: skip
    return ReleasedPlaces(len(over), places, count_strangers(participants, study, statuses))
