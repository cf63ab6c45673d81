"""The texts of a preregistration, made from a study and its plan: OSF's standard form (as of 2026, osf.io/prereg),
AsPredicted's questions, and the analysis code, which runs the functions of the report on the version with its hash.

What neither the study nor its plan says is marked as not stated, for the author to write.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from app.extensions.trials import wording
from app.extensions.trials.power_plan import plan_of
from experiments.plural import count
from experiments.study.schema import Loop, Phase
from experiments.study.sections.plan import Plan
from experiments.study.step import Step
from experiments.study.study import Study
from problems.errors import DISTRIBUTION

TEXTS = ("osf.md", "aspredicted.md", "analysis.py")
UNSTATED = "*Not stated in the study file; to be written by the authors.*"
POWER = "*The result of `parley trial power`, to be written by the authors.*"
TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent),
    undefined=StrictUndefined,
    keep_trailing_newline=True,
    autoescape=False,  # noqa: S701  (Markdown and code, no HTML)
)


def texts(study: Study, people: int, pilots: int, files: Sequence[str] = ()) -> Mapping[str, str]:
    """The TEXTS by name, for these numbers of participants and pilots. Raises TrialError without a plan."""
    plan, named = plan_of(study), f" Files: {', '.join(files)}." if files else ""
    scores = [one.outcome for one in plan.hypotheses if one.outcome.startswith("score.")]
    known = {
        "study": study,
        "plan": plan,
        "info": study.file.dataset,
        "words": wording,
        "unstated": UNSTATED,
        "parley": version(DISTRIBUTION),
        "hypotheses": _listed(f"{one.claim} {wording.hypothesis_words(one)}" for one in plan.hypotheses),
        "steps": ", ".join(_steps(study.flow)),
        "existing": f"Yes: {count(people, 'participant')} so far. The plan is registered during data collection."
        if people
        else "No data of participants have been collected for this study yet.",
        "pilots": f"{count(pilots, 'pilot session')}, in no analysis." if pilots else "There are no pilot data.",
        "collection": _collection(study),
        "rationale": _rationale(plan),
        "factors": _listed(wording.factor_words(study)),
        "measured": _listed(_measured(plan)),
        "scores": _listed(wording.outcome_words(one) for one in dict.fromkeys(scores)),
        "models": wording.model_words(plan),
        "identity": f"The study is version {study.file.version} with the SHA-256 {study.hash}.{named}",
    }
    return {name: TEMPLATES.get_template(f"{name}.j2").render(known) for name in TEXTS}


def _listed(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


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
    wanted = f"A power of {plan.power:g} is wanted for each. " if plan.power else ""
    return f"Smallest effects of interest: {'; '.join(effects)}. {wanted}{POWER}" if effects else ""


def _measured(plan: Plan) -> Iterator[str]:
    yield from map(wording.outcome_words, dict.fromkeys(one.outcome for one in plan.hypotheses))
    for name in plan.covariates:
        yield f'the covariate "{name}", a survey question asked before the treatment'
