"""The console's builder: the fields of its form, the study file that their values are written as, and its check.

One way only. From the values come a file, and for each path of the file the field that it was written from; what
`check_text` finds at a path is reported of that field. Nothing reads a file back into values: once the draft exists,
its text is the study. What is offered is read from the registries and from the models of a study file, so a protocol,
a recruiter, a backend or a source of problems that is added is offered; a value without a label of ours is its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from pathlib import Path
from textwrap import indent
from typing import Any, Literal, get_args

from app.backends import registry as backends
from app.backends.providers import BACKEND, PROVIDERS
from app.studies.drafts import check_text
from app.studies.loader import read_protocols
from experiments.session.outcomes import OUTCOMES, status_label
from experiments.study.schema import Loop, ProtocolFile, StudyFile
from experiments.study.sections.recruitment import Bonus, Recruiter
from experiments.study.step import Step
from experiments.study.study import Study, nodes_of
from problems.registry import ITEMS
from problems.registry import names as source_names
from storage.yaml_text import yaml_text

MOST_MODELS, MOST_QUESTIONS = 4, 8
# The protocols that come first: with a chatbot, alone and then with it, and alone.
COMMON = ("direct-to-AI", "answer-first", "user-alone")
POOL, LOOP, CONDITION, MODEL = "questions", "question", "condition", "model"
SIMULATED = ("scripted-user",)
BRACKETS = 72
# The end of a warning that says what to write into the file: the form has a field for it.
LINES_TO_WRITE = re.compile(r" Write `[^`]*`\.$")
RANGE = re.compile(r"(\d*)\s*[-–]\s*(\d*)")
# Between two sentences; not after `al.,` or within an abbreviation.
SENTENCE = re.compile(r"(?<=\.)\s+(?=[A-Z])")
COMMENTS: Mapping[str, str] = {
    "study": "Written by the console's builder. This file is the study now: edit it here.",
    "contact": "Participants see this address on every screen.",
    "problems": "What participants work on.",
    "models": "Who replies. The names are in the data; participants do not see them.",
    "factors": "What differs between participants: each gets one combination, balanced over all of them.",
    "quotas": "How many participants are wanted.",
    "recruitment": "Whose links are accepted.",
    "outcomes": "The completion code for each end of a session.",
    "bonus": "What is paid beyond the reward. `parley payments` computes it.",
    "flow": "What participants do, in this order.",
}
ACROSS = {
    "between": "one of them (between participants)",
    "within": "all of them, in random order (within participants)",
}
CONFIDENCE = {
    "": "as the protocol says",
    "before": "before the answer",
    "after": "after it",
    "both": "before and after",
}
POOLS = {
    "sample": "a sample set that comes with Parley",
    "file": "a file, which you upload to the draft",
    "none": "nothing: participants choose what to talk about",
}
SOURCES = {
    "items": "questions in any table of your own (items)",
    "chatbench": "multiple-choice questions as in ChatBench (chatbench)",
    "checkmate": "theorems as in CheckMate, one a Markdown file (checkmate)",
    "dices": "finished conversations as in DICES (dices)",
    "inspect": "samples of Inspect (CSV, JSON, JSONL)",
    "jsonl": "problems or conversations as JSON lines (jsonl)",
    "tau2": "tasks of a domain of tau2-bench, a folder (tau2)",
}
ORDERS = {
    "shuffled": "in random order",
    "listed": "in the order of the list",
    "latin_square": "in the order of a Latin square",
}
USES = {
    "before": "survey before the items",
    "after": "survey after the items",
    "screening": "screening check",
    "comprehension": "comprehension check",
    "attention": "attention check",
}
CHECKS = ("screening", "comprehension", "attention")
HEADINGS = {
    "screening": "A few questions",
    "comprehension": "About the instructions",
    "before": "Before you begin",
    "attention": "One more question",
    "after": "A few last questions",
}
QUESTIONS = {
    "single_choice": "one of some options",
    "multiple_choice": "any of some options",
    "scale": "a point on a scale",
    "number": "a number from 0 up",
    "short_text": "a short text",
    "long_text": "a longer text",
}
WITH_OPTIONS = ("single_choice", "multiple_choice", "scale")
RECRUITERS = {
    "prolific": "Prolific",
    "connect": "CloudResearch Connect",
    "sona": "SONA",
    "panel": "a panel of your own: links with an id",
    "lab": "a lab or a list of people: personal links",
    "open": "nobody: one link for everyone",
}
BONUSES = {
    "correct_answer": "for each question answered correctly",
    "answer": "for each question answered",
    "completion": "for completing the study",
}
SERVERS = {
    "scripted": "Scripted stand-in: fixed replies, no key, and sometimes wrong",
    "llama": "This computer: smollm2, or a model's file (GGUF)",
    "openai": "OpenAI",
    "anthropic": "Anthropic",
}

FilePath = tuple[str | int, ...]
# What is answered, by the key of its field: a text, a list of texts, or a number or None.
Answers = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class FormField:
    """A field of the form. The answer is written at its `path` of the file, or else by `build`. Fields of a `row` stand
    beside each other and are shown together (`SHOWN`)."""

    part: str
    row: str
    key: str
    label: str
    kind: Literal["line", "area", "number", "whole number", "radio", "list", "boxes"] = "line"
    info: str | None = None
    path: FilePath = ()
    value: Any = ""
    choices: Mapping[str, str] = field(default_factory=dict)
    """Labels by value."""
    example: str | None = None

    def read(self, answered: Any) -> Any:
        """The answer from a browser's value."""
        match self.kind:
            case "number" | "whole number":
                return answered if isinstance(answered, int | float) else None
            case "boxes":
                return answered if isinstance(answered, list) else []
            case "radio" | "list":
                return answered if isinstance(answered, str) and answered in self.choices else ""
            case _:
                return answered.strip() if isinstance(answered, str) else ""


