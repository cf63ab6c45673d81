"""The tutor's replies to prompts without a user: prompts for a letter, an extraction, or yes or no.

They are those of `parley ai-alone` (experiments/instruments/chatbench_prompts.py): so that it can be tried offline,
with replies of the form that real models give.
"""

import json
import re
from dataclasses import replace

from app.backends.base import PromptMessage
from app.backends.tutor import answers
from app.backends.tutor.turn import FINAL, TutorTurn

QUESTION = "Question: "
ORDER = re.compile(r"single letter\b.*answer:\s*$", re.I | re.S)
CONCLUSION = re.compile(
    r"\n\n(?:Therefore, among [A-H] through [A-H], the answer is|Based on this reasoning, .*\bONLY the letter\b.*)$"
)
READING = re.compile(r"^Here is a response:\n\n=+\n(.*)\n=+\n\nDid the response", re.M | re.S)
SAME = re.compile(
    r"^The correct answer is: (.*)\n\nThe person's answer is: (.*)\n\nWas their answer correct", re.M | re.S
)
OPTION = re.compile(r"([A-H])(?:\. (.*))?", re.S)


def conclude(turn: TutorTurn) -> str | None:
    """Give the letter that the reasoning before the request for it came to."""
    claims = FINAL.findall(turn.text) if CONCLUSION.search(turn.text) else []
    found = OPTION.fullmatch(claims[-1]) if claims else None
    return found[1] if found else None


def shown(turn: TutorTurn) -> str | None:
    """Answer the last of several questions; the others are examples."""
    if turn.text.count(QUESTION) < 2 or not ORDER.search(turn.text):
        return None
    last = turn.text[turn.text.rindex(QUESTION) + len(QUESTION) :]
    return answers.letter_only(replace(turn, messages=(PromptMessage("user", last),)))


def reading(turn: TutorTurn) -> str | None:
    """Say as JSON what a reply answers: what it sets in bold last."""
    found = READING.search(turn.text)
    if found is None:
        return None
    claims = FINAL.findall(found[1])
    claim = claims[-1] if claims else None
    option = OPTION.fullmatch(claim) if claim else None
    if claim is None:
        return json.dumps({"attempted_answer": False})
    value = (option[2] or option[1]) if option else claim
    annotation = {"attempted_answer": True, "answer_val": value.strip("\\() ")}
    return json.dumps({**annotation, "answer_letter": option[1]} if option else annotation)


def verdict(turn: TutorTurn) -> str | None:
    """Say whether two answers are the same."""
    found = SAME.search(turn.text)
    return None if found is None else "yes" if _bare(found[1]) == _bare(found[2]) else "no"


def _bare(text: str) -> str:
    return re.sub(r"[\W_]+", "", text).lower()
