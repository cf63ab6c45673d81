"""Memory of models of a person's earlier waves: the part in their prompts, and its origin.

    recalled {kind, talks, facts, sources}       of what a model makes a memory, as `history_of` has it
    remembered {kind, text, sha256, from, cut}   what prompts hold from here on, to the letter; empty if there is
                                                 nothing, or no model made it (`failed` says why)
    proposed {facts}                             statements that a model proposes to the participant

`from` are the waves, `cut` is the number of characters left out. A session knows its person's others by these events
alone, so it is replayed, exported and erased as any session. Nothing is recalled until it is needed: at the first
conversation, or the first step `facts`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from math import inf
from typing import Any

from experiments.events import Data, Event, Fact, PendingTask
from experiments.session.conversation import messages_of, returned_messages
from experiments.session.identity_leaks import guarded
from experiments.session.state import is_later_wave
from experiments.study.location import Location, State
from experiments.study.sections.memory import MemoryByFactor, MemoryKind, MemorySpec
from experiments.study.step import Step
from experiments.study.study import Study

RECALLED, REMEMBERED, PROPOSED = "recalled", "remembered", "proposed"
# The slot of the calls of the model that makes a memory.
SLOT = "memory"
LEFT_OUT = "[…] "
# The most characters of conversations of which a memory is made, and of a statement; the most statements at once.
SOURCE_CHARS, FACT_CHARS, MOST_FACTS = 60_000, 300, 8
# What is kept of a call.
OF_CALL = ("model", "wanted", "version", "finish_reason", "prompt_tokens", "completion_tokens", "cost")
_BULLET = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)])\s+")


def kind_of_memory(study: Study, state: State) -> MemoryKind:
    kind = study.file.memory.kind if study.file.memory else "none"
    return kind.pick.get(state.factors.get(kind.by, ""), "none") if isinstance(kind, MemoryByFactor) else kind


def history_of(states: Sequence[State], before: Data | None = None, until: float = inf) -> dict[str, Any]:
    """The history up to an event: `facts` confirmed last, the waves of each (`sources`), and later `talks` (`said`)."""
    known: dict[str, Any] = {name: list((before or {}).get(name, ())) for name in ("talks", "facts")}
    # an older version recorded only in which wave all of them were confirmed
    known["sources"] = (before or {}).get("sources") or [(before or {}).get("confirmed", [])] * len(known["facts"])
    for state in states:
        wave, since = str(state.enrolled.get("wave", "")), 0
        for event in state.events:
            if event.kind == REMEMBERED and "checked" in event.data and event.seq < until:
                kept = [one for one in event.data["checked"] if one["text"]]
                known = {
                    "talks": [],
                    "facts": event.data["facts"],
                    "sources": [one.get("from", [wave]) for one in kept],
                }
                since = event.seq
        talks = ([*_said([one for one in facts if since < one.seq < until])] for facts in state.facts.values())
        known["talks"] += [{"wave": wave, "said": said} for said in talks if said]
    return known


def _said(events: Sequence[Event]) -> Iterator[tuple[str, str]]:
    returned, counts = returned_messages(events), True
    for event in messages_of(events):
        counts = event.seq not in returned if event.kind == "said" else counts
        if counts:
            column = str(event.data.get("slot", "")).upper()
            yield "Person" if event.kind == "said" else f"Assistant {column}".strip(), event.data["text"]


def newest(text: str, most: int) -> tuple[str, int]:
    """The end of a text, of at most `most` characters, and the number of characters left out before it."""
    if len(text) <= most:
        return text, 0
    kept = text[len(text) - most + len(LEFT_OUT) :]
    return LEFT_OUT + kept, len(text) - len(kept)


def transcript(talks: Sequence[Data], most: int) -> tuple[str, int]:
    lines = (["Conversation", *(f"{who}: {text}" for who, text in talk["said"])] for talk in talks)
    return newest("\n\n".join(line for talk in lines for line in talk), most)


def _remembered(kind: MemoryKind, text: str, cut: int, waves: Iterable[str], **more: Any) -> Fact:
    digest, waves = sha256(text.encode()).hexdigest(), [*dict.fromkeys(waves)]
    return Fact(REMEMBERED, {"kind": kind, "text": text, "sha256": digest, "from": waves, "cut": cut, **more})


def remembered_facts(location: Location, facts: Sequence[str], sources: Iterable[Sequence[str]], **more: Any) -> Fact:
    """`sources` are the waves of each."""
    waves = (wave for each in sources for wave in each)
    text, cut = newest("\n".join(f"- {fact}" for fact in facts), spec_of(location).max_chars)
    return _remembered("facts", text, cut, waves, facts=[*facts], **more)


def spec_of(location: Location) -> MemorySpec:
    spec = location.study.file.memory
    assert spec is not None  # noqa: S101  (asked for only where the study has one)
    return spec


def last_of(location: Location, kind: str) -> Event | None:
    return next((event for event in reversed(location.state.events) if event.kind == kind), None)


def tasks_of(location: Location, step: Step) -> tuple[PendingTask, ...]:
    """The tasks of a step. Its replies wait until what models remember is recalled and, if need be, summarized."""
    study, state, own = location.study, location.state, step.pending_tasks(location)
    needed = step.remembers and is_later_wave(study, state) and kind_of_memory(study, state) != "none"
    if not needed or last_of(location, REMEMBERED):
        return own
    if (recalled := last_of(location, RECALLED)) is None:
        return (PendingTask("recall", location.path, {}),)
    others = (task for task in own if task.kind != "reply")
    return (*others, making(location, spec_of(location).summary_prompt, recalled.data))


def making(location: Location, prompt: str, history: Data) -> PendingTask:
    """The call of the model that makes a memory; nobody reads its reply while it is written."""
    known = "\n".join(
        ["Known already:\n", *(f"- {fact}" for fact in history["facts"]), "\n"] if history["facts"] else []
    )
    text, spec = known + transcript(history["talks"], SOURCE_CHARS)[0], spec_of(location)
    messages = [{"role": "system", "text": prompt}, {"role": "user", "text": text}]
    data = {"model": spec.model, "messages": messages, "unseen": True, "time_limit_s": spec.time_limit_s}
    return PendingTask("reply", location.path, data, SLOT)


def recalls(location: Location, history: Data) -> tuple[Fact, ...]:
    kind, talks = kind_of_memory(location.study, location.state), history["talks"]
    source = Fact(RECALLED, {"kind": kind, **history})
    if kind == "facts":
        return (source, remembered_facts(location, history["facts"], history["sources"]))
    if kind == "summary" and talks:
        return (source,)
    text, cut = transcript(talks, spec_of(location).max_chars)
    return (_remembered(kind, text, cut, (talk["wave"] for talk in talks)),)


def makes(location: Location, data: Data, *, failed: bool) -> tuple[Fact, ...]:
    """The facts; no memory is invented where the model failed."""
    most, how = spec_of(location).max_chars, {name: data[name] for name in OF_CALL if name in data}
    if failed:
        how["failed"] = "time_limit" if data["reason"] == "stopped" else data["reason"]
    text, leaked = guarded("" if failed else data["text"], location.study.file)
    flags = (Fact("flagged", {"what": "leak", "words": list(leaked), "slot": SLOT}),) if leaked else ()
    recalled = last_of(location, RECALLED)
    if recalled is None or recalled.data["kind"] == "facts":
        return (Fact(PROPOSED, {"facts": statements(text), **how}), *flags)
    talks = recalled.data["talks"] if text else []
    cut = transcript(talks, SOURCE_CHARS)[1] + len(text[most:])
    return (_remembered("summary", text[:most], cut, (talk["wave"] for talk in talks), **how), *flags)


def statements(text: str) -> list[str]:
    """The statements of a reply, one a line."""
    lines = (_BULLET.sub("", line).strip()[:FACT_CHARS] for line in text.splitlines())
    return [*dict.fromkeys(line for line in lines if line and line.strip(".").upper() != "NONE")][:MOST_FACTS]


def history_here(location: Location) -> dict[str, Any]:
    """The person's history when the statements at a location were proposed or, if none were, confirmed."""
    here = (event for event in location.state.events if event.path == location.path)
    until = next((event.seq for event in here if event.kind in (PROPOSED, "submitted")), inf)
    recalled = last_of(location, RECALLED)
    return history_of([location.state], recalled.data if recalled else None, until)


def memory_of(location: Location) -> tuple[int, str]:
    """The number of the event whose text the prompts hold at a location, and that text; 0 if there is nothing."""
    step, event = location.node, last_of(location, REMEMBERED)
    if not isinstance(step, Step) or not step.remembers or event is None or not event.data["text"]:
        return 0, ""
    return event.seq, f"{spec_of(location).intro}\n\n{event.data['text']}".strip()
