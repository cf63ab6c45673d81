"""The rows of the tidy tables: pure functions of one session.

A table's function yields values by the names of its columns; those that it leaves out are blank. `participant` and
`session` are added to every row.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from types import MappingProxyType
from typing import Any

import orjson

from experiments.events import Event
from experiments.session import memory
from experiments.session.conversation import ROLES, ended, is_by_model, turn_of
from experiments.session.conversation_design import ConversationDesign
from experiments.session.document import OVER, UNDOES, Document
from experiments.session.fidelity import CHECKED, JUDGE_SLOT
from experiments.session.model_conversation import ModelConversation
from experiments.session.reminders import FAILED, REMINDED, SENT
from experiments.session.state import visited
from experiments.session.timing import added_up, last_acted_us, seconds_shown, shown_us
from experiments.session.tool_calls import CALLED
from experiments.steps.work import WorkStep
from experiments.study.fields import ANSWER
from experiments.study.location import Location, State, orders_of
from experiments.study.problem_answer import ADVICE, AnsweringStep
from experiments.study.step import Step
from experiments.study.study import Study
from experiments.views.answers import AnswerView, answered, given_by
from experiments.views.instrument_scores import instrument_answers, scores
from experiments.views.problem_history import model_at, problem_turns
from experiments.views.rewards import ACTION, COMMUNICATE, DB, reward_at
from experiments.views.tool_use import ToolUse, tool_uses
from problems.tau2 import POLICY_TAG
from storage.datasets.integrity import SessionEvidence
from storage.datasets.tidy.columns import BY_RESEARCHERS, GIVEN, Layout, person_id, session_id
from storage.datasets.writers import picture_path

Values = dict[str, Any]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
BETWEEN = "; "
REWARD_PARTS = MappingProxyType({"database": DB, "communicated": COMMUNICATE, "actions": ACTION})
OF_REMINDERS = MappingProxyType(
    {"reminder_wave": "wave", "reminder": "kind", "reminder_channel": "channel", "reminder_number": "number"}
)
WHOLE = re.compile(r"-?[0-9]{1,15}")


@dataclass(frozen=True)
class TidySession:
    """`telemetry` are the page's records by path, `attempts` the calls of models, in order, and `evidence` figures on
    how its texts were written; each is read only for the tables that need it."""

    study: Study
    state: State
    seat: Mapping[str, Any]
    telemetry: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    attempts: Sequence[Mapping[str, Any]] = ()
    evidence: SessionEvidence | None = None

    @cached_property
    def places(self) -> _Places:
        return _Places(self.study, self.state)


def rows(table: str, session: TidySession, layout: Layout) -> Iterator[Values]:
    seed = session.state.seed
    keys: Values = {"participant": layout.ids["participant"](seed), "session": session_id(seed)}
    keys |= {"person": person_id(session.state.enrolled), "wave": session.state.enrolled.get("wave")}
    found = _WHOLE[table](session, layout) if table in _WHOLE else _BY_EVENT[table](session, session.places)
    for values in found:
        yield {**keys, **values}


class _Places:
    """The places that a session has reached, their columns, and the answers there; each is made once."""

    def __init__(self, study: Study, state: State) -> None:
        self.steps = tuple(place for place in visited(study, state) if isinstance(place.node, Step))
        self._by_path = {place.path: place for place in self.steps}
        self._positions = {unit.prefix: unit.position for unit in problem_turns(study, state)}
        self._found: dict[str, Values] = {}

    @cached_property
    def answers(self) -> tuple[tuple[Location, Event, AnswerView], ...]:
        return tuple(_given_answers(self.steps))

    @cached_property
    def tool_uses(self) -> Mapping[str, tuple[ToolUse, ...]]:
        using = (place for place in self.steps if any(event.kind == CALLED for event in place.facts))
        return {place.path: tool_uses(place.facts) for place in using}

    def columns(self, path: str) -> Values:
        if path not in self._found:
            self._found[path] = self._columns(path)
        return self._found[path]

    def _columns(self, path: str) -> Values:
        place = self._by_path.get(path)
        if place is None:
            return {"path": path or None}
        scope, step = place.scope, place.node
        problem = scope.problem
        return {
            "path": path,
            "step": step.step if isinstance(step, Step) else None,
            "phase": scope.phases[-1][0].id if scope.phases else None,
            "position": self._positions.get(scope.turns[-1].prefix) if scope.turns else None,
            "dataset": problem.dataset if problem else None,
            "problem": problem.id if problem else None,
        }


def _model(location: Location) -> Values:
    """The model at a place; outside of loops none where no conversation is, though a factor may have drawn one."""
    step, scope = location.node, location.scope
    if isinstance(step, ModelConversation):
        return {"model": step.replies(location) or None}
    takes_part = isinstance(step, Step) and (scope.turns or any(step.asks_models(())))
    return {"model": model_at(step, scope) if takes_part and isinstance(step, Step) else None}


def _sessions(session: TidySession, layout: Layout) -> Iterator[Values]:
    seat, state = session.seat, session.state
    yield {
        **{column: of(state.seed) for column, of in layout.ids.items()},
        "origin": seat["origin"],
        "simulated_user": state.enrolled.get("user", {}).get("kind"),
        "version": session.study.file.version,
        "hash": session.study.hash,
        "language": seat["language"] or None,
        "started": time(seat["begun_us"]),
        "seconds": max(0, last_acted_us(state.events) - seat["begun_us"]) / 1e6,
        "outcome": seat["outcome"],
        "last_path": seat["furthest"] or None,
        "flags": seat["flags"] or None,
        "excluded": int(seat["excluded"] is not None),
        **{column: state.factors.get(factor) for column, factor in layout.factors.items()},
    }


def _answers(session: TidySession, places: _Places) -> Iterator[Values]:
    for place, event, view in places.answers:
        if view.name not in _ratings(place, event):
            asked = {"question": view.name, "wording": view.question or None}
            correct = None if view.correct is None else int(view.correct)
            advice = _advice(place, event) if view.name == ANSWER.name else {}
            known = {**_heading(places, event), **_model(place), **asked, **_values(view), "correct": correct}
            yield {**known, **_option_order(place, view), **advice}


def _option_order(location: Location, view: AnswerView) -> Values:
    """The order of a question's options, if it was drawn, and the places of the chosen and the right one."""
    drawn, problem = orders_of(location.facts), location.scope.problem
    of_problem = view.name == ANSWER.name and "options" in drawn
    keys = list(drawn["options"] if of_problem else drawn.get("choices", {}).get(view.name, ()))
    places = {key: place for place, key in enumerate(keys, 1)}
    return {
        "option_order": orjson.dumps(keys).decode() if keys else None,
        "chosen_position": places.get(view.value) if isinstance(view.value, str) else None,
        "right_position": places.get(problem.answer or "") if of_problem and problem else None,
    }


