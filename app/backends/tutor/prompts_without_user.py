"""The tutor's replies to prompts without a user: prompts for a letter, an extraction, or yes or no.

They are those of `parley ai-alone`: so that it can be tried offline, with replies of the form that real models give.
"""

import json
import re
from dataclasses import replace

from app.backends.base import PromptMessage
from app.backends.tutor import answers
from app.backends.tutor.turn import FINAL, TutorTurn

QUESTION = "Question: "
ORDER = re.compile(r"single letter\b.*answer:\s*$", re.I | re.S)
READING = re.compile(r"^Reply:\n(.*)^Return one JSON object", re.M | re.S)
SAME = re.compile(r"^Correct answer: (.*)\nGiven answer: (.*)\n.*\byes or no\b", re.M | re.S)
OPTION = re.compile(r"([A-H])(?:\. (.*))?", re.S)


def conclude(turn: TutorTurn) -> str | None:
    """Give the letter that was come to, where thinking stands before the order to give it."""
    claims = FINAL.findall(turn.text) or ([turn.claim] if turn.claim else [])
    found = OPTION.fullmatch(claims[-1]) if claims and ORDER.search(turn.text) else None
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
    value = (option[2] or option[1]) if option else claim
    told = {"attempted_answer": claim is not None, "answer_val": value and value.strip("\\() ")}
    return json.dumps({**told, "answer_letter": option[1] if option else None})


def verdict(turn: TutorTurn) -> str | None:
    """Say whether two answers are the same."""
    found = SAME.search(turn.text)
    return None if found is None else "yes" if _bare(found[1]) == _bare(found[2]) else "no"


def _bare(text: str) -> str:
    return re.sub(r"[\W_]+", "", text).lower()
