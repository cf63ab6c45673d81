"""Data-quality flags of a session, each with a reason in figures. They are for review; no decision depends on them.

    too_fast        a screen with questions, or all together, took less time than reading them takes
    one_word        half of three or more messages to models are one word
    straight_lined  all ratings of three or more sets, of three or more each, are the same
    missed_check    an attention check was failed
    leak            a reply revealed which model wrote it
    unreadable_id   the link had an id that could not be taken: a placeholder, or what is no id
    unattended      the time limit of a screen ran out without a sign that somebody was there
    waits_for_help  the participant asked for help and was not answered
    helped, time_given, ended_by_researcher   a researcher did so while the session ran
    late            its wave was started after it had closed, within its grace
    same_id         another session had begun under the same recruiter's id, and not in the same browser

Too fast is under a quarter of the reading time at 238 words a minute, the mean for prose (Brysbaert 2019,
doi 10.1016/j.jml.2019.104047), where each text counts when it is first shown and model replies do not count; or under
half a second a question (Wood et al. 2017 take one second as a sign of carelessness, doi 10.1177/1948550617703168).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from experiments.events import ASKED, GIVEN, HELPED
from experiments.plural import count
from experiments.session.conversation import is_by_model
from experiments.session.desk import is_ended_by_researcher, unanswered
from experiments.session.identity_leaks import LEAK, is_leak
from experiments.session.state import visited
from experiments.session.timing import UNATTENDED, is_unattended, spans
from experiments.study.fields import Checkbox, Field, MatrixField, Scale, Slider
from experiments.study.location import Location, State
from experiments.study.step import Step
from experiments.study.study import Study

# The flags, each with what it says of a session.
FLAGS: Mapping[str, str] = MappingProxyType(
    {
        "too_fast": "had screens completed faster than anyone can read",
        "one_word": "had mostly one-word messages to a model",
        "straight_lined": "gave the same rating throughout",
        "missed_check": "failed an attention check",
        "leak": "had a reply that revealed which model wrote it",
        "unattended": "had a screen that ran out of time with nobody there",
        "waits_for_help": "asked for help without an answer",
        "helped": "had a request for help answered by a researcher",
        "time_given": "was given time by a researcher",
        "ended_by_researcher": "was ended by a researcher",
        "late": "was started after its wave had closed, within the grace",
        "same_id": "used a recruiter ID that another session had used",
        "unreadable_id": "started from a link whose ID could not be taken",
    }
)
WAITS_FOR_HELP = "waits_for_help"
# Those that are keys of the event `enrolled`.
SAME_ID, LATE = "same_id", "late"
# The name of the flag, and of its key in the data of the event `enrolled`: the reason and the parameter.
UNREADABLE_ID = "unreadable_id"
WORDS_A_MINUTE = 238
TIMES_FASTER = 4
QUESTION_S = 0.5
# A screen that takes less than this to read is not flagged: a familiar page is left at once.
LEAST_S = 5.0
LEAST_ALL_S = 20.0
MESSAGES, SHARE = 3, 0.5
SETS, RATINGS = 3, 3
RATED = ("submitted", "rated", "voted")


@dataclass(frozen=True, slots=True)
class Flag:
    """A flag, its reason, and the path where it occurred first; the path is empty if it is about the session."""

    what: str
    why: str
    path: str = ""


@dataclass(frozen=True, slots=True)
class _Screen:
    """A screen that was left: the new words on it, the number of questions, and how long it took."""

    path: str
    words: int
    questions: int
    seconds: float

    @property
    def least_s(self) -> float:
        """The shortest plausible time for the screen, in seconds."""
        return max(self.words * 60 / (WORDS_A_MINUTE * TIMES_FASTER), self.questions * QUESTION_S)


def flags(study: Study, state: State) -> tuple[Flag, ...]:
    """The flags of a session so far; none if it is withdrawn."""
    if state.outcome == "withdrawn":
        return ()
    places = [place for place in visited(study, state) if isinstance(place.node, Step)]
    asked: dict[int, tuple[Field, ...]] = {}
    for place in places:
        if id(place.node) not in asked:
            asked[id(place.node)] = place.node.questions_asked()  # type: ignore[union-attr]
    met = [(place, asked[id(place.node)]) for place in places]
    about = (_unattended(state), *_desk(state), _late(state), _same_id(state), _unreadable_id(state))
    found = (_too_fast(met, state), _one_word(state), _straight(met), _missed(state), _leak(state), *about)
    return tuple(flag for flag in found if flag is not None)


Met = Sequence[tuple[Location, tuple[Field, ...]]]


def _too_fast(met: Met, state: State) -> Flag | None:
    every = list(_screens(met, state))
    took_s, least_s = sum(one.seconds for one in every), sum(one.least_s for one in every)
    if took_s < least_s and least_s >= LEAST_ALL_S:
        words = sum(one.words for one in every)
        return Flag("too_fast", f"All {len(every)} screens, with {words:,} words, were completed in {took_s:,.0f} s.")
    fast = [one for one in every if one.questions and one.least_s >= LEAST_S and one.seconds < one.least_s]
    if not fast:
        return None
    worst = min(fast, key=lambda one: one.seconds / one.least_s)
    asked = count(worst.questions, "question")
    why = f"{worst.words:,} words and {asked} were completed in {worst.seconds:.1f} s"
    return Flag("too_fast", f"{why}. Screens this fast: {len(fast)} of {len(every)}.", worst.path)


def _screens(met: Met, state: State) -> Iterator[_Screen]:
    took, known = spans(state.events), set[str]()
    for place, asked in met:
        texts = [text for text in _texts(place, asked) if text not in known]
        known.update(texts)
        if place.path in took:
            questions = sum(not isinstance(field, Checkbox) for field in asked)
            yield _Screen(place.path, sum(map(_words, texts)), questions, took[place.path])


@lru_cache(1_000)
def _words(text: str) -> int:
    """The number of words; cached, because all sessions have the study's texts in common."""
    return len(text.split())


