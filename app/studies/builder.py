"""The console's builder: the fields of its form, the study file that their values are written as, and its check.

One way only. builder_form.yaml has the fields and their words; builder_form.yaml.j2 writes the answers, and names for
each line the field that it was written from: what `check_text` finds at a line is said of that field. Nothing reads a
file back into values: once the draft exists, its text is the study. What is offered is read from the registries and
from the models of a study file, so a protocol, a recruiter, a backend or a source of problems that is added is offered.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from app.backends.providers import BACKEND, PROVIDERS
from app.backends.registry import BACKENDS, asks_servers, check_server
from app.studies.drafts import check_text
from app.studies.loader import read_protocols, read_yaml
from app.studies.yaml_loader import parse_yaml
from experiments.session.outcomes import OUTCOMES, status_label
from experiments.study.schema import Loop, ProtocolFile
from experiments.study.sections.recruitment import Bonus, Recruiter
from experiments.study.step import Step
from experiments.study.study import Study, nodes_of
from problems.registry import names as source_names
from storage.schemas.registry import schemas
from storage.yaml_text import yaml_text

HERE = Path(__file__).parent
MOST_MODELS, MOST_QUESTIONS = 4, 8
MOST = {"model": MOST_MODELS, "question": MOST_QUESTIONS}
# The protocols that come first: with a chatbot, alone and then with it, and alone.
COMMON = ("direct-to-AI", "answer-first", "user-alone")
CONDITION, MODEL = "condition", "model"
SIMULATED = ("scripted-user",)
CHECKS = ("screening", "comprehension", "attention")
USES = (*CHECKS, "before", "after")
WITH_OPTIONS = ("single_choice", "multiple_choice", "scale")
# What no text of YAML has: it stands between a line of the template and the key of the line's field.
OF = "\0"
# The fields of sections that the file does not have.
ABSENT = {"models": "model_count", "factors": "protocols"}
# The end of a warning that says what to write into the file: the form has a field for it.
LINES_TO_WRITE = re.compile(r" Write `[^`]*`\.$")
RANGE = re.compile(r"(\d*)\s*[-–]\s*(\d*)")
# Between two sentences; not after `al.,` or within an abbreviation.
SENTENCE = re.compile(r"(?<=\.)\s+(?=[A-Z])")

# What is answered, by the key of its field: a text, a list of texts, or a number or None.
Answers = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class FormField:
    """A field of the form. Fields of a `row` stand beside each other and are shown together (`SHOWN`)."""

    part: str
    row: str
    key: str
    label: str
    kind: Literal["line", "area", "number", "whole number", "radio", "list", "boxes"] = "line"
    info: str | None = None
    value: Any = ""
    choices: Mapping[str, str] = field(default_factory=dict)
    """Labels by value."""
    example: str | None = None

    def read(self, answered: Any) -> Any:
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
    "options": lambda given: given["items"] != "none",
    **{f"models.{number}": _shown("model", number) for number in range(MOST_MODELS)},
    "models_across": lambda given: len(_keys(given, "model")) > 1,
    **{
        f"questions.{number}{row}": _shown("question", number, key, values)
        for number in range(MOST_QUESTIONS)
        for row, key, values in QUESTION_ROWS
    },
    "amounts": lambda given: bool(given["bonus_per"]),
}


@cache
def words() -> Mapping[str, Any]:
    """The fields by part, and the labels of the choices found by code, as builder_form.yaml has them."""
    return read_yaml(HERE / "builder_form.yaml")


def form_fields(servers: Iterable[str] = ()) -> tuple[FormField, ...]:
    """The form, in its order; `servers` are the deployment's own."""
    return tuple(_fields(_choices(servers)))


def _fields(choices: Mapping[str, Mapping[str, str]]) -> Iterator[FormField]:
    for part, given in words()["parts"].items():
        fields, each = list(given["fields"]), given.get("each", "")
        for number in range(MOST.get(each, 0)):
            at, called = f"{each}s.{number}", f"{each.capitalize()} {number + 1}: "
            for one in given["of_each"]:
                row = f"{at}.{one.get('row', one['key'])}".rstrip(".")
                fields.append({**one, "key": f"{at}.{one['key']}", "row": row, "label": called + one["label"]})
        fields += given.get("then", ())
        for name in OUTCOMES if "codes" in given else ():
            fields.append({"key": f"codes.{name}", "row": "codes", "label": f"{given['codes']}: {status_label(name)}"})
        for one in fields:
            offered = one.get("choices", {})
            offered = choices[offered] if isinstance(offered, str) else offered
            yield FormField(**{"part": part, "row": one["key"], **one, "choices": offered})


