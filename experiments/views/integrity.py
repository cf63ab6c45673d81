"""Evidence on how the texts of a session came about: figures for review, never a verdict.

    paste_share     characters pasted, of those written, on the screens with text
    typing_speed    characters a second while keys were pressed, without pasted ones
    writing_speed   characters a second of the time for which the screen was shown, pasted ones included
    ai_likeness     how much of a text is in a reply of a model that was asked the same question alone
    hidden_word     whether a long text has the word that a hidden instruction asks AI models to use
    honeypot        on how many screens something was written in the box that people do not see
    duplicate       how alike a text is to one that another session wrote in the same box

Of several screens or texts the worst counts. A figure is None where it cannot be known: without telemetry, without
texts that are long enough, without replies of models alone. What the page reports is a hint and no proof.

Nothing here knows a condition, an answer key or an outcome, and no path is kept, as paths can name the condition: who
decides on an exclusion must not see them.

Texts are compared as words, without case, punctuation and the forms of letters (NFKC), by the runs of three words that
they have in common: resemblance and containment as in Broder (1997, On the resemblance and containment of documents,
Proceedings of Compression and Complexity of Sequences).

The thresholds (`integrity.thresholds` in a study file) are where to look closer, and each study shows how often they
are wrong. Parley's 12 characters a second are 144 words of five characters a minute: of 168,000 people who typed given
sentences the fastest reached about 120 (Dhakal et al. 2018, Observations on Typing from 136 Million Keystrokes, CHI,
doi 10.1145/3173574.3174220).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.session.state import visited
from experiments.session.timing import ClientMeasures, added_up, seconds_shown
from experiments.study.fields import LongText, TextField
from experiments.study.location import Location, State, without_indices
from experiments.study.sections.integrity import IntegrityThresholds
from experiments.study.step import Step
from experiments.study.study import Study

INDICATORS = ("paste_share", "typing_speed", "writing_speed", "ai_likeness", "hidden_word", "honeypot", "duplicate")
TITLES: Mapping[str, str] = {
    "paste_share": "pasted",
    "typing_speed": "typed, chars/s",
    "writing_speed": "written, chars/s",
    "ai_likeness": "like a model's",
    "hidden_word": "hidden word",
    "honeypot": "hidden box",
    "duplicate": "like another's",
}
SHARES = ("paste_share", "ai_likeness", "hidden_word", "duplicate")
YES = 1.0
Thresholds = Mapping[str, float]
# Screens with fewer characters have no speed: a word is typed, or completed by the browser, at once.
LEAST_CHARS = 50
# Texts with fewer runs of three words (about 12 words) are not compared: short answers are alike by chance.
LEAST_RUNS = 10
Question = tuple[str, str]


RUN = 3
_WORD = re.compile(r"\w+")
Runs = frozenset[tuple[str, ...]]


def words(text: str) -> list[str]:
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def runs(text: str) -> Runs:
    found = words(text)
    return frozenset(zip(*(found[start:] for start in range(RUN)), strict=False))


def resemblance(one: Runs, other: Runs) -> float:
    """The share of all runs of both that both have; 0 without any."""
    return len(one & other) / len(one | other) if one and other else 0.0


def containment(one: Runs, other: Runs) -> float:
    """The share of the first text's runs that the other has; 0 without any."""
    return len(one & other) / len(one) if one else 0.0


@dataclass(frozen=True, slots=True)
class WrittenText:
    """A text of a form: the box it was written in (with the turns of loops as one), and the problem it is about."""

    box: str
    question: Question | None
    runs: Runs


@dataclass(frozen=True, slots=True)
class WrittenScreen:
    chars: int
    seconds: float | None
    client: ClientMeasures


@dataclass(frozen=True, slots=True)
class WrittenSession:
    number: int
    screens: tuple[WrittenScreen, ...]
    texts: tuple[WrittenText, ...]
    hidden_word: bool | None = None
    """True if a long text has the study's hidden word; None where the study has none, or no long text was written."""
    honeypot: int | None = None
    """The screens on which the hidden box was filled in; None where the study has none, or pages reported nothing."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A figure, and its basis; `number` is the other session of a duplicate."""

    value: float
    about: str
    number: int | None = None


Dossier = Mapping[str, Evidence | None]


def written(
    study: Study, state: State, number: int, telemetry: Mapping[str, Sequence[Mapping[str, Any]]]
) -> WrittenSession:
    """The texts of a session; `telemetry` are the page's records by path."""
    screens: list[WrittenScreen] = []
    texts: list[WrittenText] = []
    sent: list[str] = []
    for place in visited(study, state):
        if isinstance(place.node, Step):
            forms, said = _forms(place), [str(fact.data["text"]) for fact in place.facts if fact.kind == "said"]
            chars = sum(map(len, [*forms.values(), *said]))
            sent += _forms(place, LongText).values()
            texts += [_text(place, name, text) for name, text in forms.items()]
            if chars:
                screens.append(WrittenScreen(chars, seconds_shown(place), added_up(telemetry.get(place.path, ()))))
    checks, told = study.file.integrity, [record["kind"] for some in telemetry.values() for record in some]
    filled = told.count("honeypot") if checks is not None and checks.honeypot and told else None
    long_enough = tuple(one for one in texts if len(one.runs) >= LEAST_RUNS)
    return WrittenSession(number, tuple(screens), long_enough, _has_hidden_word(study, sent), filled)


def _has_hidden_word(study: Study, sent: Sequence[str]) -> bool | None:
    checks = study.file.integrity
    word = checks.hidden_instruction if checks is not None else None
    return any(word in words(text) for text in sent) if word is not None and sent else None