def _shown(part: str, number: int, key: str = "", values: Sequence[str] = ()) -> Callable[[Answers], bool]:
    """True if the form has a model or question of this number, whose field `key` has one of the `values`."""
    at = f"{part}s.{number}"
    return lambda given: at in _keys(given, part) and (not key or given[f"{at}.{key}"] in values)


# The rows of a question, each with the field, and its values, on which it depends.
QUESTION_ROWS: Sequence[tuple[str, str, Sequence[str]]] = (
    ("", "", ()),
    (".text", "", ()),
    (".options", "type", WITH_OPTIONS),
    (".correct", "use", CHECKS),
    (".name", "", ()),
)
# When a row is shown; others always are. What is not shown is not written.
SHOWN: Mapping[str, Callable[[Answers], bool]] = {
    "protocols_across": lambda given: len(given["protocols"]) > 1,
    "source": lambda given: given["items"] != "none",
    "path": lambda given: given["items"] == "file",
    **{f"models.{number}": _shown("model", number) for number in range(MOST_MODELS)},
    "models_across": lambda given: len(_keys(given, "model")) > 1,
    **{
        f"questions.{number}{row}": _shown("question", number, key, values)
        for number in range(MOST_QUESTIONS)
        for row, key, values in QUESTION_ROWS
    },
    "amounts": lambda given: bool(given["bonus_per"]),
}


def form_fields(servers: Iterable[str] = ()) -> tuple[FormField, ...]:
    """The form, in its order; `servers` are the deployment's own."""
    return (*_design(), *_models(servers), *_questions(), *_recruitment(), *_texts())


