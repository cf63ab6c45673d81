"""The console's builder: a form's answers written as a study file, with each fault led back to its field.

One way only. From the answers come a file, and for each path of the file the field that it was written from; what
`check_text` finds at a path is reported of that field. Nothing reads a file back into answers: once the draft exists,
its text is the study.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from textwrap import indent
from typing import Any, Literal

from app.backends.providers import PROVIDERS
from app.studies.builder_choices import ProtocolChoice, outcomes, protocols
from app.studies.drafts import check_text
from experiments.study.schema import StudyFile
from experiments.study.sections.model_spec import ModelSpec
from experiments.study.study import Study
from problems.errors import ProblemError
from problems.items import Columns, understand
from problems.problem import Problem
from problems.registry import ITEMS
from problems.tables import parse_csv
from storage.yaml_text import yaml_text

MOST_MODELS, MOST_FACTORS, MOST_QUESTIONS = 4, 3, 8
POOL, LOOP, CONDITION, MODEL = "questions", "question", "condition", "model"
RESERVED = (CONDITION, MODEL, LOOP, "language", "number", "last", "problem")
"""Names that mean something in every study, or in every one of the builder's."""
FEWEST_LEVELS = 2
WITH_OPTIONS = ("single_choice", "multiple_choice", "scale")
BRACKETS = 72
LINES_TO_WRITE = re.compile(r" Write `[^`]*`\.$")
"""The end of a warning that says what to write into the file: the form has a field for it."""
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
    "dataset": "What the published data say about the study.",
    "flow": "What participants do, in this order.",
}

Across = Literal["between", "within"]
Confidence = Literal["", "before", "after", "both"]
"""When participants say how confident they are in an answer; empty where the protocol decides."""
CheckKind = Literal["screening", "comprehension", "attention"]
Use = Literal["before", "after", CheckKind]
HEADINGS: Mapping[Use, str] = {
    "screening": "A few questions",
    "comprehension": "About the instructions",
    "before": "Before you begin",
    "attention": "One more question",
    "after": "A few last questions",
}
RANGE = re.compile(r"(\d*)\s*[-–]\s*(\d*)")
ItemsFrom = Literal["sample", "typed", "file", "none"]


@dataclass(frozen=True, slots=True)
class ModelAnswers:
    """A model that replies. `server` is a value of `server_choices`; `system` replaces the prompt of all models."""

    name: str = ""
    server: str = "scripted"
    model: str = ""
    system: str = ""

    @property
    def label(self) -> str:
        return self.name or self.model or self.server.partition("@")[0]

    def spec(self, system: str = "") -> dict[str, Any]:
        backend, _, server = self.server.partition("@")
        options = dict(PROVIDERS[server].options) if server in PROVIDERS else {}
        prompt = self.system or system
        fields_given = {"backend": backend, "server": server, "model": self.model, "system": prompt, "options": options}
        return {key: value for key, value in fields_given.items() if value}


@dataclass(frozen=True, slots=True)
class FactorAnswers:
    """A factor of the researcher's own; `levels` has one a line."""

    name: str = ""
    levels: str = ""
    across: Across = "between"

    @property
    def values(self) -> list[str]:
        return _lines(self.levels)


@dataclass(frozen=True, slots=True)
class QuestionAnswers:
    """A question of a survey, or of a check; `options` and the answers that pass (`correct`) have one a line."""

    use: Use = "after"
    type: str = "single_choice"
    text: str = ""
    options: str = ""
    correct: str = ""
    name: str = ""

    def spec(self, name: str) -> dict[str, Any]:
        own: dict[str, Any] = {"minimum": 0} if self.type == "number" else {}
        own |= {"options": _lines(self.options)} if self.type in WITH_OPTIONS else {}
        return {"type": self.type, "name": name, "text": self.text, **own}

    @property
    def is_check(self) -> bool:
        return self.use not in ("before", "after")

    @property
    def accepted(self) -> Any:
        """The answers that pass: a range of numbers, one answer, or several."""
        if self.type == "number" and (ends := RANGE.fullmatch(self.correct)) and any(ends.groups()):
            return {key: int(end) for key, end in zip(("minimum", "maximum"), ends.groups(), strict=True) if end}
        given = _lines(self.correct)
        return given[0] if len(given) == 1 else given


