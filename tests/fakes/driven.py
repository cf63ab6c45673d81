"""A session moved by hand, one action at a time, without a bot or a clock; what the server owes at once is done."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Self

from experiments.errors import StudyError
from experiments.events import Action, Event
from experiments.session.engine import decide, fold, pending_tasks, screen
from experiments.study.location import State
from experiments.study.resolve import resolve
from experiments.study.screen import ChatView, Screen
from experiments.study.study import Study
from problems.problem import Problem
from tests.fakes.sessions import enrolment, world

# A problem that is only there to be talked about.
ABOUT = Problem(id="p", text="?", plain="", dataset="d", options=(), answer="")


def small(
    *flow: Any, problems: Sequence[Problem] = (), models: Iterable[str] = (), pool: Any = None, **keys: Any
) -> Study:
    """A study of these steps and a last page, with a pool of these problems and these models, named or described."""
    scripted = {"backend": "scripted", "system": ""}
    described = models if isinstance(models, Mapping) else {name: scripted for name in models}
    raw = {
        "study": "small",
        "title": "Small",
        **({"problems": {"pool": {"source": "jsonl", **(pool or {})}}} if problems else {}),
        "models": described,
        "flow": [*flow, {"step": "finish", "text": "Bye."}],
        **keys,
    }
    return resolve(json.loads(json.dumps(raw)), {}, {"pool": list(problems)} if problems else {})


def places(make: Callable[..., object], *given: Any, **keys: Any) -> list[str]:
    """List the places of the errors of a study that cannot be made; none, if it can."""
    try:
        make(*given, **keys)
    except StudyError as error:
        return [one.where for one in error.found]
    return []


class Driven:
    """A session and what can be done in it; each act gives back the session."""

    def __init__(self, study: Study, seed: str = "1", at_us: int = 0) -> None:
        self.study, self.state = study, State()
        self.send(enrolment(seed, at_us))

    def send(self, action: Action) -> Self:
        self.state = fold(decide(self.study, self.state, action), self.state)
        while (owed := world(self.study, self.state, action.at_us)) is not None and owed.by == "system":
            self.state = fold(decide(self.study, self.state, owed), self.state)
        return self

    def do(self, kind: str = "submit", /, *, at_us: int = 0, **values: Any) -> Self:
        seen = self.screen
        return self.send(Action(kind, seen.path, values, at_us, seen=seen.seen))

    def expire(self, typed: Any) -> Self:
        """An hour later the time limit of the screen has run out, with this typed."""
        return self.send(Action("expire", self.path, {"typed": typed}, 3_600_000_000, by="system"))

    def last_of(self, kind: str) -> Event:
        return next(event for event in reversed(self.state.events) if event.kind == kind)

    def facts(self, *kinds: str) -> list[Event]:
        return [event for event in self.state.events if event.kind in kinds]

    def hear(self, slot: str = "", text: str = "", **more: Any) -> Self:
        """A reply of the model that is asked for one, in a column of several."""
        return self.acts("reply", slot, text=text or f"Says {slot}.", **more)

    def fails(self, reason: str = "", slot: str = "") -> Self:
        return self.acts("fail", slot, reason=reason)

    def acts(self, kind: str, slot: str, **data: Any) -> Self:
        job = next(job for job in pending_tasks(self.study, self.state) if job.slot == slot)
        own = {"slot": slot} if slot else {}
        own |= {"model": job.data["model"]} if job.kind == "reply" else {}
        return self.send(Action(kind, job.path, {**own, **data}, 0, by="model"))

    @property
    def screen(self) -> Screen:
        return screen(self.study, self.state)

    @property
    def chat(self) -> ChatView:
        assert self.screen.panel.chat
        return self.screen.panel.chat

    @property
    def actions(self) -> tuple[str, ...]:
        return self.screen.actions

    @property
    def path(self) -> str:
        return self.screen.path

    @property
    def last(self) -> Event:
        return self.state.events[-1]

    @property
    def slots(self) -> list[str]:
        """The columns in which a reply is asked for."""
        return [job.slot for job in pending_tasks(self.study, self.state) if job.kind == "reply"]

    @property
    def prompts(self) -> list[list[str]]:
        """The texts of the messages that models are sent now."""
        return [[said["text"] for said in job.data["messages"]] for job in pending_tasks(self.study, self.state)]