def _advice(location: Location, event: Event) -> Values:
    shown, problem, step = event.data.get(ADVICE), location.scope.problem, location.node
    right = None
    if shown is not None and isinstance(step, AnsweringStep) and problem is not None and problem.answer is not None:
        right = int(step.accepts(problem, shown))
    return {"advice": text(shown), "advice_correct": right}


def _scores(session: TidySession, places: _Places) -> Iterator[Values]:
    for place in places.steps if session.study.instruments else ():
        for found in instrument_answers(session.study, place):
            known = {**places.columns(place.path), "seq": found.event.seq, "time": time(found.event.at_us)}
            for score in scores(found.instrument, found.answers):
                yield {**known, **asdict(score)}


def _answers_rated(session: TidySession, places: _Places) -> Iterator[Values]:
    for place, event, view in places.answers:
        about = _ratings(place, event).get(view.name)
        if about is not None:
            yield {
                **_heading(places, event),
                **_values(view),
                "rating": about.scale,
                "wording": view.question or None,
                "conversation": about.path or None,
                "turn": about.turn,
                "slot": about.slot or None,
                "model": about.model or None,
            }


def _heading(places: _Places, event: Event) -> Values:
    return {**places.columns(event.path), "seq": event.seq, "time": time(event.at_us), "status": event.kind}