@dataclass(frozen=True, slots=True)
class Answers:
    """All of the form. Each field is one of the form's, by its name; those of the n-th model are `models.n.name`."""

    name: str = ""
    protocols: tuple[str, ...] = ("direct-to-AI",)
    protocols_across: Across = "between"
    confidence: Confidence = ""
    items: ItemsFrom = "sample"
    source: str = ITEMS
    path: str = ""
    table: str = ""
    take: int | None = None
    order: str = "shuffled"
    models: tuple[ModelAnswers, ...] = (ModelAnswers(),)
    models_across: Across = "between"
    system: str = ""
    factors: tuple[FactorAnswers, ...] = ()
    questions: tuple[QuestionAnswers, ...] = ()
    recruiter: str = ""
    places: int | None = None
    reward: float | None = None
    currency: str = "USD"
    bonus_per: str = ""
    bonus: float | None = None
    bonus_most: float | None = None
    codes: Mapping[str, str] = field(default_factory=dict)
    title: str = ""
    contact: str = ""
    consent: str = ""
    instructions: str = ""
    finish: str = ""


PARTS: Mapping[str, tuple[Any, int]] = {
    "model": (ModelAnswers, MOST_MODELS),
    "factor": (FactorAnswers, MOST_FACTORS),
    "question": (QuestionAnswers, MOST_QUESTIONS),
}
"""What there may be several of, and how many at most; the form asks for their number first (`model_count`)."""


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
    if reported & {"items", "model_count"}:
        reported.add("protocols")  # what the protocol lacks was just said
    reported |= {f"{_part(name)}.{one.name}" for name in reported if _part(name) for one in fields(QuestionAnswers)}
    issues = [FieldIssue(built.field_of(fault.where), fault.what) for fault in found.faults]
    issues = [*built.issues, *(issue for issue in issues if issue.field not in reported)]
    advice = []
    for line in found.advice:
        where, _, what = line.partition(": ")
        advice.append(FieldIssue(built.field_of(where), LINES_TO_WRITE.sub("", what)))
    return BuilderCheck(built.text, None if issues else found.study, tuple(dict.fromkeys(issues)), tuple(advice))


def _part(field: str) -> str:
    """The question that a field is of, as the faults of one field lead to others in it; empty for other fields."""
    return field.rpartition(".")[0] if field.startswith("questions.") else ""


def build(answers: Answers) -> Built:
    return _Writer(answers).write()