def _design() -> Sequence[FormField]:
    each = "What happens with each item"
    about = {name: f"{name}: {protocols()[name].about}" for name in (*COMMON, *protocols())}
    common = "The first three are the most common."
    info = "A letter, then letters, digits, - and _. It is part of the links."
    pool = ("problems", POOL)
    later = "Once the draft is open, upload the file under Items. Until then the check misses it."
    sources = _labelled(source_names(), SOURCES)
    orders = _labelled(get_args(Loop.model_fields["order"].annotation), ORDERS)
    return (
        FormField("Design", "name", "name", "Name of the study", info=info, path=("study",)),
        FormField("Design", "protocols", "protocols", each, "boxes", common, value=["direct-to-AI"], choices=about),
        _across("Design", "protocols_across", "With several, each participant gets"),
        FormField(
            "Design", "confidence", "confidence", "Confidence in the answer is asked for", "radio", choices=CONFIDENCE
        ),
        FormField("Items", "items", "items", "Participants work on", "radio", value="sample", choices=POOLS),
        FormField(
            "Items", "path", "path", "Name of the file", info=later, path=(*pool, "path"), example="questions.csv"
        ),
        FormField("Items", "source", "source", "Kind of items", "list", None, (*pool, "source"), ITEMS, sources),
        FormField("Items", "taken", "take", "Items for each participant", "whole number", "All if empty."),
        FormField("Items", "taken", "order", "Order", "list", value="shuffled", choices=orders),
    )


def _models(servers: Iterable[str]) -> Sequence[FormField]:
    offered = server_choices(servers)
    counts = {str(number): str(number) for number in range(MOST_MODELS + 1)}
    found = [FormField("Models", "count", "model_count", "How many models reply", "radio", value="1", choices=counts)]
    for number in range(MOST_MODELS):
        row, called = f"models.{number}", f"Model {number + 1}"
        found += [
            FormField("Models", row, f"{row}.server", f"{called}: server", "list", value="scripted", choices=offered),
            FormField("Models", row, f"{row}.model", f"{called}: name on its server"),
            FormField("Models", row, f"{row}.name", f"{called}: name in the data"),
        ]
    prompt = "Of all models. “You are a helpful AI assistant.” if empty."
    return (
        *found,
        _across("Models", "models_across", "Each participant gets"),
        FormField("Models", "system", "system", "System prompt", "area", prompt),
    )


def _questions() -> Sequence[FormField]:
    part = "Questions and checks"
    counts = {str(number): str(number) for number in range(MOST_QUESTIONS + 1)}
    found = [FormField(part, "asked", "question_count", "How many questions", "radio", value="0", choices=counts)]
    passing = "One a line. Of a number also a range, such as 18-99, or 18- for 18 and more."
    for number in range(MOST_QUESTIONS):
        row, called = f"questions.{number}", f"Question {number + 1}"
        found += [
            FormField(part, row, f"{row}.use", f"{called}: part of", "list", value="after", choices=USES),
            FormField(part, row, f"{row}.type", f"{called}: answer", "list", value="single_choice", choices=QUESTIONS),
            FormField(part, f"{row}.text", f"{row}.text", f"{called}: text", "area"),
            FormField(
                part, f"{row}.options", f"{row}.options", f"{called}: options, one a line", "area", example="Yes\nNo"
            ),
            FormField(part, f"{row}.correct", f"{row}.correct", f"{called}: answers that pass", "area", passing),
            FormField(
                part, f"{row}.name", f"{row}.name", f"{called}: name in the data", example=f"question_{number + 1}"
            ),
        ]
    return found


def _recruitment() -> Sequence[FormField]:
    part = "Recruitment and pay"
    recruiters = {"": "any link is accepted", **_labelled(get_args(Recruiter), RECRUITERS)}
    bonuses = {"": "none", **_labelled(get_args(Bonus.model_fields["per"].annotation), BONUSES)}
    channel, money = ("recruitment", "channels", 0), "Of the bonus and of models’ prices."
    places = "Participants wanted. No limit if empty."
    codes = [
        FormField(
            part, "codes", f"codes.{name}", f"Completion code: {status_label(name)}", path=("outcomes", name, "code")
        )
        for name in OUTCOMES
    ]
    return (
        FormField(part, "people", "recruiter", "Recruiter", "list", path=channel, choices=recruiters),
        FormField(part, "people", "places", "Places", "whole number", places, ("quotas", 0, "max")),
        FormField(part, "bonus", "bonus_per", "Bonus", "list", path=("bonus", 0, "per"), choices=bonuses),
        FormField(part, "bonus", "currency", "Currency", info=money, path=("currency",), value="USD"),
        FormField(part, "amounts", "bonus", "Amount of the bonus", "number", path=("bonus", 0, "amount")),
        FormField(part, "amounts", "bonus_most", "At most in all", "number", path=("bonus", 0, "max")),
        *codes,
    )


