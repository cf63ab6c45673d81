"""Check: questions with correct answers, for screening, comprehension checks and attention checks.

Events: missed (an attempt that did not pass and is not the last, or the last one if a warning follows), submitted (with
`passed`, the number of `tries`, and the kind of `check`). Failed attention checks are counted from these events over
the whole session. No screen shows the correct answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import Field as About
from pydantic import model_validator

from experiments.errors import suggestion
from experiments.events import Action, Data, Event, Fact, PendingTask
from experiments.study.fields import ANSWER, AnyField, Field, choice
from experiments.study.location import Location, in_order
from experiments.study.option_order import Draw, choice_faults, drawn_choices
from experiments.study.problem_answer import OptionsStep, Wanted, example, impossible, is_correct
from experiments.study.screen import Block, NoticeBlock, Panel, ProblemBlock
from experiments.study.step import read_or_refuse, step
from experiments.study.texts import lazy

RESERVED = ("passed", "tries", "check")
LEFT_OUT: Mapping[str, Mapping[str, Any]] = {
    "screening": {"policy": "screen_out", "attempts": 1},
    "comprehension": {"policy": "screen_out", "attempts": 2},
    "attention": {"policy": "record", "attempts": 1},
}
ONE_WRONG = "That answer is not correct yet. {left}"
SOME_WRONG = "{left} The answers to these questions are not correct yet:"
ONE_LEFT = "You have one more attempt."
MORE_LEFT = "You have {count} more attempts."


PASSED_BY = "`time_limit`: a participant who waits would pass it unjudged; write `on_expiry: end`, or another `policy`"


@step
class CheckStep(OptionsStep):
    """Questions with correct answers. Participants who do not give them are recorded, warned, or screened out, which
    ends the session."""

    step: Literal["check"]
    kind: Literal["screening", "comprehension", "attention"]
    """`screening`: whether the participant belongs to the target group. `comprehension`: whether the instructions were
    understood, with at least two tries. `attention`: whether the questions are read."""
    text: str = ""
    """The text above the questions, in Markdown."""
    questions: tuple[AnyField, ...] = ()
    """The questions, in order. The key `type` of each names its kind."""
    ask_problem: bool = False
    """Ask the problem in scope instead of `questions`. Its known answer is the correct one."""
    correct_answers: dict[str, Wanted] = {}
    """The answers that pass, by the question's name: an answer, a list of accepted answers, or a range of numbers;
    for `multiple_choice`, exactly these options. Any answer passes to a question not named here."""
    attempts: Annotated[int, About(ge=1, le=10)] = 1
    """The number of tries. 2 for comprehension by default."""
    policy: Literal["record", "warn", "screen_out"] = "screen_out"
    """The action when a participant does not pass: it is only recorded; a warning is shown; or the session ends as
    `screened_out` (`failed_attention` for attention checks). `record` for attention checks by default."""
    after_failures: Annotated[int, About(ge=1, le=100)] = 1
    """For attention checks: the policy applies from this number of failed attention checks in the session."""
    warning: str = "Some of your recent answers were not as expected. Please read each question carefully from now on."
    """The text of the warning."""
    button: str = "Continue"
    """The label of the button that ends the screen."""

    @model_validator(mode="before")
    @classmethod
    def _of_its_kind(cls, raw: Any) -> Any:
        kind = raw.get("kind") if isinstance(raw, Mapping) else None
        return {**LEFT_OUT[kind], **raw} if isinstance(kind, str) and kind in LEFT_OUT else raw

    @model_validator(mode="after")
    def _can_be(self) -> Self:
        for fault in (*self._misnamed(), *self._misfits()):
            raise ValueError(fault)
        return self

    def _misnamed(self) -> Iterator[str]:
        names = [question.name for question in self.questions]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            yield f"two questions are called {twice[0]!r}; their names must differ"
        if taken := [name for name in names if name in RESERVED]:
            yield f"a question is called {taken[0]!r}, which is reserved by the check; choose another name"

    def _misfits(self) -> Iterator[str]:
        if self.ask_problem == bool(self.questions):
            yield "needs either `questions` or `ask_problem: true`"
        if self.ask_problem and self.correct_answers:
            yield "`correct_answers` does not go with `ask_problem`: the correct answer is the problem's own"
        if not self.ask_problem and not self.correct_answers:
            yield "needs `correct_answers` for at least one question"
        if self.kind == "comprehension" and self.attempts < 2:
            yield "a comprehension check needs `attempts: 2` or more: Prolific requires at least two tries"
        if self.kind == "screening" and self.attempts > 1:
            yield "a screening check has one try: a second one would reveal which answers are accepted"
        if self.kind != "attention" and self.after_failures > 1:
            yield "`after_failures` counts attention checks; leave it out here"

    def questions_asked(self) -> tuple[Field, ...]:
        return (ANSWER,) if self.ask_problem else self.questions

    def fields(self, location: Location) -> tuple[Field, ...]:
        if self._warned(location):
            return ()
        if self.ask_problem:
            return (choice(location.problem.options, location.option_keys),)
        return in_order(self._asked(location), location.facts)

    def _asked(self, location: Location) -> tuple[Field, ...]:
        return tuple(question.filled(location.fill_markdown) for question in self.questions)

    def orders(self, location: Location, draw: Draw) -> Data:
        if self.ask_problem:
            return super().orders(location, draw)
        found = drawn_choices(self.options or "listed", self.questions, draw)
        return {"choices": found} if found else {}

    def panel(self, location: Location) -> Panel:
        if self._warned(location):
            return Panel(self.title, (NoticeBlock(location.fill_markdown(self.warning)),), button=self.button)
        blocks: tuple[Block, ...] = (
            *self._again(location),
            *location.text_blocks(self.text),
        )
        if self.ask_problem:
            blocks = (*blocks, ProblemBlock(location.problem.text))
        return Panel(self.title, blocks, self.fields(location), button=self.button)

    def _again(self, location: Location) -> tuple[NoticeBlock, ...]:
        """The notice after a missed attempt: the number of tries left, and the questions answered incorrectly."""
        missed = _missed(location)
        if not missed:
            return ()
        wrong = missed[-1].data["wrong"]
        texts = (" ".join(field.text.split()) for field in self.fields(location) if field.name in wrong)
        about = tuple(text for text in texts if text) if len(self.questions) > 1 else ()
        count = self.attempts - len(missed)
        left = lazy(ONE_LEFT) if count == 1 else lazy(MORE_LEFT, count=count)
        return (NoticeBlock(lazy(SOME_WRONG if about else ONE_WRONG, left=left), about),)

    def done(self, location: Location) -> bool:
        return super().done(location) and not self._ends_here(location)

    def offers(self, location: Location) -> tuple[str, ...]:
        return () if super().done(location) else ("submit",)

    def pending_tasks(self, location: Location) -> tuple[PendingTask, ...]:
        return (PendingTask("finish", location.path, {"outcome": self._outcome}),) if self._ends_here(location) else ()

    def outcome_codes(self) -> Mapping[str, str]:
        return {self._outcome: ""} if self.policy == "screen_out" else {}

    @property
    def _outcome(self) -> str:
        return "failed_attention" if self.kind == "attention" else "screened_out"

    def decide(self, location: Location, action: Action) -> tuple[Fact, ...]:
        missed = _missed(location)
        if self._warned(location):
            return (self._ended(missed[-1].data["values"], len(missed), passed=False),)
        values = read_or_refuse(self.fields(location) if self.ask_problem else self._asked(location), action.data)
        wrong = self._wrong(location, values)
        tries = len(missed) + 1
        warns = self.policy == "warn" and self._applies(_failures(location.state.events) + 1)
        if wrong and (tries < self.attempts or warns):
            return (Fact("missed", {"values": values, "wrong": wrong}),)
        return (self._ended(values, tries, passed=not wrong),)

    def _ended(self, values: Data, tries: int, *, passed: bool) -> Fact:
        return Fact("submitted", {**values, "passed": passed, "tries": tries, "check": self.kind})

    def _wrong(self, location: Location, values: Data) -> list[str]:
        if self.ask_problem:
            return ["answer"] if values["answer"] != self.answer_key(location)["answer"] else []
        judged = [question for question in self.questions if question.name in self.correct_answers]
        return [one.name for one in judged if not is_correct(one, self.correct_answers[one.name], values[one.name])]

    def passing(self, location: Location) -> Mapping[str, Any]:
        if self._warned(location):
            return {}
        if self.ask_problem:
            return {"answer": location.problem.answer}
        return {
            one.name: example(one, self.correct_answers[one.name])
            for one in self.questions
            if one.name in self.correct_answers
        }

    def answer_key(self, location: Location) -> Mapping[str, Any]:
        return super().answer_key(location) if self.ask_problem else self.correct_answers

    def _warned(self, location: Location) -> bool:
        return len(_missed(location)) >= self.attempts

    def _applies(self, failures: int) -> bool:
        return self.kind != "attention" or failures >= self.after_failures

    def _ends_here(self, location: Location) -> bool:
        """Return True if the session ends because of the answers here; later events never change that."""
        given = next((event for event in location.facts if event.kind == "submitted"), None)
        if self.policy != "screen_out" or given is None or given.data["passed"]:
            return False
        return self._applies(_failures(event for event in location.state.events if event.seq <= given.seq))

    def provides(self) -> tuple[str, ...]:
        """Each answer by its question's name, `passed` (true or false), and how many `tries` it took."""
        return (*(field.name for field in self.questions_asked()), "passed", "tries")

    def requires(self) -> frozenset[str]:
        """A problem with options and a known answer, where it is asked."""
        return frozenset({"problem", "options", "answer"} if self.ask_problem else ())

    def faults(self, models: Sequence[str]) -> Sequence[str]:
        asked = {question.name: question for question in self.questions}
        strays = [name for name in self.correct_answers if name not in asked]
        never = {
            name: impossible(asked[name], self.correct_answers[name]) for name in self.correct_answers if name in asked
        }
        return [
            *([] if self.ask_problem else choice_faults(self.options, self.questions)),
            *(f"`correct_answers`: no question is called {name!r}{suggestion(name, asked)}" for name in strays),
            *(f"`correct_answers.{name}`: {fault}" for name, found in never.items() for fault in found),
            *(
                [PASSED_BY]
                if self.policy == "screen_out" and self.time_limit and self.time_limit.on_expiry == "continue"
                else []
            ),
        ]


def _missed(location: Location) -> list[Event]:
    return [event for event in location.facts if event.kind == "missed"]


def _failures(events: Iterable[Event]) -> int:
    return sum(
        event.kind == "submitted" and event.data.get("check") == "attention" and event.data.get("passed") is False
        for event in events
    )