class _Writer:
    """Writes the file part by part, and notes the field behind each part."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self._issues: list[FieldIssue] = []
        self._fields: dict[str, str] = {"": _longest(answers), "study": "name"}
        self._factors: dict[str, list[str]] = {}
        self._vary: dict[str, list[str]] = {}

    def write(self) -> Built:
        given = self._answers
        self._fields |= {key: key for key in ("title", "contact", "currency")}
        if not given.name:
            self._issue("name", "is needed: it is part of the links that participants get.")
        if not given.title:
            self._issue("title", "is needed: participants see it.")
        problems, models, flow = self._problems(), self._models(), self._flow()
        parts: dict[str, Any] = {
            "contact": given.contact,
            "problems": problems,
            "models": models,
            "currency": given.currency,
            "factors": self._factors,
            **self._recruitment(),
        }
        filled = {key: value for key, value in parts.items() if value}
        file = {"study": given.name, "title": given.title, **filled, "flow": flow}
        return Built(file, self._fields, tuple(self._issues))

    def _issue(self, field: str, what: str) -> None:
        self._issues.append(FieldIssue(field, what))

    def _problems(self) -> dict[str, Any]:
        given = self._answers
        self._fields["problems"] = _items_field(given)
        match given.items:
            case "none":
                return {}
            case "sample":
                return {POOL: {"source": given.source}}
            case "typed":
                return {POOL: {"items": self._typed()}}
            case "file":
                if not given.path:
                    self._issue("path", "needs the name of the file, such as questions.csv.")
                source = {} if given.source == ITEMS else {"source": given.source}
                return {POOL: {**source, "path": given.path}}

    def _typed(self) -> list[dict[str, Any]]:
        """The table as items of a study file; a row that cannot be used is an issue."""
        try:
            found = understand(parse_csv(self._answers.table, "the table"), {}, POOL)
        except ProblemError as error:
            self._issue("table", str(error))
            return []
        for fault in found.faults:
            self._issue("table", fault)
        return [_item(problem, found.columns) for problem in found.problems]

    def _models(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for number, model in enumerate(self._answers.models):
            at, path = f"models.{number}", f"models.{model.label}"
            if model.label in found:
                self._issue(f"{at}.name", f"{model.label!r} is the name of an earlier model too; give each its own.")
                continue
            found[model.label] = model.spec(self._answers.system)
            self._fields |= {
                path: f"{at}.name",
                f"{path}.model": f"{at}.model",
                f"{path}.system": f"{at}.system" if model.system else "system",
            }
            self._fields |= {f"{path}.{key}": f"{at}.server" for key in ("backend", "server", "options")}
        self._fields["models"] = "model_count"
        return found

    def _differ(self, name: str, values: list[str], across: Across, across_field: str) -> None:
        """Assign a value to each participant, or vary them within the loop."""
        if across == "between":
            self._factors[name] = values
            return
        for other in self._vary:
            what = f"and {other!r} would always change together within a participant; let one differ between them."
            self._issue(across_field, f"{name!r} {what}")
        if self._answers.take is not None and self._answers.take < len(values):
            self._issue("take", f"is less than the {len(values)} values of {name!r} that each participant should get.")
        self._vary[name] = values

    def _flow(self) -> list[dict[str, Any]]:
        given = self._answers
        instructions = {"step": "info", "id": "instructions", "title": "Instructions", "text": given.instructions}
        finish = {"step": "finish", **({"text": given.finish} if given.finish else {})}
        self._check_questions()
        parts: dict[str, dict[str, Any]] = {
            "consent": {"step": "consent", "text": given.consent} if given.consent else {},
            "screening": self._questions("screening"),
            "instructions": instructions if given.instructions else {},
            "comprehension": self._questions("comprehension"),
            "before": self._questions("before"),
            "protocols": self._loop(),
            "attention": self._questions("attention"),
            "after": self._questions("after"),
            "finish": finish,
        }
        self._fields["flow"] = "protocols" if given.consent else "consent"
        nodes = [(name, node) for name, node in parts.items() if node]
        for number, (name, _) in enumerate(nodes):
            at = f"flow[{number}]"
            self._fields[at] = name
            if name == "protocols":
                self._fields |= {f"{at}.take": "take", f"{at}.order": "order", f"{at}.of": _items_field(given)}
                self._fields |= {f"{at}.vary": self._varied() or name, f"{at}.with": "confidence"}
            elif name in HEADINGS:
                self._fields |= self._question_fields(at, name)
        return [node for _, node in nodes]

    def _asked(self, use: str) -> list[tuple[int, QuestionAnswers]]:
        """The questions for one use, each with its number in the form; those whose name is taken are left out."""
        first = self._first_of_names()
        questions = enumerate(self._answers.questions)
        return [(number, one) for number, one in questions if one.use == use and first[_name(number, one)] == number]

    def _first_of_names(self) -> dict[str, int]:
        names = [_name(number, one) for number, one in enumerate(self._answers.questions)]
        return {name: names.index(name) for name in names}

    def _questions(self, use: Use) -> dict[str, Any]:
        asked = [(one, _name(number, one)) for number, one in self._asked(use)]
        if not asked:
            return {}
        screen = {"id": use, "title": HEADINGS[use], "questions": [one.spec(name) for one, name in asked]}
        if not asked[0][0].is_check:
            return {"step": "survey", **screen}
        correct = {name: one.accepted for one, name in asked if one.correct}
        return {"step": "check", "kind": use, **screen, "correct_answers": correct}

    def _question_fields(self, at: str, use: str) -> dict[str, str]:
        asked = self._asked(use)
        first, one = asked[0]
        found = {at: f"questions.{first}.{'correct' if one.is_check else 'text'}"}
        for place, (number, one) in enumerate(asked):
            path, field = f"{at}.questions[{place}]", f"questions.{number}"
            found |= {f"{path}.{key}": f"{field}.{key}" for key in ("type", "name", "options")}
            found |= {path: f"{field}.text", f"{at}.correct_answers.{_name(number, one)}": f"{field}.correct"}
        return found

    def _check_questions(self) -> None:
        first = self._first_of_names()
        for number, one in enumerate(self._answers.questions):
            at = f"questions.{number}"
            if not one.text:
                self._issue(f"{at}.text", "is needed: participants read it.")
            if one.type in WITH_OPTIONS and len(_lines(one.options)) < FEWEST_LEVELS:
                self._issue(f"{at}.options", f"must be at least {FEWEST_LEVELS}, one a line.")
            if one.is_check and not one.correct:
                self._issue(f"{at}.correct", "is needed: which answers pass?")
            if first[name := _name(number, one)] != number:
                self._issue(f"{at}.name", f"{name!r} is the name of an earlier question too; give each its own.")

    def _loop(self) -> dict[str, Any]:
        given, known = self._answers, protocols()
        chosen = [one for name, one in known.items() if name in given.protocols]
        if not chosen:
            self._issue("protocols", "needs at least one protocol.")
        if given.items == "none" and (those := _needing(chosen, "problem")):
            self._issue("items", f"are needed for {those}.")
        if not given.models and (those := _needing(chosen, "model")):
            self._issue("model_count", f"must be at least 1 for {those}, in which a model replies.")
        if given.items == "none" and given.take is None:
            self._issue("take", "is needed if there are no items: how often is it repeated?")
        self._conditions(chosen)
        pick = {one.name: one.reference for one in chosen}
        loop: dict[str, Any] = {
            "of": "" if given.items == "none" else POOL,
            "take": given.take,
            "order": "" if given.items == "none" or given.order == "shuffled" else given.order,
            "vary": self._vary or None,
        }
        filled = {key: value for key, value in loop.items() if value not in (None, "")}
        do = {"by": CONDITION, "pick": pick} if len(pick) > 1 else "".join(pick.values())
        changes = self._confidence(chosen)
        return {"each": LOOP, **filled, "do": do, **({"with": changes} if changes else {})}

    def _confidence(self, chosen: list[ProtocolChoice]) -> dict[str, Any]:
        """The changes to the protocols' steps so that confidence is asked for when it is wanted."""
        when = self._answers.confidence
        before, after = when in ("before", "both"), when in ("after", "both")
        changes: dict[str, Any] = {}
        for one in chosen if when else ():
            if (before and not one.before) or (after and not one.answers):
                self._issue("confidence", f"{when!r} does not go with {one.name}, which has no step for it.")
            changes |= {} if before else dict.fromkeys(one.before, False)
            changes |= {id_: {"ask_confidence": after} for id_, asks in one.answers.items() if asks != after}
        return changes

    def _conditions(self, chosen: list[ProtocolChoice]) -> None:
        """The factors: of protocols and of models if there are several, and the researcher's own."""
        given = self._answers
        self._fields["factors"] = "factors.0.levels" if given.factors else "protocols"
        if len(chosen) > 1:
            self._differ(CONDITION, [one.name for one in chosen], given.protocols_across, "protocols_across")
            self._fields[f"factors.{CONDITION}"] = "protocols"
        if len(given.models) > 1 and _needing(chosen, "model"):
            labels = list(dict.fromkeys(model.label for model in given.models))
            self._differ(MODEL, labels, given.models_across, "models_across")
            self._fields |= {f"factors.{MODEL}[{number}]": f"models.{number}.name" for number in range(len(labels))}
            self._fields[f"factors.{MODEL}"] = "model_count"
        for number, factor in enumerate(given.factors):
            at = f"factors.{number}"
            if factor.name in (*RESERVED, *self._factors, *self._vary):
                self._issue(f"{at}.name", f"{factor.name!r} is taken; choose another name.")
            elif not factor.name:
                self._issue(f"{at}.name", "is needed, such as tone.")
            elif len(factor.values) < FEWEST_LEVELS:
                self._issue(f"{at}.levels", f"must be at least {FEWEST_LEVELS}, one a line.")
            else:
                self._differ(factor.name, factor.values, factor.across, f"{at}.across")
                levels = range(len(factor.values))
                self._fields |= {f"factors.{factor.name}[{level}]": f"{at}.levels" for level in levels}
                self._fields[f"factors.{factor.name}"] = f"{at}.name"

    def _varied(self) -> str:
        """The field that names what varies within participants, if anything does."""
        own = {factor.name: f"factors.{number}.name" for number, factor in enumerate(self._answers.factors)}
        return next(({**own, CONDITION: "protocols", MODEL: "model_count"}[name] for name in self._vary), "")

    def _compare_codes(self) -> None:
        """Report completion codes that two outcomes share."""
        known: dict[str, str] = {}
        for one in outcomes():
            code = self._answers.codes.get(one.value, "")
            if code and code in known:
                self._issue(f"codes.{one.value}", f"is also the code of {known[code]!r}; give each end its own.")
            known.setdefault(code, one.label)

    def _recruitment(self) -> dict[str, Any]:
        given = self._answers
        if given.bonus_per and given.bonus is None:
            self._issue("bonus", "is needed: how much is paid?")
        bonus = {"per": given.bonus_per, "amount": given.bonus, "max": given.bonus_most}
        self._compare_codes()
        paid = f"{given.currency} {given.reward:.2f}".strip() if given.reward is not None else ""
        self._fields |= {f"outcomes.{one.value}": f"codes.{one.value}" for one in outcomes()}
        self._fields |= {"quotas": "places", "recruitment": "recruiter", "dataset": "reward"}
        self._fields |= {"bonus": "bonus_per", "bonus[0].amount": "bonus", "bonus[0].max": "bonus_most"}
        return {
            "quotas": [{"max": given.places}] if given.places is not None else [],
            "recruitment": {"channels": [given.recruiter]} if given.recruiter else {},
            "outcomes": {name: {"code": code} for name, code in given.codes.items() if code},
            "bonus": [{key: value for key, value in bonus.items() if value is not None}] if given.bonus_per else [],
            "dataset": {"pay": paid} if paid else {},
        }