def _texts() -> Sequence[FormField]:
    ask, markdown = "An address for participants’ questions.", "In Markdown. Without it there is no consent page."
    return (
        FormField("Texts", "title", "title", "Title", info="Participants see it on every page.", path=("title",)),
        FormField(
            "Texts", "contact", "contact", "Contact", info=ask, path=("contact",), example="you@university.example"
        ),
        FormField("Texts", "consent", "consent", "Consent", "area", markdown),
        FormField("Texts", "instructions", "instructions", "Instructions", "area", "A page before the first item."),
        FormField("Texts", "finish", "finish", "Last page", "area", "A standard sentence if empty."),
    )


def _across(part: str, key: str, label: str) -> FormField:
    return FormField(part, key, key, label, "radio", value="between", choices=ACROSS)


def _labelled(values: Iterable[str], labels: Mapping[str, str]) -> dict[str, str]:
    return {value: labels.get(value, value) for value in values}


@dataclass(frozen=True, slots=True)
class ProtocolChoice:
    """A protocol as a study names it, with its version; the first sentence about it; its steps that ask for the
    confidence in an answer to come; and those in which one is given, each with whether it asks for confidence too."""

    reference: str
    about: str
    before: tuple[str, ...]
    answers: Mapping[str, bool]


@cache
def protocols() -> Mapping[str, ProtocolChoice]:
    """Parley's own protocols by name. (A draft that is not made yet has no folder with protocols of its own.)"""
    return {
        name: _protocol(ProtocolFile.model_validate(raw)) for name, raw in read_protocols(Path("/nowhere"), []).items()
    }


def _protocol(file: ProtocolFile) -> ProtocolChoice:
    steps = [step for step in nodes_of(file.flow) if isinstance(step, Step)]
    answering = [step for step in steps if "answer" in step.provides() and hasattr(step, "ask_confidence")]
    return ProtocolChoice(
        reference=f"{file.protocol}@{file.version}",
        about=SENTENCE.split(file.about.strip())[0],
        before=tuple(step.id for step in steps if step.step == "confidence"),
        answers={step.id: step.ask_confidence for step in answering},
    )


def server_choices(servers: Iterable[str] = ()) -> dict[str, str]:
    """The ways to reach a model as `backend` or `backend@server`: what needs no server, the servers that people know
    by name, and those of the deployment. A backend whose options a study must write by hand is left to the editor."""
    plain = [
        name
        for name in backends.names()
        if name not in SIMULATED
        and not any(option.is_required() for option in backends.options_of(name).model_fields.values())
        and not backends.check_server(name, None)
    ]
    known = {f"{BACKEND}@{name}": provider.title for name, provider in PROVIDERS.items()}
    own = {f"{BACKEND}@{name}": f"{name} (a server of this deployment)" for name in servers}
    return {**_labelled(sorted(plain, key=backends.asks_servers), SERVERS), **own, **known}


@dataclass(frozen=True, slots=True)
class FieldIssue:
    """Something about a field of the form; `field` is its key."""

    field: str
    what: str


@dataclass(frozen=True, slots=True)
class Built:
    """The study file of the answers, the field behind each path of it, and what no file could say."""

    file: Mapping[str, Any]
    fields: Mapping[str, str]
    issues: tuple[FieldIssue, ...]

    @property
    def text(self) -> str:
        parts = (_section(key, self.file[key]) for key in StudyFile.model_fields if key in self.file)
        return "".join(parts).lstrip("\n")

    def field_of(self, where: str) -> str:
        """The field that a path of the file was written from: the nearest above it that one was."""
        found = [path for path in self.fields if where.startswith(path) and where[len(path) : len(path) + 1] in ".[ "]
        return self.fields[max(found, key=len, default="")]


