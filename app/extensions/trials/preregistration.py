"""The text of a preregistration, made from a study and its plan: OSF's standard form and AsPredicted's questions.

What neither the study nor its plan says is marked as not stated, for the author to write.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from app.extensions.trials.power_plan import plan_of
from app.extensions.trials.wording import (
    ESTIMATOR,
    PAIRED,
    RANDOMISED,
    exclusion_words,
    factor_words,
    hypothesis_words,
    inference_words,
    looks_words,
    missing_words,
    outcome_words,
    sample_words,
)
from experiments.study.schema import Loop, Phase
from experiments.study.sections.plan import STEP, Plan
from experiments.study.step import Step
from experiments.study.study import Study

UNSTATED = "*Not stated in the study file; to be written by the authors.*"
EXPERIMENT = "Experiment: participants are assigned to treatments at random."
WITHIN = "Participants are not assigned to groups; answers of the same participants are compared."
POWER = "*The result of `parley trial power`, to be written by the authors.*"
CODE = '''"""The confirmatory analysis of {name}, as preregistered: `python {file}` prints each planned result.

Needs Parley {parley} with the extra `analysis`, and the database of the settings (PARLEY_DATABASE_URL).
"""

from parley_studies.analysis import Studies, open_settings_database
from parley_studies.trials import trial_findings

HASH = "{hash}"

database = open_settings_database()
for finding in trial_findings(database, Studies(database).get(HASH), "person"):
    print(finding.title)
    for estimate in finding.estimates:
        print("   ", estimate.sentence)
'''
"""The analysis code; it runs the functions that the report uses, on the version with this hash."""


@dataclass(frozen=True, slots=True)
class ExistingData:
    people: int
    pilots: int


@dataclass(frozen=True, slots=True)
class FormAnswer:
    section: str
    question: str
    answer: str


def osf(study: Study, data: ExistingData, files: Sequence[str] = ()) -> tuple[FormAnswer, ...]:
    """The OSF Preregistration form: its sections and fields, as of 2026 (osf.io/prereg)."""
    plan = plan_of(study)
    info = study.file.dataset
    authors = ", ".join(author.name for author in info.authors) if info else ""
    form: Mapping[str, Mapping[str, str]] = {
        "Study information": {
            "Title": study.file.title,
            "Authors": authors or UNSTATED,
            "Description": (info.description if info else "") or UNSTATED,
            "Hypotheses": _listed(f"{one.claim} {hypothesis_words(one)}" for one in plan.hypotheses),
        },
        "Design plan": {
            "Study type": EXPERIMENT if study.factors else WITHIN,
            "Blinding": "Parley itself shows participants neither the name of their group nor that of a model.",
            "Is there any additional blinding in this study?": looks_words(plan),
            "Study design": _design(study),
            "Randomization": RANDOMISED if study.factors else "None.",
        },
        "Sampling plan": {
            "Existing data": _existing(data),
            "Explanation of existing data": _pilots(data),
            "Data collection procedures": _collection(study),
            "Sample size": f"{sample_words(plan)}.".capitalize(),
            "Sample size rationale": _rationale(plan),
            "Stopping rule": looks_words(plan),
        },
        "Variables": {
            "Manipulated variables": _listed(factor_words(study)) or "None.",
            "Measured variables": _listed(_measured(plan)),
            "Indices": _indices(plan),
        },
        "Analysis plan": {
            "Statistical models": _models(plan),
            "Transformations": "Covariates are centred. Nothing else is transformed.",
            "Inference criteria": " ".join(inference_words(plan)),
            "Data exclusion": exclusion_words(plan),
            "Missing data": missing_words(plan),
            "Exploratory analysis": "All other figures of Parley's report are exploratory and are marked so.",
        },
        "Other": {"Other": _identity(study, files)},
    }
    return tuple(
        FormAnswer(section, question, answer) for section, fields in form.items() for question, answer in fields.items()
    )


def aspredicted(study: Study, data: ExistingData, files: Sequence[str] = ()) -> tuple[FormAnswer, ...]:
    plan = plan_of(study)
    answers = {
        "1) Have any data been collected for this study already?": f"{_existing(data)} {_pilots(data)}",
        "2) What's the main question being asked or hypothesis being tested in this study?": _listed(
            f"{one.claim} {hypothesis_words(one)}" for one in plan.hypotheses
        ),
        "3) Describe the key dependent variable(s) specifying how they will be measured.": _listed(_measured(plan)),
        "4) How many and which conditions will participants be assigned to?": _listed(factor_words(study)) or "One.",
        "5) Specify exactly which analyses you will conduct to examine the main question/hypothesis.": (
            f"{_models(plan)} {' '.join(inference_words(plan))}"
        ),
        "6) Describe exactly how outliers will be defined and handled, and your precise rule(s) for excluding "
        "observations.": f"{exclusion_words(plan)} {missing_words(plan)}",
        "7) How many observations will be collected or what will determine sample size?": (
            f"{sample_words(plan)}. {looks_words(plan)}"
        ),
        "8) Anything else you would like to pre-register?": (
            f"All other figures of Parley's report are exploratory.\n\n{_identity(study, files)}"
        ),
    }
    return tuple(FormAnswer("", question, answer) for question, answer in answers.items())


def markdown(title: str, form: Sequence[FormAnswer]) -> str:
    lines, section = [f"# {title}"], ""
    for one in form:
        if one.section != section:
            section = one.section
            lines.append(f"## {section}")
        lines += [f"### {one.question}", one.answer]
    return "\n\n".join(lines) + "\n"


def _listed(lines: Iterator[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _existing(data: ExistingData) -> str:
    if data.people:
        return f"Yes: {data.people:,} participants have started. The plan is registered during data collection."
    return "No data of participants have been collected for this study yet."


def _pilots(data: ExistingData) -> str:
    return f"{data.pilots:,} pilot sessions, which are in no analysis." if data.pilots else "There are no pilot data."


def _design(study: Study) -> str:
    return f"The steps, in their order: {', '.join(_steps(study.flow))}."


def _steps(nodes: Sequence[object]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, Loop):
            number = node.take or node.up_to
            many = f"{number} times" if number else "for each"
            yield f"{node.each} ({many}: {', '.join(_steps(node.flow))})"
        elif isinstance(node, Phase):
            yield f"{node.phase} ({', '.join(_steps(node.flow))})"
        elif isinstance(node, Step):
            yield f"{node.id}" if node.id == node.step else f"{node.id} ({node.step})"


def _collection(study: Study) -> str:
    channels = ", ".join(study.file.recruitment.channels) or "any link to the study"
    limits = [f"{quota.max:,}{_where(quota.where)}" for quota in study.file.quotas]
    quotas = f" Quotas: {'; '.join(limits)}." if limits else ""
    models = f" Models: {', '.join(study.file.models)}." if study.file.models else ""
    return f"Participants come from: {channels}. They take part in a web browser.{quotas}{models}"


def _where(where: Mapping[str, str]) -> str:
    return f" for {', '.join(f'{name} = {value}' for name, value in where.items())}" if where else ""


def _rationale(plan: Plan) -> str:
    effects = [f"{one.id}: {one.smallest_effect:g}" for one in plan.primary if one.smallest_effect]
    smallest = f"Smallest effects of interest: {'; '.join(effects)}. " if effects else ""
    wanted = f"A power of {plan.power:g} is wanted for each. " if plan.power else ""
    return f"{smallest}{wanted}{POWER}" if smallest else UNSTATED


def _measured(plan: Plan) -> Iterator[str]:
    for outcome in dict.fromkeys(one.outcome for one in plan.hypotheses):
        yield outcome_words(outcome)
    for name in plan.covariates:
        yield f'the covariate "{name}", a survey question asked before the treatment'


def _indices(plan: Plan) -> str:
    scores = [one.outcome for one in plan.hypotheses if one.outcome.startswith("score.")]
    return _listed(outcome_words(one) for one in dict.fromkeys(scores)) or "None."


def _models(plan: Plan) -> str:
    within = any(one.contrast.factor == STEP for one in plan.hypotheses)
    covariates = f" Covariates: {', '.join(plan.covariates)}." if plan.covariates else " There are no covariates."
    return f"{ESTIMATOR}{' ' + PAIRED if within else ''}{covariates}"


def _identity(study: Study, files: Sequence[str]) -> str:
    named = f" Files: {', '.join(files)}." if files else ""
    return f"The study is version {study.file.version} with the SHA-256 {study.hash}.{named}"
