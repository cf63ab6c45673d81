"""The rules of a session, as pure functions.

    decide(study, state, action) -> events | Refused     is the action allowed, and which events does it cause?
    apply(state, event)          -> state                 the state after the event
    screen(study, state)         -> Screen                what the participant sees
    pending_tasks(study, state)  -> tasks                 what the server has to do next

Invariants: events are numbered from 1 without gaps, and never dated before the previous one. A refused action leaves
no trace. An action with a known key has already happened and causes no events. A participant can act only on the
current screen (`seen`); only `stop`, and what is decided on a call of a tool, are also accepted from a screen that
misses what models did since. Rules for editors:
no clock, no randomness (see `seeded_random`), no I/O, and no reference to a particular kind of step.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import assert_never

from experiments.errors import NOT_OFFERED, Refused
from experiments.events import ASKED, GIVEN, NOTES, REMINDING, SILENT, Action, Data, Event, Fact, PendingTask
from experiments.session.annotations import ANNOTATED
from experiments.session.conversation import SCRIPTED, ended_by_clock
from experiments.session.desk import asked, ended, help_view, is_ended_by_researcher, refuse_repeated, time_given
from experiments.session.fidelity import WITHHELD, decided, judged_later, reply_of
from experiments.session.identity_leaks import guarded, masked
from experiments.session.memory import SLOT, makes, recalls, tasks_of
from experiments.session.outcomes import ENDED_HERE, end_page_of
from experiments.session.progress import progress
from experiments.session.sampling import draw_fact, order_fact
from experiments.session.state import (
    cached_path,
    current_location,
    factors_of,
    holds_place,
    is_later_wave,
    memoized,
    outcome_of,
)
from experiments.session.timing import (
    can_extend,
    check_minimum_time,
    expired,
    has_content,
    notice_of_expiry,
    stopped_by_clock,
    timing,
)
from experiments.session.tool_calls import ALLOWED, DENIED, INTERRUPTED, TOOL_ACTIONS, called_facts, result_facts
from experiments.session.waves import assigned_fact, goes_on
from experiments.study.location import DrawRecord, Location, Scope, State
from experiments.study.option_order import ORDERED
from experiments.study.screen import (
    Block,
    CodeBlock,
    NextPartBlock,
    NoticeBlock,
    Panel,
    ProgressView,
    Screen,
    TextBlock,
)
from experiments.study.sections.recruitment import EndPage
from experiments.study.step import Step
from experiments.study.study import Study
from experiments.study.texts import lazy

STALE = "Something was sent from this page before, perhaps in another tab. Here is the current page."
TOO_LATE = "Time was up before this arrived, so it was not sent. Here is the current page."
UNSENT = "What you entered on the last page is saved, but it was not sent."
COMPLETE = "complete"
# The target of the last page's button. The server redirects from there to the recruiter's address with the ids.
OUT = "out"
# The target of the button to the page between waves.
NEXT = "next"
DECIDES, DECISIONS = ("allow", "deny"), (ALLOWED, DENIED)
# What may be done on a screen that misses what models did since.
MISSING_NEWS = ("stop", *DECIDES)
# The data of the event `enrolled` that a withdrawal keeps.
TOMBSTONE = ("study", "hash", "origin", "language")
ENDED = "You have already finished. You do not need to do anything else."


def fold(events: Iterable[Event], state: State | None = None) -> State:
    state = state or State()
    for event in events:
        state = apply(state, event)
    return state


def apply(state: State, event: Event) -> State:
    """Raises ValueError for a gap in the numbers; only `withdrew` may follow one, as what precedes is erased."""
    if event.kind == "withdrew":
        keys = frozenset({event.key} if event.key else ())
        return State(event.seq, event.seq, enrolled=event.data, keys=keys, events=(event,), outcome="withdrawn")
    if event.seq != state.seq + 1:
        raise ValueError(f"event {event.seq} does not follow event {state.seq}")
    enrolled, seed, factors, draws = state.enrolled, state.seed, state.factors, state.draws
    facts, outcome = state.facts, state.outcome
    match event.kind:
        case "enrolled":
            enrolled, seed = event.data, event.data["seed"]
        case "assigned":
            factors = event.data["factors"]
        case "drawn":
            draws = {**draws, event.path: DrawRecord(event.data["of"], tuple(event.data["items"]))}
        case kind:
            facts = {**facts, event.path: (*facts.get(event.path, ()), event)}
            outcome = outcome_of(event.data) if kind == "finished" else outcome
    changed = state.changed if event.kind in SILENT else event.seq
    keys = state.keys | {event.key} if event.key else state.keys
    events = (*state.events, event)
    after = State(event.seq, changed, seed, enrolled, factors, draws, facts, keys, events, outcome)
    after.memo.update(cached_path(state, event))
    return after


@memoized
def pending_tasks(study: Study, state: State) -> tuple[PendingTask, ...]:
    """The tasks before the participant can continue (empty if it is their turn): one immediate task (assign, draw,
    order, finish), or replies, which are requested concurrently."""
    if not state.seq or state.outcome:
        return ()
    if not state.factors and factors_of(study, state):
        if is_later_wave(study, state):
            return (PendingTask("assign", "", {"repeated": True}),)
        if holds_place(study, state):
            return (PendingTask("assign", "", {}),)
    place = current_location(study, state)
    if place is None:
        return ()
    if isinstance(place.node, Step):
        due = {} if place.facts else order_fact(place)  # before the first event of a step
        if due:
            return (PendingTask("order", place.path, due),)
        return tasks_of(place, place.node) if study.file.memory else place.node.pending_tasks(place)
    return (PendingTask("draw", place.path, {"target": place.node.target} if place.node.target else {}),)


def _order_due(study: Study, state: State) -> bool:
    return any(task.kind == "order" for task in pending_tasks(study, state))


def screen(study: Study, state: State) -> Screen:
    if state.outcome:
        return _last_page(study, state)
    place = current_location(study, state)
    if place is None or not isinstance(place.node, Step) or _order_due(study, state):
        return Screen("", state.changed, Panel(), progress(study, state, place), (), ended=place is None)
    panel = place.node.panel(place)
    title, button, decline = map(place.fill, (panel.title, panel.button, panel.decline))
    blocks = (*notice_of_expiry(place), *panel.blocks)
    panel = replace(panel, title=title, blocks=blocks, button=button, decline=decline)
    times = timing(place, place.node)
    more = ("extend",) if times.more else ()
    offers = (*place.node.offers(place), *more)
    desk = help_view(study, state) if study.file.help is not None else None
    return Screen(place.path, state.changed, panel, progress(study, state, place), offers, timing=times, help=desk)


def _last_page(study: Study, state: State) -> Screen:
    place, last = _ended_at(study, state), end_page(study, state)
    nowhere = Location("", study.flow[-1], Scope(), study, state)
    says = (place or nowhere).fill
    code: tuple[Block, ...] = (
        (CodeBlock(last.code, OUT if last.url else "", complete=state.outcome == COMPLETE),)
        if last.code or last.url
        else ()
    )
    ends = [event for event in place.facts if event.kind == "finished"] if place else []
    unsent = (NoticeBlock(lazy(UNSENT)),) if ends and has_content(ends[-1].data.get("typed", {})) else ()
    following = (NextPartBlock(NEXT),) if goes_on(study, state) else ()
    panel = Panel(says(last.title), (TextBlock(says(last.text)), *unsent, *code, *following))
    path = place.path if place else ""
    given = state.outcome != "no_consent" or any(event.kind == "submitted" for event in state.events)
    can_withdraw = given and state.outcome != "withdrawn"
    done = ProgressView("", 1.0)
    desk = help_view(study, state) if study.file.help is not None else None
    return Screen(path, state.changed, panel, done, (), True, state.outcome, can_withdraw=can_withdraw, help=desk)


def end_page(study: Study, state: State) -> EndPage:
    place = _ended_at(study, state)
    by_researcher = place is not None and any(map(is_ended_by_researcher, place.facts))
    if place is not None and by_researcher:
        place = _ends_as(state.outcome, place)
    own = place.node.end_page(place) if place is not None and isinstance(place.node, Step) else EndPage()
    if by_researcher and state.outcome == "technical_failure":
        own = EndPage(title=ENDED_HERE[0], text=ENDED_HERE[1], code=own.code, url=own.url)
    return end_page_of(study, state.outcome, own, part=goes_on(study, state))


def _ends_as(outcome: str, location: Location) -> Location:
    """The last step of this part of the study at which a session ends with the outcome; `location` if there is none."""
    study, state = location.study, location.state
    found = [(path, step) for path, step in study.steps if outcome in step.outcome_codes()]
    part = location.path.partition("/")[0]
    near = [one for one in found if one[0].partition("/")[0] == part] or found
    return Location(*near[-1], Scope(), study, state) if near else location


def _ended_at(study: Study, state: State) -> Location | None:
    """The step at which a session ended; None if it is withdrawn, or ended outside of any step."""
    place = current_location(study, state) if state.outcome != "withdrawn" else None
    return place if place is not None and any(event.kind == "finished" for event in place.facts) else None


def decide(study: Study, state: State, action: Action) -> tuple[Event, ...]:
    """The events that an action causes, numbered and dated; none if its key is known. Raises Refused."""
    if action.key and action.key in state.keys:
        return ()
    facts = _decide(study, state, action)
    at_us = max(action.at_us, state.events[-1].at_us) if state.events else action.at_us
    return tuple(
        Event(
            seq=state.seq + 1 + number,
            at_us=at_us,
            by=fact.by or action.by,
            path=action.path if fact.path is None else fact.path,
            kind=fact.kind,
            data=fact.data,
            key=action.key if number == 0 else None,
        )
        for number, fact in enumerate(facts)
    )


def _decide(study: Study, state: State, action: Action) -> tuple[Fact, ...]:
    if action.kind == "enrol":
        if state.seq:
            raise Refused("not_offered", "This session has already started.")
        return (Fact("enrolled", action.data),)
    if action.kind == "withdraw" and action.by in ("participant", "researcher", "system"):
        return withdrew(state)
    match action.by:
        case "participant":
            return _participant(study, state, action)
        case "system":
            return _reminding(state, action) if action.kind in REMINDING else _system(study, state, action)
        case "model":
            return _model(study, state, action)
        case "researcher":
            return _researcher(study, state, action)
        case _ as other:
            assert_never(other)


def _researcher(study: Study, state: State, action: Action) -> tuple[Fact, ...]:
    _refuse_erased(state)
    if action.kind == "finished":
        return (ended(study, state, action.data),)
    if action.kind == GIVEN:
        return (time_given(study, state, action.data),)
    if action.kind not in NOTES - {ASKED}:
        raise Refused(
            "not_offered", f"A researcher cannot {action.kind}; allowed: {', '.join(sorted(NOTES - {ASKED}))}"
        )
    refuse_repeated(state.events, action.kind)
    return (Fact(action.kind, action.data),)


def _refuse_erased(state: State) -> None:
    if state.outcome == "withdrawn":
        raise Refused("ended", "The participant has withdrawn: nothing more can be written about this session.")


def _reminding(state: State, action: Action) -> tuple[Fact, ...]:
    """Accept facts about reminders: they change no screen, and may come after the end of a session."""
    _refuse_erased(state)
    asked = action.kind in ("subscribed", "unsubscribed")
    return (Fact(action.kind, action.data, by="participant" if asked else None),)


def _annotated(state: State, action: Action) -> tuple[Fact, ...]:
    """An annotation has no path of its own. It is about a step at which a message was sent, or the whole session."""
    _refuse_erased(state)
    path = action.data.get("path")
    if not state.seq or action.path or (path and not any(event.kind == "said" for event in state.facts.get(path, ()))):
        raise Refused("not_offered", f"there is no conversation at {path!r}")
    return (Fact(ANNOTATED, action.data),)


def _participant(study: Study, state: State, action: Action) -> tuple[Fact, ...]:
    place = current_location(study, state)
    if action.kind == "ask_for_help" and place is not None and goes_on(study, state):  # between two waves
        return (asked(place, action.data),)
    if state.outcome or place is None or not isinstance(place.node, Step):
        over = state.outcome or place is None
        ended = TOO_LATE if state.outcome == "timed_out" else ENDED
        raise Refused("ended" if over else "not_offered", ended if over else NOT_OFFERED)
    if action.kind == "ask_for_help":
        return (asked(place, action.data),)
    if _order_due(study, state):
        raise Refused("not_offered", NOT_OFFERED)
    offers = place.node.offers(place)
    in_time = action.seen == state.changed or (action.kind in offers and _in_time(place, action))
    if action.path != place.path or not in_time:
        facts = state.facts.get(action.path, ())
        late = stopped_by_clock(facts) or any(event.kind == "expired" for event in facts)
        raise Refused("stale", TOO_LATE if late else STALE)
    if action.kind == "extend" and can_extend(place):
        return (Fact("extended"),)
    if action.kind not in offers:
        raise Refused("not_offered", NOT_OFFERED)
    check_minimum_time(place, action)
    return place.node.decide(place, action)


def _in_time(location: Location, action: Action) -> bool:
    """True if an action from an older screen is accepted: one that is merged, or a `stop` or a decision if only models
    have added events to the step since then, other decisions, and what is merged. Whether a call that was interrupted
    is made again is not decided on a screen that does not say so."""
    assert isinstance(location.node, Step)  # noqa: S101  (it offers the action)
    merges = location.node.merges
    if action.seen is None or action.seen > location.state.changed or action.kind not in (*MISSING_NEWS, *merges):
        return False
    if action.kind in merges:
        return True
    since = [event for event in location.facts if event.seq > action.seen]
    passed = {*NOTES, *merges.values(), *DECISIONS}
    unsaid = action.kind in DECIDES and any(one.kind == INTERRUPTED for one in since)
    return not unsaid and all(one.by == "model" or one.kind in passed for one in since)


def withdrew(state: State) -> tuple[Fact, ...]:
    """The event that replaces all others: the study and the outcome, none of the content. Possible at any time, also
    from an outdated page; raises Refused if the session is withdrawn."""
    if not state.seq or state.outcome == "withdrawn":
        raise Refused("ended", ENDED)
    kept = {name: state.enrolled[name] for name in TOMBSTONE if name in state.enrolled}
    return (Fact("withdrew", {**kept, "was": state.outcome or "live"}, path=""),)


def _system(study: Study, state: State, action: Action) -> tuple[Fact, ...]:
    if action.kind == "expire":
        return expired(study, state, action)
    job = next((job for job in pending_tasks(study, state) if (job.kind, job.path) == (action.kind, action.path)), None)
    if job is None:
        raise Refused("not_offered", f"{action.kind!r} at {action.path!r} is not pending")
    match job.kind:
        case "assign":
            return (Fact("assigned", assigned_fact(study, state, action.data)),)
        case "draw" | "recall":
            place = current_location(study, state)
            assert place is not None  # noqa: S101  (both are owed at a place)
            if "target" in job.data and "taken" not in action.data:
                raise Refused(
                    "not_offered", f"a draw with a target needs `taken`: the count of each {job.path!r} drawn"
                )
            recalls_waves, taken = job.kind == "recall", action.data.get("taken", {})
            return recalls(place, action.data) if recalls_waves else (Fact("drawn", draw_fact(place, taken)),)
        case "order" | "finish":
            return (Fact(ORDERED if job.kind == "order" else "finished", job.data),)
        case "reply" | "tool":
            raise Refused("not_offered", "a reply comes from a model")
        case _ as other:
            assert_never(other)


def _model(study: Study, state: State, action: Action) -> tuple[Fact, ...]:
    if action.kind == "annotate":
        return _annotated(state, action)
    if action.kind == "judge":
        return (judged_later(study, state, action.path, action.data),)
    kind = "tool" if action.kind in TOOL_ACTIONS else "reply"
    wanted = (kind, action.path, action.data.get("slot", ""))
    owed = next((job for job in pending_tasks(study, state) if (job.kind, job.path, job.slot) == wanted), None)
    place = current_location(study, state)
    if owed is not None and kind == "tool":
        if "own" not in owed.data or place is None or not isinstance(place.node, Step):
            return result_facts(owed, action)
        return place.node.carried_out(place, owed)
    if action.kind not in ("reply", "write", "fail", "call") or owed is None or place is None:
        raise Refused("not_offered", f"no reply is pending at {action.path!r}")
    if owed.slot == SLOT:
        return makes(place, action.data, failed=action.kind == "fail")
    return _answered(study, place, owed, action)


def _answered(study: Study, location: Location, task: PendingTask, action: Action) -> tuple[Fact, ...]:
    by_clock = stopped_by_clock(location.facts)
    data = ended_by_clock(action.data) if by_clock else action.data
    if action.kind == "fail":
        hides = study.file.on_identity_leak != "flag" and "text" in data
        return (Fact("failed", {**data, "text": masked(data["text"], study.file.models)} if hides else data),)
    if not isinstance(data.get("text"), str):
        raise Refused("invalid", "a reply needs its text")
    if action.kind == "call":
        return called_facts(data, location.state.seq + 1)
    return _replied(study, location, task, data, writes=action.kind == "write")


def _replied(study: Study, location: Location, task: PendingTask, data: Data, *, writes: bool) -> tuple[Fact, ...]:
    """`writes`: none of it is shown yet, or not all. A rule of the study may forbid to show it."""
    text, leaked = guarded(data["text"], study.file) if data.get("source") != SCRIPTED else (data["text"], ())
    kept = {name: value for name, value in data.items() if name not in ("judged", "shown")} | {"text": text}
    kind, after = "replied", tuple[Fact, ...]()
    if study.file.fidelity:
        kind, after = decided(reply_of(location, kept), kept, location.state.seq + 1, data.get("judged", {}))
    if writes and kind != WITHHELD:
        return (Fact("written", data),)
    kept = dict(location.node.receives(location, kept)) if isinstance(location.node, Step) else kept
    said = Fact("opened", kept) if task.data.get("opens") else Fact("replied", kept)
    slot = {"slot": data["slot"]} if "slot" in data else {}
    flags = (Fact("flagged", {"what": "leak", "words": list(leaked), **slot}),) if leaked else ()
    return (replace(said, kind=WITHHELD), *after) if kind == WITHHELD else (said, *flags, *after)
