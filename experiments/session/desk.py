"""The researchers' desk: their notes on a session and acts in it, as events of its stream.

    noted {text, who}      excluded {why, who}      included {why, who}

At the live desk a participant asks for help, and a researcher answers, gives time, or ends the session.

    asked_for_help {text, at}         `at` is the path of the screen
    helped {text, who}
    time_given {seconds, at, who}     the limits of that screen and of the session end so much later
    finished {outcome, why, who}      at the current screen, with what was typed there

All but the last are notes without a path: they change no screen, so nothing that is being filled in is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from experiments.errors import NotPossible, Refused, suggestion
from experiments.events import ASKED, GIVEN, HELPED, Action, Data, Event, Fact
from experiments.session.outcomes import OUTCOMES
from experiments.session.state import current_location
from experiments.session.timing import deadlines, has_content, has_reply_in_progress, typed_values
from experiments.session.waves import goes_on
from experiments.study.fields import Invalid, read_text
from experiments.study.location import Location, State, language_of
from experiments.study.screen import HelpView
from experiments.study.study import Study

Kind = Literal["noted", "excluded", "included", "helped", "time_given", "finished"]
MOST_CHARS = 2_000
MOST_MINUTES = 1_440
RESUBMITTED = "came back with another submission"
TEXT: Mapping[Kind, str] = {"noted": "text", "helped": "text", "excluded": "why", "included": "why"}
TEXT = {**TEXT, "time_given": "seconds", "finished": "outcome"}


def remark(kind: Kind, text: str, who: str, at_us: int) -> Action:
    """`text` is a note, reason, answer, number of minutes or outcome; raises NotPossible if it is not, or too long."""
    try:
        said = read_text(text, MOST_CHARS, required=True)
    except Invalid as error:
        if len(text) > MOST_CHARS:
            raise NotPossible(f"{len(text):,} characters are too many; at most {MOST_CHARS:,} are kept") from error
        missing = "give a reason; readers of the data need it" if TEXT[kind] == "why" else "write or choose it first"
        raise NotPossible(f"nothing was saved: {missing}") from error
    value = _seconds(said) if kind == GIVEN else said
    return Action(kind, "", {TEXT[kind]: value, "who": who}, at_us, by="researcher")


def _seconds(minutes: str) -> int:
    if not (minutes.isascii() and minutes.isdecimal() and 1 <= int(minutes) <= MOST_MINUTES):
        raise NotPossible(f"{minutes!r} is no number of minutes; allowed: whole numbers from 1 to {MOST_MINUTES:,}")
    return 60 * int(minutes)


def excluded(events: Iterable[Event]) -> str | None:
    """The reason why the session is excluded; None if it is not."""
    last = exclusion(events)
    return str(last.data["why"]) if last is not None else None


def exclusion(events: Iterable[Event]) -> Event | None:
    last = None
    for event in events:
        last = event if event.kind in ("excluded", "included") else last
    return last if last is not None and last.kind == "excluded" else None


def refuse_repeated(events: Iterable[Event], kind: str) -> None:
    if kind not in ("excluded", "included"):
        return
    why = excluded(events)
    if kind == "excluded" and why is not None:
        raise NotPossible(f"the session is already excluded ({why}); to change the reason, include it again first")
    if kind == "included" and why is None:
        raise NotPossible("the session is not excluded, so there is nothing to undo")


MOST_CHARS_ASKED = 1_000
MOST_UNANSWERED = 3
NO_MORE_HELP = "You have written as often as you can for now. Please wait for an answer."
RESEARCHER = "researcher"


def unanswered(events: Iterable[Event]) -> tuple[Event, ...]:
    """The requests for help after the last answer."""
    found: tuple[Event, ...] = ()
    for event in events:
        found = () if event.kind == HELPED else (*found, event) if event.kind == ASKED else found
    return found


def is_ended_by_researcher(event: Event) -> bool:
    return event.kind == "finished" and event.by == RESEARCHER


def help_view(study: Study, state: State) -> HelpView | None:
    """Return the participant's questions and the answers; None if the study has no help, or nobody asked or can ask."""
    said = [event for event in state.facts.get("", ()) if event.kind in (ASKED, HELPED)]
    can_ask = not state.outcome or goes_on(study, state)
    if study.file.help is None or not (can_ask or said):
        return None
    messages = tuple((event.kind == ASKED, str(event.data["text"])) for event in said)
    return HelpView(study.translate(study.file.help, language_of(study, state)), messages, can_ask)


def asked(location: Location, data: Data) -> Fact:
    if location.study.file.help is None:
        raise Refused("not_offered", "This study has no help.")
    events = location.state.facts.get("", ())
    if len(unanswered(events)) >= MOST_UNANSWERED:
        raise Refused("too_fast", NO_MORE_HELP)
    try:
        text = read_text(data.get("help"), MOST_CHARS_ASKED, required=True)
    except Invalid as error:
        raise Refused("invalid", error.said) from error
    return Fact(ASKED, {"text": text, "at": location.path}, path="")


def time_given(study: Study, state: State, data: Data) -> Fact:
    place = current_location(study, state)
    if place is None or not any(due.kind != "away" for due in deadlines(study, state)):
        raise NotPossible("no time limit runs in this session now, so no time can be given")
    return Fact(GIVEN, {**data, "at": place.path})


def can_end_with(study: Study) -> tuple[str, ...]:
    known = {*study.file.outcomes, *(name for _, step in study.steps for name in step.outcome_codes())}
    return tuple(name for name in OUTCOMES if name in (known | {"technical_failure"}) - {"withdrawn", "no_consent"})


def ended(study: Study, state: State, data: Data) -> Fact:
    place = current_location(study, state)
    if state.outcome or place is None:
        raise NotPossible("the session has ended already")
    if data["outcome"] not in (known := can_end_with(study)):
        raise NotPossible(f"{data['outcome']!r} is no outcome of this study{suggestion(data['outcome'], known)}")
    if has_reply_in_progress(place):
        raise NotPossible("a reply is being written in the session; end it when the reply is there")
    kept = {"outcome": data["outcome"], "why": RESEARCHER, "who": data["who"]}
    typed = typed_values(place, data)
    return Fact("finished", kept | ({"typed": typed} if has_content(typed) else {}), path=place.path)
