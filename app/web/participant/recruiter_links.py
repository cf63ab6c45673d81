"""Reads participants' ids from recruiters' links, and the proofs of these ids.

An id alone proves nothing: others may know or guess it. It is proven by a personal link or a signed link, which only
this deployment can make, or by the token with which Prolific signs its links (prolific_tokens.py). Rehearsed
participants have links of their own (rehearsal_links.py).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlencode

from app.web.participant.prolific_tokens import KeysUnavailable, ProlificTokens
from app.web.participant.rehearsal_links import PARAMETER, RehearsalLinks, RehearsedVisitor
from app.web.participant.trial_links import Trial, TrialLinks
from experiments.study.sections.recruitment import Recruitment
from experiments.study.study import Study
from storage.registers.participants import ParticipantId, Participants

ID = re.compile(r"[\w.@:+=~-]{1,100}")
"""The form of an id. A placeholder that the recruiter did not fill in, such as {{%PROLIFIC_PID%}}, does not match."""
LAB = "p"
"""The parameter of a personal link."""
SIGNATURE = "parley_sig"
"""The parameter with the signature of a signed link."""
TOKEN = "prolific_token"  # noqa: S105  (the name of a parameter)
"""The parameter with Prolific's signed token."""
Proof = Literal["none", "personal link", "signed link", "prolific token"]


@dataclass(frozen=True, slots=True)
class LinkParameters:
    """The names of the parameters for the person's id and the submission's id in a recruiter's links."""

    id: str
    submission: str = ""


RECRUITERS: Mapping[str, LinkParameters] = {
    "prolific": LinkParameters("PROLIFIC_PID", "SESSION_ID"),
    "connect": LinkParameters("participantId", "assignmentId"),
    "sona": LinkParameters("survey_code"),
}
PLACEHOLDERS: Mapping[str, tuple[str, str]] = {
    "prolific": ("Prolific", "?PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"),
    "sona": ("SONA", "?survey_code=%SURVEY_CODE%"),
}
"""The label of a recruiter that fills in ids, and the query with its placeholders. CloudResearch Connect has none: it
adds its parameters itself."""
SIGNED = ("panel", "sona", "connect", "prolific")
"""The channels whose links can be signed. A lab's personal links are always signed."""
SONA_OWN = LinkParameters("id")
"""SONA's usual `?id=%SURVEY_CODE%`. It applies only to studies whose channels include SONA, as other recruiters use the
same name."""


@dataclass(frozen=True, slots=True)
class IdentityClaim:
    """The identity that a link claims, if any, and the kind of its proof.

    `forged`: the link has an invalid proof. `untold`: it has a token that cannot be verified at the moment. `trial`: it
    is a link to preview or pilot the study (trial_links.py). `rehearsed` is a rehearsed participant
    (rehearsal_links.py). Every study accepts both.
    """

    person: ParticipantId | None = None
    proof: Proof = "none"
    forged: bool = False
    untold: bool = False
    rehearsed: RehearsedVisitor | None = None
    trial: Trial | None = None

    @property
    def proven(self) -> bool:
        """Whether the identity is proven."""
        return self.proof != "none"


def recruiter_labels(wanted: Recruitment) -> list[str]:
    """The recruiters whose links a study accepts, as far as they add the participant's id themselves."""
    known = {"prolific": "Prolific", "connect": "CloudResearch Connect", "sona": "SONA"}
    return [label for name, label in known.items() if name in wanted.channels]


def recruitment_links(study: Study, address: str) -> list[tuple[str, str]]:
    """The links to give to each recruiter of a study on a server, with its label; none for personal links."""
    link, by = f"{address}/s/{study.name}", study.file.recruitment.channels
    found = [("Anyone", link)] if not by or "open" in by else []
    found += [("CloudResearch Connect", link)] if "connect" in by else []
    return found + [(label, link + query) for name, (label, query) in PLACEHOLDERS.items() if name in by]