@dataclass(frozen=True, slots=True)
class BuilderCheck:
    """The file's text, the study if the file has no error, all errors by field, and warnings."""

    text: str
    study: Study | None
    issues: tuple[FieldIssue, ...]
    advice: tuple[FieldIssue, ...] = ()


def check_answers(answers: Answers, folder: Path) -> BuilderCheck:
    """Write the answers as a study that would stand in this folder, and check it."""
    built = build(answers)
    found = check_text(built.text, folder)
    reported = {issue.field for issue in built.issues}
    issues = [FieldIssue(built.field_of(fault.where), fault.what) for fault in found.faults]
    issues = [*built.issues, *(issue for issue in issues if issue.field not in reported)]
    advice = []
    for line in found.advice:
        where, _, what = line.partition(": ")
        advice.append(FieldIssue(built.field_of(where), LINES_TO_WRITE.sub("", what)))
    return BuilderCheck(built.text, None if issues else found.study, tuple(dict.fromkeys(issues)), tuple(advice))


def build(answers: Answers) -> Built:
    return _Writer(answers).write()


class _Writer:
    """Writes the file, and notes the field behind each path of it."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self._file: dict[str, Any] = {}
        self._fields: dict[str, str] = {"": _longest(answers), "models": "model_count", "factors": "protocols"}
        self._issues: list[FieldIssue] = []
        self._vary: dict[str, list[str]] = {}

    def write(self) -> Built:
        given = self._answers
        asked = _keys(given, "question")
        needed = ["name", "title", *(["path"] if given["items"] == "file" else []), *(f"{key}.text" for key in asked)]
        needed += [f"{key}.correct" for key in asked if given[f"{key}.use"] in CHECKS]
        for key in needed:
            if not given[key]:
                self._issue(key, "is needed.")
        for one in form_fields():
            if one.path and SHOWN.get(one.row, bool)(given):
                self._put(one.path, given[one.key], one.key)
        self._compare_codes()
        self._write_models()
        self._write_flow()
        return Built(self._file, self._fields, tuple(self._issues))

    def _issue(self, key: str, what: str) -> None:
        self._issues.append(FieldIssue(key, what))

    def _put(self, path: FilePath, value: Any, key: str) -> None:
        """Write a value of a field at a path, unless it is empty."""
        where = ""
        for part in path:
            where += f"[{part}]" if isinstance(part, int) else f".{part}" if where else part
            self._fields.setdefault(where, key)
        self._fields[where] = key
        if value in ("", None):
            return
        at: Any = self._file
        for part, below in pairwise(path):
            if isinstance(at, dict):
                at.setdefault(part, [] if isinstance(below, int) else {})
            elif part == len(at):
                at.append({})
            at = at[part]
        if isinstance(at, list):
            at.append(value)
        else:
            at[path[-1]] = value

    def _compare_codes(self) -> None:
        known: dict[str, str] = {}
        for name in OUTCOMES:
            code = self._answers[f"codes.{name}"]
            if code and known.setdefault(code, name) != name:
                what = f"is also the code of {status_label(known[code])!r}; give each end its own."
                self._issue(f"codes.{name}", what)

    def _write_models(self) -> None:
        known = set()
        for key, label, spec in model_specs(self._answers):
            if label in known:
                self._issue(f"{key}.name", f"{label!r} is the name of an earlier model too; give each its own.")
                continue
            known.add(label)
            self._put(("models", label), spec, f"{key}.name")
            where = f"models.{label}"
            self._fields |= {f"{where}.model": f"{key}.model", f"{where}.system": "system"}
            self._fields |= {f"{where}.{part}": f"{key}.server" for part in ("backend", "server", "options")}
        if len(known) > 1:
            self._differ(MODEL, [label for _, label, _ in model_specs(self._answers)], "models_across", "model_count")

    def _differ(self, factor: str, levels: list[str], across: str, key: str) -> None:
        """Assign a level to each participant, or vary them within the loop."""
        if self._answers[across] != "within":
            self._put(("factors", factor), levels, key)
            return
        take = self._answers["take"]
        if take is not None and take < len(levels):
            self._issue(
                "take", f"is less than the {len(levels)} values of {factor!r} that each participant should get."
            )
        for other in self._vary:
            what = f"and {other!r} would always change together within a participant; let one differ between them."
            self._issue(across, f"{factor!r} {what}")
        self._vary[factor] = levels

    def _write_flow(self) -> None:
        given = self._answers
        page = {"step": "info", "id": "instructions", "title": "Instructions", "text": given["instructions"]}
        asked = {use: self._asked(use) for use in USES}
        screens = {use: self._screen(use, questions) for use, questions in asked.items()}
        parts = {
            "consent": {"step": "consent", "text": given["consent"]} if given["consent"] else {},
            "screening": screens["screening"],
            "instructions": page if given["instructions"] else {},
            "comprehension": screens["comprehension"],
            "before": screens["before"],
            "protocols": self._loop(),
            "attention": screens["attention"],
            "after": screens["after"],
            "finish": {"step": "finish", **({"text": given["finish"]} if given["finish"] else {})},
        }
        nodes = {key: node for key, node in parts.items() if node}
        self._file["flow"] = list(nodes.values())
        self._fields["flow"] = "protocols" if given["consent"] else "consent"
        for number, key in enumerate(nodes):
            at = f"flow[{number}]"
            if key in USES:
                self._question_fields(at, key, asked[key])
            else:
                self._fields[at] = key
        loop = f"flow[{list(nodes).index('protocols')}]"
        of = {"sample": "source", "file": "path"}.get(given["items"], "items")
        self._fields |= {f"{loop}.{key}": key for key in ("take", "order")}
        self._fields |= {f"{loop}.of": of, f"{loop}.with": "confidence"}

    def _asked(self, use: str) -> dict[str, str]:
        """The keys of the questions of a survey or check, by their names in the data."""
        keys = [key for key in _keys(self._answers, "question") if self._answers[f"{key}.use"] == use]
        found: dict[str, str] = {}
        for key in keys:
            name = self._answers[f"{key}.name"] or f"question_{int(key.rpartition('.')[2]) + 1}"
            if found.setdefault(name, key) != key:
                self._issue(f"{key}.name", f"{name!r} is the name of an earlier question too; give each its own.")
        return found

    def _screen(self, use: str, asked: Mapping[str, str]) -> dict[str, Any]:
        """The survey or check; nothing if it has no questions."""
        given, correct, questions = self._answers, {}, []
        for name, key in asked.items():
            kind = given[f"{key}.type"]
            own: dict[str, Any] = {"minimum": 0} if kind == "number" else {}
            own |= {"options": _lines(given[f"{key}.options"])} if kind in WITH_OPTIONS else {}
            questions.append({"type": kind, "name": name, "text": given[f"{key}.text"], **own})
            correct[name] = _passing(kind, given[f"{key}.correct"])
        if not asked:
            return {}
        screen = {"id": use, "title": HEADINGS[use], "questions": questions}
        if use in CHECKS:
            return {"step": "check", "kind": use, **screen, "correct_answers": correct}
        return {"step": "survey", **screen}

    def _question_fields(self, at: str, use: str, asked: Mapping[str, str]) -> None:
        """Note the fields behind a survey or check."""
        for number, (name, key) in enumerate(asked.items()):
            path = f"{at}.questions[{number}]"
            whole = "options" if self._answers[f"{key}.type"] in WITH_OPTIONS else "text"
            self._fields.setdefault(at, f"{key}.{'correct' if use in CHECKS else 'text'}")
            self._fields |= {path: f"{key}.{whole}", f"{at}.correct_answers.{name}": f"{key}.correct"}
            self._fields |= {f"{path}.{part}": f"{key}.{part}" for part in ("type", "name", "text", "options")}

    def _loop(self) -> dict[str, Any]:
        given = self._answers
        chosen = {name: one for name, one in protocols().items() if name in given["protocols"]}
        pick = {name: one.reference for name, one in chosen.items()}
        if not pick:
            self._issue("protocols", "needs at least one protocol.")
        if len(pick) > 1:
            self._differ(CONDITION, list(pick), "protocols_across", "protocols")
        items = given["items"] != "none"
        if not items and given["take"] is None:
            self._issue("take", "is needed if there are no items: how often is it repeated?")
        loop = {
            "of": POOL if items else None,
            "take": given["take"],
            "order": given["order"] if items and given["order"] != "shuffled" else None,
            "vary": self._vary or None,
            "do": {"by": CONDITION, "pick": pick} if len(pick) > 1 else "".join(pick.values()),
            "with": self._confidence(chosen) or None,
        }
        return {"each": LOOP, **{key: value for key, value in loop.items() if value is not None}}

    def _confidence(self, choices: Mapping[str, ProtocolChoice]) -> dict[str, Any]:
        """The changes to the protocols' steps so that confidence is asked for when it is wanted."""
        when = self._answers["confidence"]
        before, after = when in ("before", "both"), when in ("after", "both")
        changes: dict[str, Any] = {}
        for name, one in choices.items() if when else ():
            if (before and not one.before) or (after and not one.answers):
                self._issue("confidence", f"{CONFIDENCE[when]!r} does not go with {name}, which has no step for it.")
            changes |= {} if before else dict.fromkeys(one.before, False)
            changes |= {step: {"ask_confidence": after} for step, asks in one.answers.items() if asks != after}
        return changes