def _lines(text: str) -> list[str]:
    """The lines of a text, each once, without empty ones."""
    return list(dict.fromkeys(filter(None, map(str.strip, text.splitlines()))))


def _name(number: int, question: QuestionAnswers) -> str:
    return question.name or f"question_{number + 1}"


def _needing(chosen: list[ProtocolChoice], need: str) -> str:
    return ", ".join(one.name for one in chosen if need in one.needs)


def _items_field(given: Answers) -> str:
    return {"typed": "table", "file": "path", "sample": "source"}.get(given.items, "items")


def _longest(given: Answers) -> str:
    """The longest text of the form: what a fault of the whole file is about, as it can only be too large."""
    texts = ("table", "consent", "instructions", "finish", "system", "title", "contact")
    return max(texts, key=lambda name: len(getattr(given, name)))


def _item(problem: Problem, columns: Columns) -> dict[str, Any]:
    """A row of the table under the names that a study file recognises."""
    options = [option.text for option in problem.options]
    told: dict[str, Any] = {"id": problem.id if columns.id else "", "question": problem.text, "options": options}
    told |= {"answer": problem.answer, "dataset": problem.dataset if columns.dataset else ""}
    return {**{key: value for key, value in told.items() if value}, **problem.tags}


def _section(key: str, value: Any) -> str:
    comment = f"\n# {COMMENTS[key]}\n" if key in COMMENTS else ""
    if key != "flow":
        head, _, rest = yaml_text({key: value}, brackets=BRACKETS).partition("\n")
        return f"{comment}{head}\n{indent(rest, '  ') if isinstance(value, list) else rest}"
    return f"{comment}{key}:\n" + "\n".join(map(_node, value))


def _node(node: Mapping[str, Any]) -> str:
    lines = indent(yaml_text(node, brackets=BRACKETS), "    ", lambda line: line != "\n")
    return f"  - {lines[4:]}"


def spec_of(model: ModelAnswers, system: str) -> ModelSpec:
    return ModelSpec.model_validate(model.spec(system))


def field_keys(answers: Answers) -> set[str]:
    keys = (
        {one.name for one in fields(Answers)} - {"codes"}
        | {"more_protocols"}
        | {f"codes.{one.value}" for one in outcomes()}
    )
    for part, (kind, _) in PARTS.items():
        numbers = range(len(getattr(answers, f"{part}s")))
        own = {f"{part}s.{number}.{one.name}" for number in numbers for one in fields(kind)}
        keys = keys - {f"{part}s"} | {f"{part}_count"} | own
    return keys
