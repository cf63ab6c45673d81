"""The plan of an AI-alone run: a cell for each question, model and method, with its number of samples.

The key of a cell says all that its replies depend on, also those of later steps: the prompts that follow are made with
empty replies for it. Questions of a study that are the same to the letter are told apart by a number, so that each has
replies of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from app.ai_alone.methods import registry
from app.ai_alone.methods.base import Method, MethodContext
from app.ai_alone.methods.registry import METHODS
from app.backends.base import ToolSpec
from app.backends.model_ref import ModelRef, parse_model_ref
from app.backends.registry import BACKENDS
from app.batch.task import Prompt, key_of, request_parts
from app.errors import AloneError
from experiments.errors import suggestion
from experiments.study.ai_alone_questions import ai_alone_of, examples, questions
from experiments.study.schema import FromTag, weights
from experiments.study.study import Study
from problems.errors import ParleyError
from problems.pictures import described_problem
from problems.problem import Problem
from storage.ai_alone.replies import StoredCell


@dataclass(frozen=True, slots=True)
class AiAloneRequest:
    """Of `datasets` and models all unless named, and at most `most` questions of each dataset."""

    models: tuple[str, ...] = ()
    methods: tuple[str, ...] = registry.RELEASED
    repeats: int = 50
    datasets: tuple[str, ...] = ()
    most: int | None = None
    extractor: str = ""
    """In place of the one that the study names."""
    specs: tuple[ToolSpec, ...] = ()
    """The tools that the server of the set in `ai_alone: {tools: NAME}` offers now."""


@dataclass(frozen=True, slots=True)
class AloneCell:
    key: str
    samples: int
    name: str
    problem: Problem
    asked: Problem = field(repr=False)
    """The problem as the model reads it: pictures by their alternative texts."""
    terms: MethodContext = field(repr=False)

    @property
    def steps(self) -> int:
        return METHODS.find(self.name).steps

    def next(self, texts: Sequence[str]) -> Prompt | None:
        method = METHODS.find(self.name)
        if method.read(self.asked, texts) is not None:
            return None
        prompt = method.ask(self.terms, self.asked, texts)
        return replace(prompt, request=replace(prompt.request, problem=self.asked))

    def stored(self, position: int) -> StoredCell:
        return StoredCell(
            cell=self.key,
            kind="alone",
            name=self.name,
            model=self.terms.asked.label,
            position=position,
            samples=self.samples,
            dataset=self.problem.dataset,
            problem=self.problem.id,
            data={"problem": self.problem.to_json()},
        )


def cells(study: Study, request: AiAloneRequest) -> list[AloneCell]:
    """The cells of a request, model by model and question by question; raises ParleyError with what is wrong."""
    methods = {name: METHODS.find(name) for name in request.methods}
    chosen = list(_chosen(study, request))
    return [
        AloneCell(_key(name, method, terms, asked, twin), request.repeats, name, problem, asked, terms)
        for terms in terms_of(study, request)
        for problem, asked, twin in chosen
        for name, method in methods.items()
    ]


def settings_of(cell: AloneCell) -> dict[str, object]:
    """The settings of a cell's method for an export: its parameters, prompts and extractor."""
    method, terms = METHODS.find(cell.name), cell.terms
    alone, request = terms.alone, method.ask(terms, cell.asked, ()).request
    extracts = terms.extractor if method.own < method.steps else None
    return {
        "temperature": request.temperature,
        "max_tokens": request.max_tokens,
        "system": alone.system,
        **({"tools": alone.tools} if request.tools else {}),
        **({"extractor": extracts.label, "extractor_system": alone.extraction_system} if extracts else {}),
        **{prompt: getattr(alone.prompts, prompt) for prompt in getattr(method, "prompts", ())},
    }


def terms_of(study: Study, request: AiAloneRequest) -> list[MethodContext]:
    alone = ai_alone_of(study)
    named = request.extractor or alone.extractor
    extractor = parse_model_ref(study, named) if named else None
    models = [parse_model_ref(study, name) for name in dict.fromkeys(request.models or models_of(study))]
    _check(study, models)
    shown = {
        name: tuple(described_problem(problem, study.pictures) for problem in found)
        for name, found in examples(study).items()
    }
    tools = (study.file.tools or {}).get(alone.tools)
    for model in models if tools else ():
        if not BACKENDS.find(model.model.backend).tools:
            raise AloneError(f"{model.label}: models of the backend {model.model.backend!r} cannot use tools.")
    return [MethodContext(model, alone, extractor, shown, tools, request.specs) for model in models]


def possible(study: Study) -> Iterator[str]:
    """Of the methods that are asked unless others are named, those that the study's questions and settings allow."""
    for name in registry.RELEASED:
        with suppress(ParleyError):
            cells(study, AiAloneRequest(methods=(name,), most=1))
            yield name


def models_of(study: Study) -> tuple[str, ...]:
    """The models that participants may meet: those of the factor `model`, or all of the study's."""
    factor = study.file.factors.get("model")
    return tuple(study.file.models) if factor is None or isinstance(factor, FromTag) else tuple(weights(factor))


def _check(study: Study, models: Sequence[ModelRef]) -> None:
    if not models:
        raise AloneError(f"{study.name!r} has no model; name one: BACKEND:NAME.")
    labels = Counter(model.label for model in models)
    for label in (label for label, count in labels.items() if count > 1):
        raise AloneError(
            f"Two models have the label {label!r}, and the data could not distinguish them; leave one out."
        )
    same: dict[str, str] = {}
    for model in models:
        other = same.setdefault(key_of(model.identity(), model.name, model.model.options), model.label)
        if other != model.label:
            raise AloneError(f"{other!r} and {model.label!r} are the same model with the same options; leave one out.")


def _chosen(study: Study, request: AiAloneRequest) -> Iterator[tuple[Problem, Problem, int]]:
    """The questions to ask: as written, as a model reads them, and the number of those before that read the same."""
    asked_of = [problem for problem in questions(study) if problem.answer is not None]
    datasets = {problem.dataset for problem in asked_of}
    for name in request.datasets:
        if name not in datasets:
            raise AloneError(f"{study.name!r} has no questions of the dataset {name!r}{suggestion(name, datasets)}")
    if not asked_of:
        raise AloneError(
            f"{study.name!r} has no questions with options and a known answer, so there is nothing to ask."
        )
    twins: Counter[tuple[str, ...]] = Counter()
    seen: Counter[str] = Counter()
    for problem in asked_of:
        asked = described_problem(problem, study.pictures)
        words = (asked.plain, *(option.plain for option in asked.options))
        if problem.dataset in (request.datasets or datasets) and (
            request.most is None or seen[problem.dataset] < request.most
        ):
            yield problem, asked, twins[words]
        twins[words] += 1
        seen[problem.dataset] += 1


def _key(name: str, method: Method, context: MethodContext, problem: Problem, twin: int) -> str:
    asked_in_turn: list[Mapping[str, object]] = [
        request_parts(method.ask(context, problem, ("",) * step)) for step in range(method.steps)
    ]
    return key_of(name, asked_in_turn, *([twin] if twin else []))
