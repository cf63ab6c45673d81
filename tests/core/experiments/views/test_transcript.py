"""A session told: all that happened in it is in its story, as its participant saw it, at the cost of its facts."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from experiments.events import NOTES, Action, Event
from experiments.session.engine import fold, pending_tasks, screen
from experiments.study.location import State
from experiments.study.study import Study
from experiments.views.transcript import PAGES, SessionTranscript, StepVisit, remark, state_at, timeline, transcript_of
from tests.fakes import waves
from tests.fakes.driven import Driven, small
from tests.fakes.examples import SEEDS, examples
from tests.fakes.sessions import NAMES, study, whole

SECOND_US = 1_000_000
seeds = st.integers(0, SEEDS).map(str)
names = st.sampled_from(NAMES)
ASK = {"step": "survey", "id": "ask", "questions": [{"type": "long_text", "name": "thought", "text": "A thought?"}]}


def remarked(log: Iterable[Event], every: int) -> tuple[Event, ...]:
    found: list[Event] = []
    for number, event in enumerate(log, 1):
        found.append(Event(len(found) + 1, event.at_us, event.by, event.path, event.kind, event.data, event.key))
        if number % every == 0:
            note = {"text": f"note {number}", "who": "Ada"}
            found.append(Event(len(found) + 1, event.at_us, "researcher", "", "noted", note))
    return tuple(found)


def visits(study: Study, log: tuple[Event, ...]) -> tuple[StepVisit, ...]:
    return transcript_of(study, log).visits


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats(), st.lists, max_leaves=5))
@examples(50)
def test_what_a_model_noted_is_told_without_the_signs_of_a_program(value: Any) -> None:
    noted = {"annotator": "effort", "model": "m", "values": {"low": value}}
    told = remark(study(NAMES[0]), Event(1, 0, "model", "", "annotated", noted))
    assert told.text.startswith("effort: low: ")
    assert not re.search(r"None|True|False|[\[\](){}']", told.text)


@given(names, seeds, st.floats(0, 1), st.integers(1, 9))
@examples(5)
def test_each_page_of_every_prefix_is_the_screen_as_it_was_before_it_was_left(
    name: str, seed: str, share: float, every: int
) -> None:
    log = remarked(whole(name, seed), every)
    log = log[: round(share * len(log))]
    told = [page for visit in visits(study(name), log) for page in visit.pages]
    seen = []
    for event in log:
        before = fold(log[: event.seq - 1])
        if event.kind in PAGES and not any(job.kind == "finish" for job in pending_tasks(study(name), before)):
            seen.append((screen(study(name), before), event.kind, event.at_us))
    state = fold(log)
    owed = {job.kind for job in pending_tasks(study(name), state)}
    if log and not state.outcome and owed <= {"reply", "order"}:
        seen.append((screen(study(name), state), "", None))
    assert [(page.screen, page.kind, page.at_us) for page in told] == seen


@given(names, seeds, st.floats(0, 1), st.integers(1, 9))
@examples(5)
def test_nothing_that_was_said_answered_or_remarked_is_lost(name: str, seed: str, share: float, every: int) -> None:
    log = remarked(whole(name, seed), every)
    log = log[: round(share * len(log))]
    told = transcript_of(study(name), log)
    pages = [page for visit in told.visits for page in visit.pages]
    talks = [talk for page in pages for talk in page.talks if not talk.again]
    lines = [line for talk in talks if not talk.document for turn in talk.turns for line in turn.lines]
    changes = [line for talk in talks if talk.document for turn in talk.turns for line in turn.lines]
    edited = [event for event in log if event.kind == "edited"]
    assert bool(changes) == bool(edited)
    assert {line.at_us for line in changes} <= {event.at_us for event in edited}
    by_path = sorted((event for event in log if event.kind in ("said", "replied")), key=lambda e: e.seq)
    assert sorted((line.at_us, line.text) for line in lines) == sorted((e.at_us, e.data["text"]) for e in by_path)
    assert {line.model for line in lines} - {""} == {e.data["model"] for e in by_path if e.kind == "replied"}
    remarks = [one for visit in told.visits for one in visit.remarks] + list(told.remarks)
    assert [one.seq for one in remarks] == [event.seq for event in log if event.kind in NOTES]
    answers = {(a.name, str(a.value)) for page in pages for a in page.answers}
    answers |= {(a.name, str(a.value)) for p in pages for t in p.talks for turn in t.turns for a in turn.answers}
    sent = {(n, str(v)) for e in log if e.kind == "submitted" for n, v in e.data.items()} - answers
    assert {n for n, _ in sent} <= {"of", "passed", "tries", "check"} | _warned(log)


def _warned(log: tuple[Event, ...]) -> set[str]:
    return {name for event in log if event.kind == "missed" for name in event.data["values"]}


@given(names, seeds, st.integers(1, 9))
@examples(5)
def test_the_times_of_places_follow_each_other(name: str, seed: str, every: int) -> None:
    told = transcript_of(study(name), remarked(whole(name, seed), every))
    for before, after in zip(told.visits, told.visits[1:], strict=False):
        assert before.left_us is not None
        assert before.shown_us <= before.left_us <= after.shown_us
        assert after.since_us == after.shown_us - before.shown_us
    assert told.last is not None
    assert told.last.ended


@given(names, seeds)
@examples(8)
def test_the_time_line_has_a_moment_for_each_fact_and_leads_to_its_state(name: str, seed: str) -> None:
    log = whole(name, seed)
    line = timeline(study(name), log)
    assert [moment.number for moment in line] == [event.seq for event in log]
    assert line[0].since_us == 0
    assert all(moment.words for moment in line)
    middle = line[len(line) // 2]
    assert state_at(log, middle.number) == fold(log[: middle.number])
    assert state_at(log, -1) == State()


def story(session: Driven) -> SessionTranscript:
    return transcript_of(session.study, session.state.events)


def test_notes_flags_and_exclusions_stand_at_the_place_of_their_time() -> None:
    session = Driven(small({"step": "info", "text": "Read."}, ASK))
    session.send(Action("noted", "", {"text": "rang up", "who": "Ada"}, 5, by="researcher"))
    session.do(at_us=10 * SECOND_US)
    session.send(Action("excluded", "", {"why": "a friend", "who": "Ada"}, 11 * SECOND_US, by="researcher"))
    session.do(at_us=20 * SECOND_US, thought="Hm")
    session.send(Action("included", "", {"why": "no friend", "who": "Bob"}, 30 * SECOND_US, by="researcher"))
    told = story(session)
    assert [[(one.kind, one.text, one.who) for one in visit.remarks] for visit in told.visits] == [
        [("noted", "rang up", "Ada")],
        [("excluded", "a friend", "Ada")],
    ]
    assert [(one.kind, one.text, one.who) for one in told.remarks] == [("included", "no friend", "Bob")]


def test_a_reminder_names_its_wave() -> None:
    data = {"wave": "week-2", "round": 1, "kind": "opening", "channel": "webhook", "number": 1, "attempt": 1}
    sent = Event(1, 0, "system", "", "reminded", data)
    for words in (remark(waves.study(), sent).text, timeline(waves.study(), [sent])[0].words):
        assert [part for part in ("Week 2", "opening", "webhook") if part not in words] == []
