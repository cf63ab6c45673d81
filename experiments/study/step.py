"""The interface of a kind of step: one class in one file of `experiments/steps`.

A step gets its Location: the events recorded there, and by name the values that a text or a condition may refer to. It
decides which events an action causes, whether it is done, which tasks are pending, and what is on the screen. Two rules
for editors: a step uses no other step's class, and it has no state; whatever it has to remember is an event.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, get_args

from pydantic import ConfigDict, model_validator
from pydantic import Field as About

from experiments.errors import Refused
from experiments.events import Action, Data, Event, Fact, PendingTask
from experiments.study.base_model import Condition, Slug, StrictModel
from experiments.study.fields import Field, TextField, read_form
from experiments.study.instrument import Instrument
from experiments.study.option_order import Draw
from experiments.study.screen import Panel
from experiments.study.sections.memory import MemorySpec
from experiments.study.sections.recruitment import EndPage
from problems.plugins import Registry
from problems.problem import Problem

if TYPE_CHECKING:  # a location is at a step
    from experiments.study.location import Location


class TimeLimit(StrictModel):
    """A time limit for a screen. The server enforces it, whether or not the participant is there."""

    after_s: Annotated[float, About(gt=0)]
    """The limit, in seconds from when the screen is first shown."""
    warn_before_s: Annotated[float, About(ge=20)] = 20
    """The time before the end at which participants are warned; at least 20 seconds (WCAG 2.2.1)."""
    on_expiry: Literal["continue", "end"] = "continue"
    """The action at the end. `continue`: the screen is left without an answer, and the content of its form is recorded
    separately. `end`: the session ends as timed out."""
    extensions: Annotated[int, About(ge=0, le=20)] = 0
    """The number of extensions of the limit, each by the same time. Use 10 unless the limit is
    essential to the study (WCAG 2.2.1)."""


@dataclass(frozen=True, slots=True)
class RatingSubject:
    """The subject of a rating: a reply, a message, or a whole conversation.

    `scale` is the name of the rating without numbers, such as `helpfulness`. `path` is that of the conversation, empty
    for the dialogue of a problem. `turn` counts the participant's messages from 1; without it the rating is about the
    whole conversation. `slot` is the column of a comparison, `model` the one that replied.
    """

    scale: str
    path: str = ""
    turn: int | None = None
    slot: str = ""
    model: str = ""


class Step(StrictModel):
    """The base of all steps. A kind sets `step: Literal["its-name"]` and overrides what it needs."""

    # Studies and protocols both take it as it is.
    model_config = ConfigDict(defer_build=False)

    # Whether submitting it admits the participant (see `admission`).
    admits: ClassVar[bool] = False
    # Whether it uses the study's `memory` of earlier waves.
    remembers: ClassVar[bool] = False
    # Actions that are merged with what was recorded meanwhile, and so accepted from an older screen of the step, with
    # the events that they cause.
    merges: ClassVar[Mapping[str, str]] = {}
    # Whether its models are offered tools of its own.
    own_tools: ClassVar[bool] = False
    # Whether several models reply to the same message.
    side_by_side: ClassVar[bool] = False

    step: str
    id: Slug = ""
    """The name of the step in paths and references. Its kind by default."""
    title: str = ""
    """The heading of its screen."""
    when: Condition | None = None
    """The condition under which it is run. Always by default."""
    time_limit: TimeLimit | None = None
    """The time limit of the step. None by default."""
    min_time_s: Annotated[float, About(ge=0, le=3600)] = 0
    """The minimum time in seconds before participants can leave the step."""

    @model_validator(mode="before")
    @classmethod
    def _named(cls, raw: Any) -> Any:
        return {"id": raw.get("step"), **raw} if isinstance(raw, Mapping) else raw

    def questions_asked(self) -> tuple[Field, ...]:
        """The questions of the step, as written in the study file."""
        return ()

    def instruments(self) -> tuple[str, ...]:
        """The instruments that the step names, whose items are not among its questions yet."""
        return ()

    def with_instruments(self, instruments: Mapping[str, Instrument]) -> Self:
        """The step with the items of the instruments that it names among its questions."""
        return self

    def worded(self) -> tuple[Field, ...]:
        """The fields with texts to translate; none if they are composed of texts from the step's own keys."""
        return self.questions_asked()

    def fields(self, location: Location) -> tuple[Field, ...]:
        """The form that `submit` reads: the questions, with their texts translated and filled in."""
        return tuple(field.filled(location.fill_markdown) for field in self.questions_asked())

    def boxes(self, fields: Sequence[Field]) -> tuple[TextField, ...]:
        """The text boxes of the screen: those among its fields, and the message box if it has one."""
        return tuple(field for field in fields if isinstance(field, TextField))

    def included(self, memory: MemorySpec | None) -> Mapping[str, Sequence[str]]:
        """The values of factors with which the study includes the step, besides its own condition."""
        return {}

    def instructions(self) -> str:
        """The text above its questions, as written in the study file, for the codebook."""
        return str(getattr(self, "text", ""))

    def panel(self, location: Location) -> Panel:
        """The content of the screen."""
        raise NotImplementedError

    def done(self, location: Location) -> bool:
        """True if the participant has completed this step. Once true, it must stay true after any further events."""
        return any(event.kind == "submitted" for event in location.facts)

    def offers(self, location: Location) -> tuple[str, ...]:
        """The actions available to the participant now."""
        return ("submit",)

    def end_page(self, location: Location) -> EndPage:
        """The step's own last page, for a session that ended at it."""
        return EndPage()

    def pending_tasks(self, location: Location) -> tuple[PendingTask, ...]:
        """The tasks of the server here: replies, which are requested concurrently, or one other task."""
        return ()

    def outcome_codes(self) -> Mapping[str, str]:
        """The outcomes with which a session can end here, each with the step's own completion code for it."""
        return {}

    def passing(self, location: Location) -> Mapping[str, Any]:
        """Answers that pass, if answers are checked. Simulated participants give them; no screen shows them."""
        return {}

    def answer_key(self, location: Location) -> Mapping[str, Any]:
        """The correct answers by question, as `problem_answer.py` reads them. For researchers; no screen shows them."""
        problem = location.scope.problem
        judged = problem is not None and problem.answer is not None and "options" in self.requires()
        return {"answer": problem.answer} if judged and problem and "answer" in self.provides() else {}

    def receives(self, location: Location, reply: Data) -> Data:
        """Return the data of a reply to record."""
        return reply

    def carried_out(self, location: Location, task: PendingTask) -> tuple[Fact, ...]:
        """Return the facts that a call of a tool of the step's own causes."""
        raise NotImplementedError

    def rates(self, location: Location, event: Event) -> Mapping[str, RatingSubject]:
        """Return the values of an event that rate replies, messages or conversations, by name. All other answers are
        about the participant or the problem."""
        return {}

    def orders(self, location: Location, draw: Draw) -> Data:
        """The orders that are random here, as the event `ordered` records them; empty if none is."""
        return {}

    def decide(self, location: Location, action: Action) -> tuple[Fact, ...]:
        """The events that an available action causes; raises Refused."""
        return (Fact("submitted", read_or_refuse(self.fields(location), action.data)),)

    def references(self) -> Iterator[tuple[str, str]]:
        """The texts that can contain `{{names}}`, for validation, each with its place in the step, such as `.opens`."""
        return _placed(self.model_dump(by_alias=True), "")

    def provides(self) -> tuple[str, ...]:
        """The names under which this step's answers can be referred to."""
        return ()

    def depends_on(self) -> tuple[str, ...]:
        """The ids of the earlier steps or loops beside it that it needs."""
        return ()

    def asks_models(self, models: Sequence[str]) -> tuple[str, ...]:
        """Return the study's models that may reply here, by name or as `{{name}}`; their system prompts are checked."""
        return ("{{model}}",) if "model" in self.requires() else ()

    def problem_faults(self, problem: Problem) -> Iterator[str]:
        """The reasons why the step cannot be taken with a problem of its loop, as ends of a sentence that begins with
        the problem."""
        yield from ()

    def faults(self, models: Sequence[str]) -> Sequence[str]:
        """Errors that only this kind of step can find, in a study with these models; a sentence each."""
        return ()

    def level_faults(self, levels: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str]]:
        """Errors of single keys, each with the key, in a place where these names are known; with their values, if these
        are."""
        yield from ()

    def requires(self) -> frozenset[str]:
        """The names that must be in scope: any of "problem", "options", "answer", "dialogue", "response", "model",
        "reply"."""
        return frozenset()