def _forms(location: Location, field_kind: type[TextField] = TextField) -> dict[str, str]:
    sent = next((fact.data for fact in reversed(location.facts) if fact.kind == "submitted"), {})
    boxes = (field.name for field in location.node.questions_asked() if isinstance(field, field_kind))  # type: ignore[union-attr]
    return {name: str(sent[name]) for name in boxes if sent.get(name)}


def _text(location: Location, name: str, text: str) -> WrittenText:
    problem = location.scope.problem
    about = None if problem is None else (problem.dataset, problem.id)
    own = runs(problem.text) if problem is not None else frozenset()
    return WrittenText(f"{without_indices(location.path)}:{name}", about, runs(text) - own)


def dossiers(
    sessions: Sequence[WrittenSession], question_replies: Mapping[Question, Sequence[Runs]]
) -> Iterator[tuple[WrittenSession, Dossier]]:
    """The evidence of each session; `question_replies` are those of models that were asked each question alone."""
    by_run = _by_run(sessions)
    for one in sessions:
        yield one, _evidence(one, question_replies, by_run, several=len(sessions) > 1)


def _evidence(
    session: WrittenSession, question_replies: Mapping[Question, Sequence[Runs]], by_run: ByRun, *, several: bool
) -> Dossier:
    return {
        "paste_share": _paste_share(session.screens),
        "typing_speed": _worst(map(_typing_speed, session.screens)),
        "writing_speed": _worst(map(_writing_speed, session.screens)),
        "ai_likeness": _ai_likeness(session.texts, question_replies),
        "hidden_word": _hidden_word(session),
        "honeypot": _honeypot(session),
        "duplicate": _duplicate(session, by_run, several=several),
    }


def thresholds_of(study: Study | None = None) -> Thresholds:
    """The value from which a study flags each indicator; without one, Parley's."""
    checks = study.file.integrity if study is not None else None
    chosen = (checks.thresholds if checks is not None else None) or IntegrityThresholds()
    known = {**chosen.model_dump(), "hidden_word": YES}
    return {name: float(known[name]) for name in INDICATORS}


def flagged(found: Dossier, thresholds: Thresholds) -> dict[str, bool | None]:
    """By indicator, whether it is at its threshold; None where it cannot be known."""
    return {name: None if one is None else one.value >= thresholds[name] for name, one in found.items()}


def written_value(name: str, value: float) -> str:
    """A value of an indicator as people read it: `97 %` or `14.2`."""
    if name == "honeypot":
        return f"{value:.0f}"
    return f"{100 * value:.0f} %" if name in SHARES else f"{value:.1f}"


def _worst(evidence: Iterable[Evidence | None]) -> Evidence | None:
    return max((one for one in evidence if one is not None), key=lambda one: one.value, default=None)


def _paste_share(screens: Sequence[WrittenScreen]) -> Evidence | None:
    known = [one for one in screens if one.client.pasted_chars is not None]
    chars, pasted = sum(one.chars for one in known), sum(one.client.pasted_chars or 0 for one in known)
    if not chars:
        return None
    return Evidence(min(1.0, pasted / chars), f"{pasted:,} characters pasted, {chars:,} written")


def _typing_speed(screen: WrittenScreen) -> Evidence | None:
    if screen.client.typing_s is None or screen.client.pasted_chars is None:
        return None
    typed = screen.chars - screen.client.pasted_chars
    return _speed(typed, screen.client.typing_s, "typed")


def _writing_speed(screen: WrittenScreen) -> Evidence | None:
    return None if screen.seconds is None else _speed(screen.chars, screen.seconds, "on the screen")


def _speed(chars: int, seconds: float, how: str) -> Evidence | None:
    """Characters a second; less than a second counts as one, as text that no key wrote has no time at all."""
    if chars < LEAST_CHARS:
        return None
    return Evidence(chars / max(1.0, seconds), f"{chars:,} characters in {seconds:,.1f} s {how}")


def _hidden_word(session: WrittenSession) -> Evidence | None:
    return None if session.hidden_word is None else Evidence(float(session.hidden_word), "all long texts of forms")


def _honeypot(session: WrittenSession) -> Evidence | None:
    return (
        None if session.honeypot is None else Evidence(float(session.honeypot), "screens with the hidden box filled in")
    )


def _ai_likeness(texts: Sequence[WrittenText], question_replies: Mapping[Question, Sequence[Runs]]) -> Evidence | None:
    def likest(text: WrittenText) -> Evidence | None:
        against = question_replies.get(text.question, ()) if text.question is not None else ()
        found = max((containment(text.runs, reply) for reply in against), default=None)
        return None if found is None else Evidence(found, f"{len(against):,} replies of models alone compared")

    return _worst(map(likest, texts))


# The sessions, by number, and their texts that have a run in a box.
ByRun = Mapping[tuple[str, tuple[str, ...]], Sequence[tuple[int, Runs]]]


def _by_run(sessions: Iterable[WrittenSession]) -> ByRun:
    found: dict[tuple[str, tuple[str, ...]], list[tuple[int, Runs]]] = {}
    for one in sessions:
        for text in one.texts:
            for run in text.runs:
                found.setdefault((text.box, run), []).append((one.number, text.runs))
    return found


def _duplicate(session: WrittenSession, by_run: ByRun, *, several: bool) -> Evidence | None:
    if not session.texts or not several:
        return None
    best = Evidence(0.0, "no other session wrote such a text")
    for text in session.texts:
        for number, runs_ in {
            other for run in text.runs for other in by_run[text.box, run] if other[0] != session.number
        }:
            if (value := resemblance(text.runs, runs_)) > best.value:
                best = Evidence(value, "a text in the same box of another session", number)
    return best
