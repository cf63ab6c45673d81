"""Texts for researchers about links whose id was not taken: the reason, and what to do."""

from __future__ import annotations

from collections.abc import Mapping

from app.web.participant.recruiter_links import Refusal
from storage.registers.link_problems import LinkProblem

TEXTS: Mapping[Refusal, tuple[str, str]] = {
    "unfilled": (
        "The recruiter did not fill in the placeholder.",
        "Compare the study's address at the recruiter with the link that Parley shows for it.",
    ),
    "malformed": (
        "The value is no ID: it has other characters than IDs have, or more than 128.",
        "Ask the recruiter how its IDs look, and correct the address.",
    ),
    "conflicting": (
        "The link has two different IDs.",
        "Name the recruiter in recruitment.channels, or correct the address.",
    ),
    "unknown": (
        "The parameter looks like an ID, and Parley does not know it.",
        "If it is the participant's ID, name it in recruitment.id_parameter.",
    ),
    "missing": ("The link has no ID.", "Give out the link that Parley shows for the recruiter."),
    "other_recruiter": (
        "The ID is of a recruiter that the study does not accept.",
        "Add the recruiter to recruitment.channels if it is one of yours.",
    ),
    "unproven": (
        "The ID has no proof, and recruitment.id_proof is `required`.",
        "Give out signed links (`parley recruit links --ids`), or turn on Prolific's secured external URL.",
    ),
    "invalid_proof": (
        "The proof of the ID is not valid.",
        "Make the links anew (`parley recruit links`), or let the recruiter's tokens be checked "
        "(PARLEY_PROLIFIC_WORKSPACES).",
    ),
}


def problem_rows(problems: tuple[LinkProblem, ...]) -> list[tuple[LinkProblem, str, str]]:
    return [(one, *TEXTS[one.reason]) for one in problems]  # type: ignore[index]
