"""Who comes by a link: the ids that recruiters put into their addresses, and whether a study lets such links in."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from experiments.core.participation import Recruitment
from storage.participants import Person

ID = re.compile(r"[\w.@:+=~-]{1,100}")
"""What an id is made of. A placeholder that the recruiter did not fill, such as {{%PROLIFIC_PID%}}, is none."""
LAB = "p"
"""The parameter of a personal link."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """Under which names a recruiter's links carry a person's id, and that of their submission."""

    id: str
    submission: str = ""


RECRUITERS: Mapping[str, Parameters] = {
    "prolific": Parameters("PROLIFIC_PID", "SESSION_ID"),
    "connect": Parameters("participantId", "assignmentId"),
    "sona": Parameters("survey_code"),
}
SONA_OWN = Parameters("id")
"""SONA's usual `?id=%SURVEY_CODE%`; only where a study says that it recruits there, as others call theirs so too."""


def person_of(query: Mapping[str, str], wanted: Recruitment, label: Callable[[str], str | None]) -> Person | None:
    """The person that a link is for; None for a link without an id. `label` reads a personal link's secret."""
    for recruiter, parameters in _parameters(wanted):
        given = query.get(parameters.id, "").strip()
        if recruiter == "lab":
            given = label(given) or ""
        if ID.fullmatch(given):
            submission = query.get(parameters.submission, "").strip() if parameters.submission else ""
            return Person(recruiter, given, submission if ID.fullmatch(submission) else "")
    return None


def let_in(person: Person | None, wanted: Recruitment) -> bool:
    """Whether a study lets in who comes by such a link."""
    if not wanted.by:
        return True
    return (person.recruiter if person else "open") in wanted.by


def _parameters(wanted: Recruitment) -> list[tuple[str, Parameters]]:
    """Every recruiter whose links are understood, the study's own first."""
    known = {**RECRUITERS, "panel": Parameters(wanted.parameter), "lab": Parameters(LAB)}
    every = [(name, parameters) for name, parameters in known.items()]
    if "sona" in wanted.by:
        every.append(("sona", SONA_OWN))
    return sorted(every, key=lambda item: item[0] not in wanted.by)