def _placed(value: Any, at: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield at, value
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from _placed(key, at)
            yield from _placed(part, f"{at}.{key}")
    elif isinstance(value, list | tuple):
        for number, part in enumerate(value):
            yield from _placed(part, f"{at}[{number}]")


def read_or_refuse(fields: tuple[Field, ...], given: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a form; raises Refused with the error of each invalid field."""
    values, faults = read_form(fields, given)
    if faults:
        if all(map(given.get, faults)):
            raise Refused("invalid", "Some answers need to be changed.", faults)
        raise Refused("invalid", "Some answers are missing or need to be changed.", faults)
    return values


KINDS: Registry[type[Step]] = Registry("step", "experiments.steps", "parley.steps")


def step(step_kind: type[Step]) -> type[Step]:
    """Class decorator that registers a kind of step, under the one value that its `step` field allows."""
    names = get_args(step_kind.model_fields["step"].annotation)
    if len(names) != 1:
        raise TypeError(f'{step_kind.__name__} needs `step: Literal["its-name"]`')
    KINDS.add(names[0], step_kind)
    return step_kind


def kinds() -> Mapping[str, type[Step]]:
    """All kinds of steps by name, sorted: those of `experiments/steps` and of the entry points `parley.steps`."""
    return KINDS.all()