def _choices(servers: Iterable[str]) -> dict[str, Mapping[str, str]]:
    """Return the choices by the name of their kind: labels by value."""
    about = {name: f"{name}: {protocols()[name].about}" for name in (*COMMON, *protocols())}
    counts = {f"{thing}s": {str(number): str(number) for number in range(most + 1)} for thing, most in MOST.items()}
    found = {
        "sources": source_names(),
        "schemas": schemas(),
        "orders": get_args(Loop.model_fields["order"].annotation),
        "recruiters": ("", *get_args(Recruiter)),
        "bonuses": ("", *get_args(Bonus.model_fields["per"].annotation)),
        "across": tuple(words()["labels"]["across"]),
    }
    labelled = {kind: _labelled(kind, values) for kind, values in found.items()}
    return {"protocols": about, **counts, **labelled, "servers": server_choices(servers)}


def _labelled(kind: str, values: Iterable[str]) -> dict[str, str]:
    return {value: words()["labels"][kind].get(value, value) for value in values}


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
        for name, kind in BACKENDS.all().items()
        if name not in SIMULATED
        and not any(option.is_required() for option in kind.Options.model_fields.values())
        and not check_server(name, None)
    ]
    known = {f"{BACKEND}@{name}": provider.title for name, provider in PROVIDERS.items()}
    own = {f"{BACKEND}@{name}": f"{name} (a server of this deployment)" for name in servers}
    return {**_labelled("servers", sorted(plain, key=asks_servers)), **own, **known}


@dataclass(frozen=True, slots=True)
class FieldIssue:
    field: str
    what: str


@dataclass(frozen=True, slots=True)
class BuilderCheck:
    """The file's text, the study if the file has no error, all errors by field, and warnings."""

    text: str
    study: Study | None
    issues: tuple[FieldIssue, ...]
    advice: tuple[FieldIssue, ...] = ()


def check_answers(given: Answers, folder: Path) -> BuilderCheck:
    """Write the answers as a study that would stand in this folder, and check it."""
    text, fields = write(given)
    # A fault of the whole file is that it is too large.
    longest = max(("consent", "instructions", "finish", "system", "title", "contact"), key=lambda key: len(given[key]))

    def of(line: int | None, where: str) -> str:
        return ABSENT.get(where) or (fields[line - 1] if line else longest)

    found, own = check_text(text, folder), list(_unwritten(given))
    reported = {issue.field for issue in own}
    issues = [FieldIssue(of(fault.line, fault.where), fault.what) for fault in found.faults]
    issues = [*own, *(issue for issue in issues if issue.field not in reported)]
    advice, page = [], parse_yaml(text) if found.advice else None
    for line in found.advice:
        where, _, what = line.partition(": ")
        span = page.span(where) if page else None
        advice.append(FieldIssue(of(span.line if span else None, where), LINES_TO_WRITE.sub("", what)))
    return BuilderCheck(text, None if issues else found.study, tuple(dict.fromkeys(issues)), tuple(advice))


def write(given: Answers) -> tuple[str, list[str]]:
    """The study file of the answers, and the field of each of its lines."""
    between, within = _varied(given)
    written = _TEMPLATE.render(
        given=given,
        models={label: (key, spec) for key, label, spec in reversed(model_specs(given))},
        between=between,
        within=within,
        fields_of={CONDITION: "protocols", MODEL: "model_count"},
        codes={name: code for name in OUTCOMES if (code := given[f"codes.{name}"])},
        pick={name: one.reference for name, one in _chosen(given).items()},
        changes=_confidence(given),
        questions={use: _questions(given, use) for use in USES},
    )
    kept, fields = [], [""]
    for line in written.split("\n"):
        text, _, key = line.partition(OF)
        if text.strip() or OF not in line:
            kept.append(text)
            fields.append(key or fields[-1])
    return "\n".join((*kept, "")), fields[1:]


def _line(key: str, value: Any, of: str, *, needed: bool = False) -> str:
    """A line of the file with a field's value, or several; none for an empty one, unless it is `needed`."""
    if value in ("", None, [], {}) and not needed:
        return OF
    first, *more = yaml_text({key: value if value != "" else None}).removesuffix("\n").split("\n")
    return "\n".join((f"{first}{OF}{of}", *more))


def _of(key: str) -> str:
    return f"{OF}{key}"


def _unwritten(given: Answers) -> Iterator[FieldIssue]:
    """Yield the faults of the answers that the written file could not show."""
    asked = _keys(given, "question")
    needed = ["name", "title", *(["path"] if given["items"] == "file" else []), *(f"{key}.text" for key in asked)]
    needed += [f"{key}.correct" for key in asked if given[f"{key}.use"] in CHECKS]
    yield from (FieldIssue(key, "is needed.") for key in needed if not given[key])
    codes = {f"codes.{name}": given[f"codes.{name}"] for name in OUTCOMES}
    yield from _twice(codes, "is also the code of another end; give each end its own.")
    labels = {f"{key}.name": label for key, label, _ in model_specs(given)}
    yield from _twice(labels, "is the name of an earlier model too; give each its own.")
    for use in USES:
        names = {f"{key}.name": _name_of(given, key) for key in asked if given[f"{key}.use"] == use}
        yield from _twice(names, "is the name of an earlier question too; give each its own.")
    yield from _undesigned(given, _chosen(given), _varied(given)[1])


