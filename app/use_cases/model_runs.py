"""Long runs of models: they answer a study's questions alone, or annotate its conversations.

What is asked for is planned first, and its cost estimated; then the same plan is run. What came is stored, and a run
that was stopped goes on with the next one of the same plan.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from typing import Any

from app.ai_alone.plan import AiAloneRequest, AloneCell, cells, settings_of
from app.ai_alone.scoring import score
from app.annotation.annotators.registry import ANNOTATORS, annotators
from app.annotation.run import (
    AnnotationPlan,
    Wanted,
    collect_results,
    describe_plan,
    forget_withdrawn,
    plan_annotations,
    save_annotations,
)
from app.backends.model_ref import parse_model_ref
from app.batch.cost_estimate import estimate
from app.batch.plan import BUDGET, DONE, INTERRUPTED, RunLimits, RunPlan, RunProgress, RunResult
from app.batch.runner import run
from app.config.saved_servers import with_saved_servers
from app.config.settings import Settings
from app.errors import AnnotatorUnknown
from app.session.replies.tools import asked
from app.session.service import Sessions
from app.use_cases.costs import unpriced
from app.use_cases.tables import Stopped, Tell, Told, money
from experiments.plural import count
from experiments.study.ai_alone_questions import ai_alone_of
from experiments.study.sections.annotators import AnnotatorSpec
from experiments.study.study import Study
from storage.ai_alone.answers import method_progress
from storage.ai_alone.replies import save_cells
from storage.db.engine import Database
from storage.registers.studies import Studies
from storage.reports.conversations import origin_of

MOST_WHYS = 5
ANNOTATION_TOKENS = 60
WHY = {
    DONE: "Everything is asked.",
    BUDGET: "The budget bears no further call; the same run with a higher one goes on from here.",
    INTERRUPTED: "Stopped. What came is stored; the same run goes on from here.",
}


def takes(
    database: Database,
    plan: RunPlan,
    tokens: int,
    study: Study | None,
    budget: float | None,
    before: Sequence[str] = (),
) -> Told:
    """Report the remaining calls of a plan, with replies of so many tokens, below the sentences `before`."""
    would, currency = estimate(database, plan, tokens), study.file.currency if study else ""
    says = [
        f"{count(would.left, 'call')} will be made; {would.stored:,} of {count(would.samples, 'sample')} are stored.",
        f"They cost about {money(would.cost, currency)}, for {count(would.prompt_tokens, 'token')} to read and "
        f"{would.completion_tokens:,} to write.",
        *unpriced(would.unpriced),
    ]
    says += [] if budget is None else [f"No call begins beyond {money(budget, currency)}."]
    data = {**asdict(would), "cost": would.cost, "currency": currency, "without_price": would.unpriced}
    return Told([*before, *says], {"models": would.models}, data)


def _followed(tell: Tell) -> Callable[[RunProgress], None]:
    def follow(now: RunProgress) -> None:
        counts = {"refused": now.refused, "failed": now.failed, "were there": now.reused}
        words = ", ".join(f"{number:,} {what}" for what, number in counts.items() if number)
        tell(now.done + now.failed, now.samples, words)

    return follow


def told_run(result: RunResult, after: Sequence[str] = ()) -> Told:
    """Report the results of a run: in sentences, with the reasons why models were given up, and the use of each."""
    rate, progress = result.asked / result.seconds if result.seconds else 0.0, result.progress
    took = f"in {timedelta(seconds=round(result.seconds))} ({rate:,.1f} a second)"
    says = [f"{count(result.asked, 'reply', 'replies')} {took}; {progress.reused:,} were stored before."]
    says += [f"{progress.failed:,} failed; the same run asks for them again."] if progress.failed else []
    says += [WHY[result.why]] if result.why in WHY else []
    says += [one.stopped for one in result.models if one.stopped]
    models = [{name: value for name, value in asdict(one).items() if name != "stopped"} for one in result.models]
    return Told([*says, *after], {"models": models})


@dataclass(frozen=True, slots=True)
class AlonePlan:
    study: Study
    cells: Sequence[AloneCell]
    run: RunPlan


async def plan_alone(database: Database, settings: Settings, study: Study, request: AiAloneRequest) -> AlonePlan:
    """Raises ParleyError, and SettingsError where the server of the tools for models alone cannot be asked."""
    tools = (study.file.tools or {}).get(ai_alone_of(study).tools)
    specs = await asked(with_saved_servers(settings, database), tools) if tools else ()
    planned = cells(study, replace(request, specs=specs))
    details = {
        "hash": study.hash,
        "models": list(dict.fromkeys(cell.terms.asked.label for cell in planned)),
        "methods": list(request.methods),
        "repeats": request.repeats,
        "settings": {name: settings_of(cell) for name, cell in {cell.name: cell for cell in planned}.items()},
    }
    return AlonePlan(study, planned, RunPlan(study.name, "alone", planned, details))


async def ask_alone(
    database: Database, settings: Settings, plan: AlonePlan, limits: RunLimits, tell: Tell, stopped: Stopped = bool
) -> RunResult:
    """Ask for the replies of a plan that are not stored, and score what came."""
    Studies(database).register(plan.study)
    save_cells(database, plan.study.name, (cell.stored(number) for number, cell in enumerate(plan.cells)))
    result = await run(database, settings, plan.run, limits, _followed(tell), stopped)
    score(database, plan.study.name)
    return result


def alone_rows(database: Database, study: str) -> list[dict[str, Any]]:
    return [
        {
            "model": one.model,
            "method": one.name,
            "dataset": one.dataset,
            "wanted": one.wanted,
            "samples": sum(one.outcomes.values()) - one.outcomes.get("failed", 0),
            "accuracy": one.right / one.counted if one.counted else None,
            **{kind: one.outcomes.get(kind, 0) for kind in ("unparsed", "refused", "failed")},
            "cost": one.cost,
        }
        for one in method_progress(database, study)
    ]


def wanted_annotators(
    study: Study | None, names: Sequence[str], model: str, own: Mapping[str, AnnotatorSpec]
) -> list[Wanted]:
    """Annotators by name, each with its model, which one of the study's `own` may name."""
    if not names:
        raise AnnotatorUnknown(f"No annotator is named. Available: {', '.join([*ANNOTATORS.all(), *own])}.")
    found = []
    for annotator in annotators(dict.fromkeys(names), own):
        model_name = model or (own[annotator.name].model if annotator.name in own else "")
        if not model_name:
            raise AnnotatorUnknown(
                f"The annotator {annotator.name!r} has no model. Name one: a model of the study, or BACKEND:NAME."
            )
        found.append((annotator, parse_model_ref(study, model_name)))
    return found