class Links:
    """Reads the identity from the query of a link."""

    def __init__(
        self, participants: Participants, tokens: ProlificTokens, trials: TrialLinks, rehearsals: RehearsalLinks
    ) -> None:
        self._participants = participants
        self._tokens = tokens
        self._trials = trials
        self._rehearsals = rehearsals

    async def claim(self, query: Mapping[str, str], study: Study) -> IdentityClaim:
        """The identity that a link to a study claims."""
        wanted, apart = study.file.recruitment, self._claim_apart(query, study)
        if apart is not None:
            return apart
        for recruiter, parameters in _parameters(wanted):
            given = _id(query, parameters.id)
            if recruiter == "lab":
                token = query.get(parameters.id, "").strip()
                if token and (not wanted.channels or recruiter in wanted.channels):
                    label = self._participants.labelled(study.name, token) or ""
                    return (
                        IdentityClaim(ParticipantId("lab", label), "personal link")
                        if ID.fullmatch(label)
                        else IdentityClaim(forged=True)
                    )
            elif recruiter == "prolific" and TOKEN in query and self._tokens.believed:
                return await self._signed_there(query, given)
            elif given:
                return self._signed_here(
                    query, study, ParticipantId(recruiter, given, _id(query, parameters.submission))
                )
        return IdentityClaim()

    def _claim_apart(self, query: Mapping[str, str], study: Study) -> IdentityClaim | None:
        """The claim of a link to preview, pilot or rehearse a study; None for a participant's link."""
        if PARAMETER in query:
            visitor = self._rehearsals.read(query[PARAMETER], study.name)
            if visitor is None:
                return IdentityClaim(forged=True)
            return IdentityClaim(visitor.person, "signed link" if visitor.person else "none", rehearsed=visitor)
        trial, invalid = self._trials.read(query, study.name)
        return IdentityClaim(trial=trial, forged=invalid) if trial or invalid else None

    def _signed_here(self, query: Mapping[str, str], study: Study, person: ParticipantId) -> IdentityClaim:
        if SIGNATURE not in query:
            return IdentityClaim(person)
        good = self._participants.signed(study.name, person.recruiter, person.id, query[SIGNATURE])
        return IdentityClaim(person, "signed link") if good else IdentityClaim(person, forged=True)

    async def _signed_there(self, query: Mapping[str, str], given: str) -> IdentityClaim:
        """The identity in Prolific's token; ids elsewhere in the link are ignored."""
        names = RECRUITERS["prolific"]
        plain = ParticipantId("prolific", given, _id(query, names.submission)) if given else None
        told = await self._tokens.read(query[TOKEN])
        if isinstance(told, KeysUnavailable):
            return IdentityClaim(plain, untold=True)
        if id_ := _id(told, names.id):
            return IdentityClaim(ParticipantId("prolific", id_, _id(told, names.submission)), "prolific token")
        return IdentityClaim(plain, forged=True)


def signed(people: Participants, study: Study, recruiter: str, id_: str) -> str:
    """The query string of a signed link."""
    name = next(its.id for called, its in _parameters(study.file.recruitment) if called == recruiter)
    return urlencode({name: id_, SIGNATURE: people.signature(study.name, recruiter, id_)})


def is_allowed(claim: IdentityClaim, wanted: Recruitment) -> bool:
    """Whether a study accepts a link with this claim."""
    if claim.forged:
        return False
    if claim.trial or claim.rehearsed:
        return True
    if claim.person is None:
        return "open" in wanted.channels or (not wanted.channels and wanted.id_proof == "optional")
    if wanted.channels and claim.person.recruiter not in wanted.channels:
        return False
    return claim.proven or wanted.id_proof == "optional"


def _id(values: Mapping[str, object], name: str) -> str:
    given = values.get(name)
    return given.strip() if isinstance(given, str) and ID.fullmatch(given.strip()) else ""


def _parameters(wanted: Recruitment) -> list[tuple[str, LinkParameters]]:
    """Every recruiter with the parameters of its links, the study's own channels first."""
    known = {**RECRUITERS, "panel": LinkParameters(wanted.id_parameter), "lab": LinkParameters(LAB)}
    every = [(name, parameters) for name, parameters in known.items()]
    if "sona" in wanted.channels:
        every.append(("sona", SONA_OWN))
    return sorted(every, key=lambda item: item[0] not in wanted.channels)
