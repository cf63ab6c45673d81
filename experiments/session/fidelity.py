"""Check a reply by the rules of the study's `fidelity`, which say what its condition wants.

    fidelity_checked {rule, check, of, turn, slot, condition, model, version, shown, kept, value}
    withheld {...}        as `replied`: a reply that broke a rule and was not shown

Verdicts are events of the reply's place, written together with it: `of` is its number, `kept` is null where it cannot
be known. The asker calls the model again for as long as a reply is pending, so what was withheld counts even if the
server was killed in between. Neither kind changes a screen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from experiments.errors import Refused
from experiments.events import Data, Event, Fact
from experiments.session.conversation import SCRIPTED, is_by_model, turn_of
from experiments.session.identity_leaks import leaks
from experiments.session.state import visited
from experiments.study import reply_checks as text_of
from experiments.study.location import Location, State
from experiments.study.sections.fidelity import FidelityRule
from experiments.study.step import Step
from experiments.study.study import Study

CHECKED, WITHHELD = "fidelity_checked", "withheld"
OFF_PROTOCOL = "off_protocol"
# How the slots of calls of judges begin; each rule has one of its own.
JUDGE_SLOT = "judge-"
Value = str | float | bool | None
# How a reply ended whose words are not what the model would have said.
CUT_SHORT = ("stopped", "expired")
# What is kept of a judge's finding: the model that judged, its version, the cost, or why there is none.
OF_JUDGE = ("judge", "judge_version", "cost", "missing")


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply and where it was given; `model` is the one that was asked, which a fallback may have stood in for."""

    location: Location
    text: str
    turn: int
    model: str
    slot: str = ""

    @property
    def condition(self) -> dict[str, str]:
        """The values of factors and of what loops vary."""
        scope = self.location.scope
        names = {*self.location.study.factors, *(name for turn in scope.turns for name in turn.node.vary)}
        return {name: value for name, value in scope.values.items() if name in names}


def reply_of(location: Location, data: Data, of: Event | None = None) -> Reply:
    """A reply with this data, which comes next at a location, or was the event `of`."""
    turn = turn_of(location.facts, of or location.state.events[-1])
    model, slot = str(data.get("wanted", data["model"])), str(data.get("slot", ""))
    return Reply(location, str(data.get("text", "")), turn, model, slot)


def rules_for(reply: Reply) -> tuple[FidelityRule, ...]:
    values = {**reply.location.scope.values, "model": reply.model}
    return tuple(rule for rule in reply.location.study.file.fidelity or () if rule.applies(values, reply.turn))


def may_withhold(location: Location, model: str, slot: str) -> bool:
    """Return True if the next reply at a location may have to stay hidden while it is written."""
    return any(rule.withholds for rule in rules_for(reply_of(location, {"model": model, "slot": slot})))


def decided(reply: Reply, data: Data, of: int, judged: Mapping[str, Data]) -> tuple[str, tuple[Fact, ...]]:
    """Decide if a reply, which becomes the event `of`, is replied or withheld; the facts that follow it too. `judged`
    are findings of judges by rule; a rule that waited for its judge and got none has no verdict."""
    unruled = data.get("finish_reason") in CUT_SHORT or data.get("source") == SCRIPTED
    rules = () if unruled else rules_for(reply)
    asked = (rule for rule in rules if rule.wait or not judges(rule))
    found = [(rule, _verdict(rule, reply, judged.get(rule.name, {}))) for rule in asked]
    broken = [rule for rule, verdict in found if verdict["kept"] is False]
    again = any(_withheld(reply) < rule.ask_again for rule in broken)
    ends = next((rule.name for rule in broken if rule.then == "end"), "") if not again else ""
    shown = not again and not ends
    facts = [_fact(rule, reply, data, of, shown=shown, **verdict) for rule, verdict in found]
    end = [Fact("finished", {"outcome": OFF_PROTOCOL, "why": ends}, "system")] if ends else []
    return "replied" if shown else WITHHELD, (*facts, *end)


def judged_later(study: Study, state: State, path: str, finding: Data) -> Fact:
    """`finding` has its `rule` and the number (`of`) of the reply; raises Refused if none is to come."""
    for rule, reply, event in unjudged(study, state):
        if (rule.name, event.seq, event.path) == (finding["rule"], finding["of"], path):
            return _fact(rule, reply, event.data, event.seq, shown=True, **_verdict(rule, reply, finding))
    raise Refused("not_offered", f"no verdict of {finding['rule']!r} on {finding['of']} is pending at {path!r}")