def _texts(location: Location, fields: Sequence[Field]) -> Iterator[str]:
    """The texts on a screen, except those that models and participants wrote in this session."""
    assert isinstance(location.node, Step)  # noqa: S101
    yield location.translate(location.node.instructions())
    for field in fields:
        yield location.translate(field.text)
    problem = location.scope.problem
    if problem is not None:
        yield problem.text
        yield from (option.text for option in problem.options)
        yield from (said.text for said in problem.dialogue)


def _one_word(state: State) -> Flag | None:
    said = [event for event in state.events if event.kind == "said"]
    short = [event for event in said if len(str(event.data.get("text", "")).split()) == 1]
    if len(said) < MESSAGES or len(short) < SHARE * len(said):
        return None
    return Flag("one_word", f"{len(short)} of {len(said)} messages to a model have one word.", short[0].path)


def _straight(met: Met) -> Flag | None:
    sets = [(place.path, values) for place, asked in met if len(values := _ratings(place, asked)) >= RATINGS]
    values = [value for _, given in sets for value in given]
    if len(sets) < SETS or len(set(values)) > 1:
        return None
    return Flag("straight_lined", f"All {len(values)} ratings, in {len(sets)} sets, are {values[0]}.", sets[0][0])


def _ratings(location: Location, fields: Sequence[Field]) -> list[str]:
    names = {f.name for f in fields if isinstance(f, Scale | Slider) or (isinstance(f, MatrixField) and f.matrix)}
    if not names:
        return []
    given: list[Mapping[str, Any]] = [event.data for event in location.facts if event.kind in RATED]
    return [
        str(value)
        for data in given
        for name, value in data.items()
        if value is not None and (name in names or name.rpartition("_")[0] in names)
    ]


def _missed(state: State) -> Flag | None:
    checks = [e for e in state.events if e.kind == "submitted" and e.data.get("check") == "attention"]
    missed = [event for event in checks if event.data.get("passed") is False]
    why = f"Failed {len(missed)} of {len(checks)} attention checks."
    return Flag("missed_check", why, missed[0].path) if missed else None


def _leak(state: State) -> Flag | None:
    leaks = [event for event in state.events if is_leak(event)]
    replies = sum(map(is_by_model, state.events))
    words = ", ".join(dict.fromkeys(word for event in leaks for word in event.data.get("words", ())))
    why = f"{len(leaks)} of {replies} replies revealed which model wrote them: {words}."
    return Flag(LEAK, why, leaks[0].path) if leaks else None


def _unattended(state: State) -> Flag | None:
    empty = [event for event in state.events if is_unattended(event)]
    why = f"Time ran out on {count(len(empty), 'screen')} without a sign that somebody was there."
    return Flag(UNATTENDED, why, empty[0].path) if empty else None


def _desk(state: State) -> Iterator[Flag]:
    found = {WAITS_FOR_HELP: unanswered(state.facts.get("", ()))}
    found |= {kind: tuple(event for event in state.events if event.kind == kind) for kind in (ASKED, HELPED, GIVEN)}
    if not found.pop(ASKED):  # an answer to what was asked in another wave, or a word from the researcher
        del found[HELPED]
    found |= {"ended_by_researcher": tuple(filter(is_ended_by_researcher, state.events))}
    yield from (Flag(what, f"How many times: {len(events)}.") for what, events in found.items() if events)


def _late(state: State) -> Flag | None:
    return (
        Flag(LATE, "It was started after its wave had closed, within the grace.") if state.enrolled.get(LATE) else None
    )


def _same_id(state: State) -> Flag | None:
    if not state.enrolled.get(SAME_ID):
        return None
    proof = state.enrolled.get("proof", "none")
    how = (
        "this session's link does not prove the ID"
        if proof == "none"
        else f"this session's link proves the ID ({proof})"
    )
    return Flag(SAME_ID, f"Another session was started with the same recruiter ID in another browser; {how}.")


def _unreadable_id(state: State) -> Flag | None:
    found = state.enrolled.get(UNREADABLE_ID)
    if not found:
        return None
    name = found.get("parameter") or "a parameter"
    return Flag(UNREADABLE_ID, f"The ID in the link was not taken: {name} ({found['reason']}).")