def _given_answers(steps: Iterable[Location]) -> Iterator[tuple[Location, Event, AnswerView]]:
    """Every answer to a question that was shown, with its event."""
    for place in steps:
        for event in place.facts:
            if event.kind in GIVEN:
                given = event.data if event.kind in ("rated", "voted") else given_by(event)
                yield from ((place, event, view) for view in _views(_before(place, event), event, given))


def _views(location: Location, event: Event, given: Mapping[str, Any]) -> tuple[AnswerView, ...]:
    step = location.node
    assert isinstance(step, Step)  # noqa: S101  (others have no answers)
    fields = step.fields(location)
    if event.kind == "rated":
        fields = tuple(field.filled(location.fill) for field in step.questions_asked())
    return answered(location, fields, given)


def _before(location: Location, event: Event) -> Location:
    """The place as it was on the screen that an event answered."""
    facts = tuple(fact for fact in location.facts if fact.seq < event.seq)
    return replace(location, state=replace(location.state, facts={**location.state.facts, location.path: facts}))


def _ratings(location: Location, event: Event) -> Mapping[str, Any]:
    return location.node.rates(location, event) if isinstance(location.node, Step) else {}


def _values(view: AnswerView) -> Values:
    label = BETWEEN.join(view.given) if view.chosen and view.given else None
    return {"value": text(view.value), "number": _number(view), "label": label}


def _number(view: AnswerView) -> float | None:
    """The answer as a number; options that are whole numbers count, the participant's own texts do not."""
    value = view.value
    if isinstance(value, str):
        return int(value) if view.chosen and WHOLE.fullmatch(value) else None
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def text(value: Any) -> str | None:
    """An answer as a text: a list as JSON, a truth value as `true` or `false`; None if there is no answer."""
    if value is None or value == "" or value == [] or value == ():
        return None
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _integrity(session: TidySession, _: Layout) -> Iterator[Values]:
    known = session.evidence
    for name, found in known.dossier.items() if known is not None else ():
        if known is not None and found is not None:
            copied = name == "duplicate" and known.alike is not None
            yield {
                "indicator": name,
                "value": found.value,
                "threshold": known.thresholds[name],
                "flagged": int(bool(known.flags[name])),
                "basis": found.about,
                "alike": session_id(known.alike) if copied and known.alike else None,
            }


def _wide(session: TidySession, layout: Layout) -> Iterator[Values]:
    facts = session.state.facts
    yield {
        column.name: _stored(_last(facts.get(path, ()), name), column.kind)
        for (path, name), column in layout.wide.items()
    }


def _last(events: Sequence[Event], name: str) -> Any:
    """The newest answer of that name, as a study file refers to it."""
    return next((fact.data[name] for fact in reversed(events) if name in fact.data), None)


def _stored(value: Any, kind: str) -> Any:
    return text(value) if kind == "text" else value


def _messages(session: TidySession, places: _Places) -> Iterator[Values]:
    for place in places.steps:
        turn, calls = 0, Counter(use.reply.seq for use in places.tool_uses.get(place.path, ()) if use.reply)
        for event in place.facts:
            turn += event.kind == "said"
            if event.kind in ROLES:
                known = {
                    **places.columns(place.path),
                    "seq": event.seq,
                    "time": time(event.at_us),
                    "turn": turn or None,
                }
                said = _user_message(event) if event.kind == "said" else _replied(event)
                yield known | said | {"tool_calls": calls[event.seq] if said.get("model") else None}


def _user_message(event: Event) -> Values:
    suggested = event.data.get("suggested")
    pictures = " ".join(picture_path(one["sha256"], one["type"]) for one in event.data.get("pictures", ()))
    said = {"role": "user", "text": event.data["text"], "pictures": pictures or None}
    return said | {"ending": "complete", "suggested": suggested}