def unjudged(study: Study, state: State) -> Iterator[tuple[FidelityRule, Reply, Event]]:
    """The replies that wait for no judge and still lack a judge's verdict."""
    done = {(fact.data["rule"], fact.data["of"]) for fact in state.events if fact.kind == CHECKED}
    for rule, reply, event in _replies(study, state) if study.has_judges else ():
        if judges(rule) and not rule.wait and event.kind != WITHHELD and (rule.name, event.seq) not in done:
            yield rule, reply, event


def recomputed(study: Study, state: State) -> Iterator[Data]:
    """The verdicts of all rules that need no judge about all replies of a session, as the events have them."""
    for rule, reply, event in _replies(study, state):
        if not judges(rule):
            shown, verdict = event.kind != WITHHELD, _verdict(rule, reply, {})
            yield _fact(rule, reply, event.data, event.seq, shown=shown, **verdict).data


def _replies(study: Study, state: State) -> Iterator[tuple[FidelityRule, Reply, Event]]:
    for place in visited(study, state) if study.file.fidelity else ():
        for event in place.facts:
            said = is_by_model(event) or event.kind == WITHHELD
            if said and event.data.get("finish_reason") not in CUT_SHORT:
                reply = reply_of(place, event.data, event)
                yield from ((rule, reply, event) for rule in rules_for(reply))


def judges(rule: FidelityRule) -> bool:
    return rule.check == "judge"


def _withheld(reply: Reply) -> int:
    """Count the replies withheld since the message, or since it was asked for again."""
    own = [fact for fact in reply.location.facts if fact.kind == "said" or fact.data.get("slot", "") == reply.slot]
    since = max((number for number, fact in enumerate(own) if fact.kind in ("said", "retried")), default=0)
    return sum(fact.kind == WITHHELD for fact in own[since:])


def _verdict(rule: FidelityRule, reply: Reply, finding: Data) -> dict[str, Any]:
    """The check's value and if the rule is kept (None: unknown), with what else a judge's finding says."""
    value = finding.get("value") if judges(rule) else VALUES[rule.check](rule, reply)
    if rule.check == "pattern" and value is None:
        finding = {"missing": "time_limit"}
    kept = None if value is None else _fits(rule, value) == (rule.must is not None)
    return {"kept": kept, "value": value, **{name: finding[name] for name in OF_JUDGE if name in finding}}


def _fact(rule: FidelityRule, reply: Reply, data: Data, of: int, **verdict: Any) -> Fact:
    about: dict[str, Any] = {"rule": rule.name, "check": f"{rule.check}@{text_of.METHOD}", "of": of, "turn": reply.turn}
    about |= {"slot": reply.slot} if reply.slot else {}
    about |= {"condition": reply.condition, "model": data["model"], "version": data.get("version")}
    return Fact(CHECKED, {**about, **verdict}, "system")


def _label(_: FidelityRule, reply: Reply) -> str:
    chat = reply.location.node.panel(reply.location).chat if isinstance(reply.location.node, Step) else None
    text, labels = text_of.plain(reply.text), chat.title.split(", ") if chat else ()
    return ", ".join(label for label in labels if text_of.has(text, text_of.plain(label)))


VALUES: Mapping[str, Callable[[FidelityRule, Reply], Value]] = {
    "language": lambda _, reply: text_of.language(reply.text),
    "words": lambda _, reply: len(text_of.words(reply.text)),
    "characters": lambda _, reply: len(reply.text),
    "reading_level": lambda _, reply: text_of.reading_level(reply.text),
    "question": lambda _, reply: text_of.questions(reply.text),
    "answer": lambda _, reply: text_of.gives_answer(reply.text, reply.location.shown_problem),
    "model_name": lambda _, reply: ", ".join(leaks(reply.text, reply.location.study.file.models)),
    "label": _label,
    "pattern": lambda rule, reply: text_of.matched(rule.pattern, reply.text),
}


def _fits(rule: FidelityRule, value: Value) -> bool:
    if rule.check == "language":
        return value == rule.language
    if rule.one_of:
        return (str(value).lower() if isinstance(value, bool) else str(value)) in rule.one_of
    if rule.minimum is None and rule.maximum is None:
        return bool(value)
    low, high = rule.minimum, rule.maximum
    return isinstance(value, int | float) and (low is None or value >= low) and (high is None or value <= high)