def _undesigned(
    given: Answers, pick: Mapping[str, ProtocolChoice], within: Mapping[str, Sequence[str]]
) -> Iterator[FieldIssue]:
    """Yield what the design lacks, and its parts that do not go together."""
    take, wanted = given["take"], given["confidence"]
    if not pick:
        yield FieldIssue("protocols", "needs at least one protocol.")
    if given["items"] == "none" and take is None:
        yield FieldIssue("take", "is needed if there are no items: how often is it repeated?")
    for factor, levels in within.items():
        if take is not None and take < len(levels):
            what = f"is less than the {len(levels)} values of {factor!r} that each participant should get."
            yield FieldIssue("take", what)
    if len(within) > 1:
        what = "and the model would always change together within a participant; let one differ between them."
        yield FieldIssue("protocols_across", f"The protocol {what}")
    for name, one in pick.items() if wanted else ():
        if (wanted != "after" and not one.before) or (wanted != "before" and not one.answers):
            yield FieldIssue("confidence", f"does not go with {name}, which has no step for it.")


def _twice(values: Mapping[str, str], what: str) -> Iterator[FieldIssue]:
    """An issue of each field whose value is one of an earlier field too."""
    met: set[str] = set()
    for key, value in values.items():
        if value and value in met:
            yield FieldIssue(key, f"{value!r} {what}")
        met.add(value)


def _chosen(given: Answers) -> dict[str, ProtocolChoice]:
    return {name: one for name, one in protocols().items() if name in given["protocols"]}


def _varied(given: Answers) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """The levels of what differs between participants, and of what differs within them, by factor."""
    found: tuple[dict[str, list[str]], dict[str, list[str]]] = ({}, {})
    labels = list(dict.fromkeys(label for _, label, _ in model_specs(given)))
    for factor, levels, across in ((MODEL, labels, "models"), (CONDITION, [*_chosen(given)], "protocols")):
        if len(levels) > 1:
            found[given[f"{across}_across"] == "within"][factor] = levels
    return found


def _name_of(given: Answers, question: str) -> str:
    return given[f"{question}.name"] or f"question_{int(question.rpartition('.')[2]) + 1}"


def _questions(given: Answers, use: str) -> list[dict[str, Any]]:
    """The questions of a survey or check, each with the prefix of its fields; of several of one name the first."""
    found: dict[str, dict[str, Any]] = {}
    for key in _keys(given, "question"):
        kind, name, chosen = given[f"{key}.type"], _name_of(given, key), given[f"{key}.type"] in WITH_OPTIONS
        one = {"key": key, "type": kind, "name": name, "text": given[f"{key}.text"], "chosen": chosen}
        one |= {"options": lines(given[f"{key}.options"]) if chosen else None}
        if given[f"{key}.use"] == use:
            found.setdefault(name, {**one, "correct": _passing(kind, given[f"{key}.correct"])})
    return list(found.values())


def _confidence(given: Answers) -> dict[str, Any]:
    """The changes to the protocols' steps so that confidence is asked for when it is wanted."""
    when, changes = given["confidence"], dict[str, Any]()
    before, after = when in ("before", "both"), when in ("after", "both")
    for one in _chosen(given).values() if when else ():
        changes |= {} if before else dict.fromkeys(one.before, False)
        changes |= {step: {"ask_confidence": after} for step, asks in one.answers.items() if asks != after}
    return changes


def lines(text: str) -> list[str]:
    """The lines of a text, each once, without empty ones."""
    return list(dict.fromkeys(filter(None, map(str.strip, text.splitlines()))))


def _passing(kind: str, correct: str) -> Any:
    """The answers that pass: a range of numbers, one answer, or several."""
    if kind == "number" and (ends := RANGE.fullmatch(correct)) and any(ends.groups()):
        return {key: int(end) for key, end in zip(("minimum", "maximum"), ends.groups(), strict=True) if end}
    given = lines(correct)
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
    return [f"{part}s.{number}" for number in range(int(answers[f"{part}_count"] or 0))]


_TEMPLATES = Environment(  # noqa: S701  (it writes YAML)
    loader=FileSystemLoader(HERE), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
)
_TEMPLATES.globals |= {"line": _line, "of": _of}
_TEMPLATE = _TEMPLATES.get_template("builder_form.yaml.j2")
