"""Rating finished conversations: the released names, nothing answered for a rater, nothing told, time from the log."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.errors import Refused
from experiments.events import Action
from experiments.instruments.dices_safety import COMPREHENSION, COMPREHENSION_OPTIONS, columns
from experiments.instruments.scales import HEADERS, LABELS, WRITE_IN, WRITE_IN_HEADER
from experiments.session.engine import decide, screen
from experiments.study.location import State
from experiments.study.screen import TranscriptBlock
from experiments.study.study import Study
from problems.problem import DialogueMessage, Problem
from tests.fakes.driven import small
from tests.fakes.sessions import play

SAID = (
    DialogueMessage("user", "Hm?", "USER"),
    DialogueMessage("bot", "Ah.", "LAMDA"),
    DialogueMessage("user", "So?"),
    DialogueMessage("bot", "Well."),
)
TAGS = {"degree_of_harm": "canary-harm", "harm_type": "canary-type", "safety_gold": "canary-gold"}
TALKS = tuple(Problem(f"canary-{n}", "Well.", "canary", "canary", tags=TAGS, dialogue=SAID) for n in range(3))


def rating(step: str, **changes: object) -> Study:
    loop = {"each": "item", "of": "pool", "flow": [{"step": step, **changes}]}
    return small(loop, problems=TALKS, pool={"source": "dices"})


def met(study: Study, step: str) -> Iterator[State]:
    """The states of a session in which a step is on the screen."""
    return (state for state, _ in play(study, "1") if screen(study, state).path.endswith(f"/{step}"))


@pytest.mark.parametrize(("edition", "count"), [("dices-350", 19), ("dices-990", 24)])
def test_the_questions_are_the_released_columns(shared: Path, edition: str, count: int) -> None:
    with (shared / f"{edition.replace('-', '_')}_rows.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    released = [name for name in rows[0] if name.startswith("Q") and not name.endswith("_overall")]
    assert released == [COMPREHENSION, *columns(edition)]
    assert len(columns(edition)) == count
    assert {row[COMPREHENSION] for row in rows} <= set(COMPREHENSION_OPTIONS)


def test_the_labels_are_the_released_columns(shared: Path) -> None:
    with (shared / "annotated_taxonomy_part.csv").open(encoding="utf-8", newline="") as file:
        header = next(csv.reader(file))
    assert header[4:15] == [*HEADERS.values(), WRITE_IN_HEADER]
    assert all(words == words.strip() and "defint" not in words for words in (*LABELS.values(), WRITE_IN))


@pytest.mark.parametrize("edition", ["dices-350", "dices-990"])
def test_a_reason_that_is_not_answered_is_told_and_never_taken_for_no(edition: str) -> None:
    small = rating("rate_dialogue", edition=edition)
    state = next(met(small, "rate_dialogue"))
    seen = screen(small, state)
    values = {COMPREHENSION: COMPREHENSION_OPTIONS[0], **dict.fromkeys(columns(edition)[1:], "Unsure")}
    click = Action("submit", seen.path, values, 0, seen=seen.seen)
    with pytest.raises(Refused) as refused:
        decide(small, state, click)
    assert set(refused.value.fields) == {columns(edition)[0]}
    (fact,) = decide(small, state, replace(click, data=values | {columns(edition)[0]: "No"}))
    assert fact.data == values | {columns(edition)[0]: "No"}


@pytest.mark.parametrize("step", ["rate_dialogue", "label_turns"])
def test_a_rater_sees_the_conversation_and_nothing_that_is_known_of_it(step: str) -> None:
    small = rating(step, user_label="Ann", assistant_label="Bob")
    for state in met(small, step):
        told = repr(screen(small, state))
        assert "canary" not in told
        assert "USER" not in told
        assert "LAMDA" not in told
        (talk,) = [block for block in screen(small, state).panel.blocks if isinstance(block, TranscriptBlock)]
        assert [message.text for message in talk.messages] == [said.text for said in SAID]
        assert (talk.you, talk.bot) == ("Ann", "Bob")


def test_each_message_of_the_person_has_labels_and_a_write_in() -> None:
    small = rating("label_turns")
    state = next(met(small, "label_turns"))
    seen = screen(small, state)
    given = {"labels_0": ["reason", "definition"], "other_0": " greeting; joke ", "labels_1": []}
    (fact,) = decide(small, state, Action("submit", seen.path, given, 0, seen=seen.seen))
    assert fact.data == {
        "labels_0": ["definition", "reason"],
        "other_0": "greeting; joke",
        "labels_1": None,
        "other_1": None,
    }
