"""The outcomes of sessions. Each session ends by one event, which is recorded before the last page is shown.

The event `finished` has the outcome (`complete` if it has none); `withdrew` means that everything else was erased. The
text and the code of the last page come from the study's `outcomes`, else from the step at which the session ended, else
from the defaults here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args
from urllib.parse import quote

from experiments.study.sections.recruitment import EndPage, OutcomeName
from experiments.study.study import Study
from experiments.study.texts import fill

OUTCOMES: tuple[str, ...] = get_args(OutcomeName)
STATUS_LABELS: Mapping[str, str] = {"live": "in progress", "left": "abandoned", "complete": "completed"}
PROLIFIC = "https://app.prolific.com/submissions/complete?cc={{code}}"
STOPPED = (
    "The study ends here",
    "The study cannot continue for technical reasons. This is not your fault. Your answers so far are saved.",
)
# That of a session which a researcher ended for a technical failure: not the one of the step, which says what failed.
ENDED_HERE = (
    STOPPED[0],
    "The researchers have ended this session. This is not your fault. Your answers so far are saved.",
)
# The last pages of a wave that others follow.
PARTS: Mapping[str, tuple[str, str]] = {
    "complete": ("Thank you", "You have finished this part of the study. Your answers are saved."),
    "timed_out": ("Time is up", "The time for this part of the study is up. Your answers so far are saved."),
}
COMMON: Mapping[str, tuple[str, str]] = {
    "complete": ("Thank you", "You have finished the study. Your answers are saved. You can close this page."),
    "screened_out": (
        "You are not eligible for this study",
        "Thank you for your interest. This study is looking for other participants. This is not a judgement about you.",
    ),
    "failed_attention": (
        "The study ends here",
        "Some questions checked whether participants read carefully. Your answers to them were not as expected, so the "
        "study ends here. Your answers are saved.",
    ),
    "no_consent": ("You are not taking part", "You did not agree to take part. Nothing more is recorded."),
    "timed_out": ("Time is up", "The time for this study is up. Your answers so far are saved."),
    "technical_failure": STOPPED,
    "off_protocol": STOPPED,  # the same words, as nobody is to know that the reply was the reason
    "withdrawn": (
        "You have withdrawn",
        "You are no longer taking part. Everything you contributed to this study has been deleted.",
    ),
}


def end_page_of(study: Study, outcome: str, own_page: EndPage, *, part: bool = False) -> EndPage:
    """`own_page` is the page of the step at which the session ended; `part`: another wave follows."""
    given = study.file.outcomes.get(outcome, EndPage())  # type: ignore[call-overload]
    title, text = PARTS[outcome] if part and outcome in PARTS else COMMON[outcome]
    code = given.code or own_page.code
    url = given.url or own_page.url or (PROLIFIC if code and "prolific" in study.file.recruitment.channels else "")
    return EndPage(
        title=given.title or own_page.title or title, text=given.text or own_page.text or text, code=code, url=url
    )


def redirect_url(page: EndPage, person: str, session: str) -> str:
    """The recruiter's address for the participant, with the code and the ids filled in and escaped."""
    known = {"code": page.code, "id": person, "session": session}
    return fill(page.url, lambda name: quote(known.get(name, ""), safe=""))


def status_label(name: str) -> str:
    """The label of a session status or outcome: `screened_out` is "screened out"."""
    return STATUS_LABELS.get(name, name.replace("_", " "))