def _lines(text: str) -> list[str]:
    """The lines of a text, each once, without empty ones."""
    return list(dict.fromkeys(filter(None, map(str.strip, text.splitlines()))))


def _passing(kind: str, correct: str) -> Any:
    """The answers that pass: a range of numbers, one answer, or several."""
    if kind == "number" and (ends := RANGE.fullmatch(correct)) and any(ends.groups()):
        return {key: int(end) for key, end in zip(("minimum", "maximum"), ends.groups(), strict=True) if end}
    given = _lines(correct)
    return given[0] if len(given) == 1 else given


def model_specs(answers: Answers) -> list[tuple[str, str, dict[str, Any]]]:
    """The models that are shown: the key of their fields, the name in the data, and the lines of the study file."""
    found = []
    for key in _keys(answers, "model"):
        backend, _, server = answers[f"{key}.server"].partition("@")
        model, options = answers[f"{key}.model"], dict(PROVIDERS[server].options) if server in PROVIDERS else {}
        parts = {"backend": backend, "server": server, "model": model, "system": answers["system"], "options": options}
        label = answers[f"{key}.name"] or model or backend
        found.append((key, label, {part: value for part, value in parts.items() if value}))
    return found


def _keys(answers: Answers, part: str) -> list[str]:
    """The prefixes of the fields of each model or question."""
    return [f"{part}s.{number}" for number in range(int(answers[f"{part}_count"] or 0))]


def _longest(given: Answers) -> str:
    """The longest text of the form: what a fault of the whole file is about, as it can only be too large."""
    return max(("consent", "instructions", "finish", "system", "title", "contact"), key=lambda key: len(given[key]))


def _section(key: str, value: Any) -> str:
    comment = f"\n# {COMMENTS[key]}\n" if key in COMMENTS else ""
    if key != "flow":
        head, _, rest = yaml_text({key: value}, brackets=BRACKETS).partition("\n")
        return f"{comment}{head}\n{indent(rest, '  ') if isinstance(value, list) else rest}"
    return f"{comment}{key}:\n" + "\n".join(map(_node, value))


def _node(node: Mapping[str, Any]) -> str:
    lines = indent(yaml_text(node, brackets=BRACKETS), "    ", lambda line: line != "\n")
    return f"  - {lines[4:]}"