def _replied(event: Event) -> Values:
    data = event.data
    model = data.get("model") if is_by_model(event) else None
    how = {
        "source": "opening" if event.kind == "opened" else data.get("source", "model"),
        "system_addition": ", ".join(data.get("additions", ())) or None,
        "memory": data.get("memory"),
        "t_model": time(data.get("model_last_us", event.at_us)) if model else None,
        "t_first_shown": time(data.get("shown_first_us", event.at_us)),
        "t_shown": time(data.get("shown_last_us", event.at_us)),
        "ended_by": data.get("ended_by"),
    }
    how |= {"slot": data.get("slot"), "model": model, "ending": ended(event) or "complete"}
    return {"role": "assistant", "text": data["text"], **how}


def _fidelity(session: TidySession, places: _Places) -> Iterator[Values]:
    for event in (event for event in session.state.events if event.kind == CHECKED):
        data = event.data
        known = {**places.columns(event.path), "seq": event.seq, "time": time(event.at_us), "reply": data["of"]}
        kept = None if data["kept"] is None else int(data["kept"])
        names = ("turn", "slot", "model", "version", "rule", "check", "judge", "judge_version", "missing")
        about = {name: data.get(name) for name in names}
        yield {**known, **about, "shown": int(data["shown"]), "kept": kept, "value": text(data["value"])}


def _memory(session: TidySession, places: _Places) -> Iterator[Values]:
    for event in (event for event in session.state.events if event.kind == memory.REMEMBERED):
        data = event.data
        known = {name: data.get(name) for name in ("kind", "cut", "model", "version", "failed")}
        known |= {"seq": event.seq, "time": time(event.at_us), "from_waves": BETWEEN.join(data["from"]) or None}
        texts = {"text": text(data["text"]), "statements": text(data.get("checked"))}
        yield {**places.columns(event.path), **known, **texts}


def _rewards(session: TidySession, places: _Places) -> Iterator[Values]:
    tasks = (place for place in places.steps if place.scope.problem and POLICY_TAG in place.scope.problem.tags)
    for place in tasks:
        if (found := reward_at(place)) is not None:
            parts = {column: found.parts.get(part) for column, part in REWARD_PARTS.items()}
            yield {
                **places.columns(place.path),
                **_model(place),
                "reward": found.reward,
                "ended": int(found.ended),
                **parts,
            }


def _tool_calls(session: TidySession, places: _Places) -> Iterator[Values]:
    for place in places.steps:
        for use in places.tool_uses.get(place.path, ()):
            data, result = use.called.data, use.result
            yield {
                **places.columns(place.path),
                "seq": use.called.seq,
                "time": time(use.called.at_us),
                "turn": turn_of(place.facts, use.called) or None,
                "reply": use.reply.seq if use.reply else None,
                **{name: data.get(name) for name in ("slot", "model", "version")},
                "before": text(data.get("text")),
                "number": use.number,
                "set": place.node.tool_set(place)[0] or None if isinstance(place.node, ConversationDesign) else None,
                "tool": use.call.tool,
                "arguments": text(use.call.arguments),
                "decision": use.decision,
                "reason": use.reason or None,
                "begun": time(use.begun_us),
                "returned": time(use.returned_us),
                "seconds": use.seconds,
                "failed": use.failed or None,
                "result": text(result.get("text")),
                "chars": result.get("chars"),
                "sha256": result.get("sha256"),
            }


def _documents(session: TidySession, places: _Places) -> Iterator[Values]:
    for place, document, origins in _written(places):
        authors = ["initial", *(event.by for event in document.edits)]
        chars, edits = Counter(authors[version] for version in origins), Counter(authors)
        yield {
            **places.columns(place.path),
            **_model(place),
            "text": text(document.text),
            "words": len(document.text.split()),
            "chars_initial": chars["initial"],
            "chars_user": chars["participant"],
            "chars_model": chars["model"],
            "edits_user": edits["participant"],
            "edits_model": edits["model"],
            "edits_model_kept": sum(authors[version] == "model" for version in {*origins}),
            "seconds": seconds_shown(place),
        }


