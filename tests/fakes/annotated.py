"""Annotations by chance, as models might make them, for sessions of any study."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from experiments.events import Action, Event
from experiments.session.annotations import Annotation, ConversationRef
from experiments.session.engine import decide
from experiments.study.location import State
from experiments.study.study import Study

EFFORTS = ("tried", "known", "low effort")
ANSWERS: Sequence[dict[str, Any]] = (
    {"attempted_answer": True, "answer_val": "42", "answer_letter": "B"},
    {"attempted_answer": True, "answer_val": "a fifth one", "answer_letter": None},
    {"attempted_answer": False, "answer_val": None, "answer_letter": None},
)


def annotation(ref: ConversationRef, chance: random.Random) -> Annotation:
    name = chance.choice(["user_effort", "answer", "corrected"])
    values: dict[str, Any] = {
        "user_effort": {"user_effort": chance.choice(EFFORTS)},
        "answer": dict(chance.choice(ANSWERS)),
        "corrected": {"corrected": False, "corrections": []},
    }[name]
    return Annotation(ref, name, chance.choice(["judge", "other"]), values, "run", f"{chance.random()}")


def annotating(one: Annotation, at_us: int) -> Action:
    return Action("annotate", "", one.data, at_us, by="model", key=one.key)


def annotated(study: Study, state: State, chance: random.Random, at_us: int = 7) -> tuple[Event, ...]:
    """The fact of an annotation of some conversation of a session; none where nothing was said."""
    said = [path for path, facts in state.facts.items() if any(event.kind == "said" for event in facts)]
    if not said:
        return ()
    return decide(study, state, annotating(annotation(ConversationRef(chance.choice(said)), chance), at_us))
