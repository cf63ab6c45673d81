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
from experiments.study.schema import Loop, StudyFile
from experiments.study.sections.recruitment import Bonus, Recruiter
from experiments.study.study import Study
from problems.registry import ITEMS
from problems.registry import names as source_names
from storage.yaml_text import yaml_text

MOST_MODELS = 4
POOL, LOOP, CONDITION, MODEL = "questions", "question", "condition", "model"
SIMULATED = ("scripted-user",)
BRACKETS = 72
LINES_TO_WRITE = re.compile(r" Write `[^`]*`\.$")
"""The end of a warning that says what to write into the file: the form has a field for it."""
SENTENCE = re.compile(r"(?<=\.)\s+(?=[A-Z])")
"""Between two sentences; not after `al.,` or within an abbreviation."""
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
    "jsonl": "problems or conversations as JSON lines (jsonl)",
}
ORDERS = {
    "shuffled": "in random order",
    "listed": "in the order of the list",
    "latin_square": "in the order of a Latin square",
}
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
    "openai": "OpenAI",
    "anthropic": "Anthropic",
}

FilePath = tuple[str | int, ...]
Answers = Mapping[str, Any]
"""What is answered, by the key of its field: a text, a list of texts, or a number or None."""


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
        """What a browser sent, as an answer."""
        match self.kind:
            case "number" | "whole number":
                return answered if isinstance(answered, int | float) else None
            case "boxes":
                return answered if isinstance(answered, list) else []
            case "radio" | "list":
                return answered if isinstance(answered, str) and answered in self.choices else ""
            case _:
                return answered.strip() if isinstance(answered, str) else ""


def _models_shown(number: int) -> Callable[[Answers], bool]:
    return lambda given: number < _model_count(given)


SHOWN: Mapping[str, Callable[[Answers], bool]] = {
    "protocols_across": lambda given: len(given["protocols"]) > 1,
    "source": lambda given: given["items"] != "none",
    "path": lambda given: given["items"] == "file",
    **{f"models.{number}": _models_shown(number) for number in range(MOST_MODELS)},
    "models_across": lambda given: _model_count(given) > 1,
    "amounts": lambda given: bool(given["bonus_per"]),
}
"""When a row is shown; others always are. What is not shown is not written."""


def form_fields(servers: Iterable[str] = ()) -> tuple[FormField, ...]:
    """The form, in its order; `servers` are the deployment's own."""
    return (*_design(), *_models(servers), *_recruitment(), *_texts())


def _design() -> Sequence[FormField]:
    each = "What happens with each item"
    about = {name: f"{name}: {protocol.about}" for name, protocol in protocols().items()}
    info = "A letter, then letters, digits, - and _. It is part of the links."
    pool = ("problems", POOL)
    later = "Once the draft is open, upload the file under Items. Until then the check misses it."
    sources = _labelled(source_names(), SOURCES)
    orders = _labelled(get_args(Loop.model_fields["order"].annotation), ORDERS)
    return (
        FormField("Design", "name", "name", "Name of the study", info=info, path=("study",)),
        FormField("Design", "protocols", "protocols", each, "boxes", value=["direct-to-AI"], choices=about),
        _across("Design", "protocols_across", "With several, each participant gets"),
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
    """A protocol as a study names it, with its version, and the first sentence about it."""

    reference: str
    about: str


@cache
def protocols() -> Mapping[str, ProtocolChoice]:
    """Parley's own protocols by name. (A draft that is not made yet has no folder with protocols of its own.)"""
    return {
        name: ProtocolChoice(f"{name}@{raw['version']}", SENTENCE.split(raw["about"].strip())[0])
        for name, raw in read_protocols(Path("/nowhere")).items()
    }


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
        for key, needed in (("name", True), ("title", True), ("path", given["items"] == "file")):
            if needed and not given[key]:
                self._issue(key, "is needed.")
        for one in form_fields():
            if one.path and SHOWN.get(one.row, bool)(given):
                self._put(one.path, given[one.key], one.key)
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
        nodes: dict[str, dict[str, Any]] = {}
        if given["consent"]:
            nodes["consent"] = {"step": "consent", "text": given["consent"]}
        if given["instructions"]:
            page = {"step": "info", "id": "instructions", "title": "Instructions", "text": given["instructions"]}
            nodes["instructions"] = page
        nodes["protocols"] = self._loop()
        nodes["finish"] = {"step": "finish", **({"text": given["finish"]} if given["finish"] else {})}
        self._file["flow"] = list(nodes.values())
        self._fields["flow"] = "protocols" if given["consent"] else "consent"
        self._fields |= {f"flow[{number}]": key for number, key in enumerate(nodes)}
        loop = f"flow[{list(nodes).index('protocols')}]"
        of = {"sample": "source", "file": "path"}.get(given["items"], "items")
        self._fields |= {f"{loop}.take": "take", f"{loop}.order": "order", f"{loop}.of": of}

    def _loop(self) -> dict[str, Any]:
        given = self._answers
        pick = {name: one.reference for name, one in protocols().items() if name in given["protocols"]}
        if not pick:
            self._issue("protocols", "needs at least one protocol.")
        if len(pick) > 1:
            self._differ(CONDITION, list(pick), "protocols_across", "protocols")
        chosen = given["items"] != "none"
        if not chosen and given["take"] is None:
            self._issue("take", "is needed if there are no items: how often is it repeated?")
        loop = {
            "of": POOL if chosen else None,
            "take": given["take"],
            "order": given["order"] if chosen and given["order"] != "shuffled" else None,
            "vary": self._vary or None,
            "do": {"by": CONDITION, "pick": pick} if len(pick) > 1 else "".join(pick.values()),
        }
        return {"each": LOOP, **{key: value for key, value in loop.items() if value is not None}}


def model_specs(answers: Answers) -> list[tuple[str, str, dict[str, Any]]]:
    """The models that are shown: the key of their fields, the name in the data, and the lines of the study file."""
    found = []
    for key in (f"models.{number}" for number in range(_model_count(answers))):
        backend, _, server = answers[f"{key}.server"].partition("@")
        model, options = answers[f"{key}.model"], dict(PROVIDERS[server].options) if server in PROVIDERS else {}
        parts = {"backend": backend, "server": server, "model": model, "system": answers["system"], "options": options}
        label = answers[f"{key}.name"] or model or backend
        found.append((key, label, {part: value for part, value in parts.items() if value}))
    return found


def _model_count(answers: Answers) -> int:
    return int(answers["model_count"] or 0)


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
