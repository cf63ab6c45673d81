"""Reads participants' ids from recruiters' links, and the proofs of these ids.

An id alone proves nothing: others may know or guess it. It is proven by a personal link or a signed link, which only
this deployment can make, or by the token with which Prolific signs its links (prolific_tokens.py). Rehearsed
participants have links of their own (signed_links.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from starlette.datastructures import QueryParams

from app.session.signed_links import (
    REHEARSAL_PARAMETER,
    RETURN_PARAMETER,
    RehearsalLinks,
    RehearsedVisitor,
    Trial,
    TrialLinks,
)
from app.studies.link_ids import (
    LAB,
    LAB_CHANNEL,
    PLACEHOLDERS,
    RECRUITERS,
    SIGNATURE,
    UnreadableId,
    UnreadableReason,
    clean_id,
    is_unaccepted,
    read_ids,
)
from app.web.participant.prolific_tokens import KeysUnavailable, ProlificTokens
from experiments.study.sections.recruitment import Recruitment
from experiments.study.study import Study
from storage.registers.contacts import PROLIFIC
from storage.registers.participants import ParticipantId, Participants

TOKEN = "prolific_token"  # noqa: S105  (the name of a parameter)
Proof = Literal["none", "personal link", "signed link", "prolific token"]


# Why a study does not accept a link.
Refusal = Literal[UnreadableReason, "missing", "other_recruiter", "unproven", "invalid_proof"]


@dataclass(frozen=True, slots=True)
class IdentityClaim:
    """`unreadable`: an id in the link that was not taken. `forged`: the link has an invalid proof. `untold`: it has a
    token that cannot be verified at the moment. `unaccepted`: a worker at MTurk only previews the task. `trial`: it is
    a link to preview or pilot the study (signed_links.py), `rehearsed` a rehearsed participant; every study accepts
    both. `returns` is the person of a return link, in a study with waves."""

    person: ParticipantId | None = None
    unreadable: UnreadableId | None = None
    proof: Proof = "none"
    forged: bool = False
    untold: bool = False
    unaccepted: bool = False
    rehearsed: RehearsedVisitor | None = None
    trial: Trial | None = None
    returns: str = ""

    @property
    def proven(self) -> bool:
        return self.proof != "none"


def recruiter_labels(recruitment: Recruitment) -> list[str]:
    """The recruiters whose links a study accepts, as far as they add the participant's id themselves."""
    labels = {"prolific": "Prolific", "connect": "CloudResearch Connect", "sona": "SONA"}
    return [label for name, label in labels.items() if name in recruitment.channels]


def recruitment_links(study: Study, address: str) -> list[tuple[str, str]]:
    """The links with labels; none for personal links, nor, if an ID needs a proof, for a recruiter who adds none."""
    link, by, strict = f"{address}/s/{study.name}", study.file.recruitment.channels, needs_proof(study)
    found = [("Anyone", link)] if (not by and not strict) or "open" in by else []
    found += [("CloudResearch Connect", link)] if "connect" in by and not strict else []
    filled = [name for name in PLACEHOLDERS if name in by and (name == PROLIFIC or not strict)]
    return found + [(PLACEHOLDERS[name][0], link + PLACEHOLDERS[name][1]) for name in filled]


def needs_proof(study: Study) -> bool:
    return study.file.recruitment.id_proof == "required"


class Links:
    def __init__(
        self, participants: Participants, tokens: ProlificTokens, trials: TrialLinks, rehearsals: RehearsalLinks
    ) -> None:
        self._participants = participants
        self._tokens = tokens
        self._trials = trials
        self._rehearsals = rehearsals

    async def claim(self, query: QueryParams, study: Study) -> IdentityClaim:
        wanted, apart = study.file.recruitment, self._claim_apart(query, study)
        if apart is not None:
            return apart
        if is_unaccepted(query.multi_items()):
            return IdentityClaim(unaccepted=True)
        personal = query.get(LAB, "").strip()
        if personal and LAB_CHANNEL in wanted.channels:
            return self._personal(study, personal)
        read = read_ids(query.multi_items(), wanted)
        claim = IdentityClaim(read.person, read.unreadable)
        signs = not wanted.channels or "prolific" in wanted.channels
        if signs and TOKEN in query and self._tokens.believed:
            return await self._signed_there(query[TOKEN], claim)
        if read.person is None and personal and not wanted.channels:
            return self._personal(study, personal)
        return self._signed_here(query, study, claim)

    def _personal(self, study: Study, token: str) -> IdentityClaim:
        label = clean_id(self._participants.labelled(study.name, token) or "")
        if not label:
            return IdentityClaim(forged=True)
        return IdentityClaim(ParticipantId(LAB_CHANNEL, label), proof="personal link")

    def _claim_apart(self, query: Mapping[str, str], study: Study) -> IdentityClaim | None:
        """The claim of a link to preview, pilot or rehearse a study, or to return to it; None for a recruiter's."""
        if REHEARSAL_PARAMETER in query:
            visitor = self._rehearsals.read(query[REHEARSAL_PARAMETER], study.name)
            if visitor is None:
                return IdentityClaim(forged=True)
            proof: Proof = "signed link" if visitor.person else "none"
            return IdentityClaim(visitor.person, proof=proof, rehearsed=visitor)
        if RETURN_PARAMETER in query:
            person = self._participants.returning_person(study.name, query[RETURN_PARAMETER])
            return IdentityClaim(returns=person, forged=not person)
        trial, invalid = self._trials.read(query, study.name)
        return IdentityClaim(trial=trial, forged=invalid) if trial or invalid else None

    def _signed_here(self, query: QueryParams, study: Study, claim: IdentityClaim) -> IdentityClaim:
        """The claim with the signature of the link, if it has one."""
        person = claim.person
        if person is None or SIGNATURE not in query:
            return claim
        good = self._participants.signed(study.name, person.recruiter, person.id, query[SIGNATURE])
        return replace(claim, proof="signed link") if good else replace(claim, forged=True)

    async def _signed_there(self, token: str, claim: IdentityClaim) -> IdentityClaim:
        """The identity in Prolific's token; ids elsewhere in the link are ignored."""
        ids = await self._tokens.read(token)
        if isinstance(ids, KeysUnavailable):
            return replace(claim, untold=True)
        names = RECRUITERS["prolific"]
        id_, submission = (clean_id(ids.get(name, "")) for name in (names.id, names.submission))
        if id_:
            return IdentityClaim(ParticipantId("prolific", id_, submission), proof="prolific token")
        return replace(claim, forged=True)


def refusal(claim: IdentityClaim, recruitment: Recruitment) -> Refusal | None:
    """Return the reason why a study does not accept a link with this claim; None if it does."""
    if claim.forged:
        return "invalid_proof"
    if claim.unaccepted:
        return "missing"
    if claim.trial or claim.rehearsed:
        return None
    if claim.person is None:
        needs_none = "open" in recruitment.channels or (not recruitment.channels and recruitment.id_proof == "optional")
        if claim.unreadable is None:
            return None if needs_none else "missing"
        return None if needs_none and recruitment.unreadable_id == "report" else claim.unreadable.reason
    if recruitment.channels and claim.person.recruiter not in recruitment.channels:
        return "other_recruiter"
    return None if claim.proven or recruitment.id_proof == "optional" else "unproven"