def _document_edits(session: TidySession, places: _Places) -> Iterator[Values]:
    for place, document, origins in _written(places):
        kept = Counter(origins)
        for event in document.edits:
            data = event.data
            known = {**places.columns(place.path), "seq": event.seq, "time": time(event.at_us), "by": event.by}
            texts = {name: text(data[name]) for name in ("removed", "added")}
            own = {"version": data["version"], "start": data["start"], "kept": kept[data["version"]]}
            yield {**known, **own, **texts, "over": int(OVER in data), "undoes": data.get(UNDOES)}


def _written(places: _Places) -> Iterator[tuple[Location, Document, list[int]]]:
    """Each document with its place, and where its characters come from."""
    for place in places.steps:
        if isinstance(place.node, WorkStep):
            document = place.node.document(place)
            yield place, document, document.origins()


def _events(session: TidySession, places: _Places) -> Iterator[Values]:
    reminded = {event.seq: event.data for event in session.state.events if event.kind == REMINDED}
    for event in session.state.events:
        if event.kind not in BY_RESEARCHERS:
            known = {"seq": event.seq, "time": time(event.at_us), "by": event.by, "event": event.kind}
            about = reminded.get(event.data["of"] if event.kind in (SENT, FAILED) else event.seq, {})
            known |= {column: about.get(name) for column, name in OF_REMINDERS.items()}
            yield {**places.columns(event.path or event.data.get("at", "")), **known}


def _timings(session: TidySession, places: _Places) -> Iterator[Values]:
    for place in places.steps:
        totals = asdict(added_up(session.telemetry.get(place.path, ())))
        shown = {"time": time(shown_us(place)), "seconds": seconds_shown(place)}
        yield {**places.columns(place.path), **_model(place), **shown, **totals}


def _calls(session: TidySession, places: _Places) -> Iterator[Values]:
    for one in session.attempts:
        said = (event.kind == "said" and event.seq <= one["turn"] for event in session.state.facts.get(one["path"], ()))
        yield {
            **places.columns(one["path"]),
            "time": time(one["started_us"]),
            "turn": sum(said) or None,
            "slot": None if one["slot"].startswith((JUDGE_SLOT, memory.SLOT)) else one["slot"] or None,
            "attempt": one["number"],
            **{name: one[name] for name in ("model", "backend", "version", "finish_reason", "cost")},
            "error": one["reason"],
            "prompt_tokens": one["prompt_tokens"],
            "completion_tokens": one["completion_tokens"],
            "first_token_s": _seconds(one["first_token_us"]),
            "total_s": _seconds(one["total_us"]),
        }


def _seconds(us: int | None) -> float | None:
    return None if us is None else us / 1e6


def time(us: int | None) -> str | None:
    """A time in microseconds since 1970 as ISO 8601 in UTC, to the millisecond."""
    return None if us is None else (EPOCH + timedelta(microseconds=us)).isoformat(timespec="milliseconds")


_WHOLE: Mapping[str, Callable[[TidySession, Layout], Iterator[Values]]] = MappingProxyType(
    {"sessions": _sessions, "answers_wide": _wide, "integrity": _integrity}
)
_BY_EVENT: Mapping[str, Callable[[TidySession, _Places], Iterator[Values]]] = MappingProxyType(
    {
        "answers": _answers,
        "scores": _scores,
        "ratings": _answers_rated,
        "messages": _messages,
        "events": _events,
        "timings": _timings,
        "model_calls": _calls,
        "fidelity": _fidelity,
        "memory": _memory,
        "tool_calls": _tool_calls,
        "rewards": _rewards,
        "documents": _documents,
        "document_edits": _document_edits,
    }
)