@dataclass(frozen=True, slots=True)
class AnnotatingPlan:
    study: Study | None
    """None if its data were imported."""
    origin: str
    found: AnnotationPlan
    run: RunPlan

    def takes(self, database: Database, budget: float | None, origin: str) -> Told:
        """Report the conversations to annotate, of the `origin` in words, and the cost."""
        says = [f"{count(len(self.found.cells), 'conversation')} of {origin} sessions are asked about."]
        says += [f"{len(self.found.known):,} more need no call."] if self.found.known else []
        left_out = self.found.lacking.items()
        says += [f"{who} leaves out {count(number, 'conversation')}: {why}." for (who, why), number in left_out]
        return takes(database, self.run, ANNOTATION_TOKENS, self.study, budget, says)


def plan_annotating(
    database: Database, name: str, study: Study | None, wanted: Sequence[Wanted], origin: str | None
) -> AnnotatingPlan:
    whose = origin_of(database, name, origin)
    found = plan_annotations(database, name, whose, wanted)
    details = describe_plan(study.hash if study else "", found, whose)
    return AnnotatingPlan(study, whose, found, RunPlan(name, "annotate", found.cells, details))


async def annotate(
    database: Database,
    settings: Settings,
    sessions: Sessions,
    plan: AnnotatingPlan,
    limits: RunLimits,
    tell: Tell,
    stopped: Stopped = bool,
) -> Told:
    """Request a plan's missing annotations, and record the findings; returns the results in words."""
    ended = None
    if plan.found.cells:
        save_annotations(database, plan.run.study, plan.found)
        ended = await run(database, settings, plan.run, limits, _followed(tell), stopped)
    found = collect_results(database, plan.found, ended.run if ended else "")
    done = await sessions.annotate(plan.run.study, found.annotations)
    forget_withdrawn(database, plan.run.study, plan.found)
    numbers = {
        "new": done.new,
        "stored before": done.known,
        "of participants who withdrew": done.gone,
        "unparsed": sum(found.unparsed.values()),
        "refused": found.refused,
        "failed": found.failed,
        "not asked yet": found.missing,
    }
    says = f"Annotations: {', '.join(f'{number:,} {what}' for what, number in numbers.items() if number) or 'none'}."
    unparsed = sorted(found.unparsed.items(), key=lambda item: -item[1])[:MOST_WHYS]
    why = [{"annotator": who, "replies": number, "why": why} for (who, why), number in unparsed]
    told = told_run(ended, [says]) if ended else Told([says])
    return Told(told.sentences, {**told.rows, "replies in which no annotation was found": why})
