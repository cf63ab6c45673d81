"""The command that computes the power of a trial by simulating it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from app.bots.dry_run import DryRunResult, estimate_by_simulation
from app.cli.commands import command
from app.cli.common import AsJson, err, existing_database, out, print_json, require_folder, settings_in_use
from app.clock import SystemClock
from app.errors import TrialError
from app.studies.loader import load_study
from experiments.study.study import Study
from storage.datasets.describe.markdown import count as how_many
from storage.db.engine import Database
from storage.db.private_files import writing
from storage.registers.origins import ORIGINS, Origin

if TYPE_CHECKING:  # the analysis is imported where it is needed, as that takes as long as all other imports
    from app.analysis.trial.outcomes import TrialData
    from app.analysis.trial.power import ParticipantsNeeded, PowerPoint
    from app.analysis.trial.power_plan import HypothesisPower, Pilot, PowerOptions
    from experiments.study.sections.plan import Hypothesis, Plan

TRIED, REPLY_TOKENS = 20, 300
"""Simulated participants who try the study, and the assumed length of replies in tokens."""
INTERRUPTED = 130
"""The exit status after Ctrl-C."""


@command("power")
def power_(
    study: Annotated[
        str, typer.Argument(metavar="STUDY", help="A study file with a `plan:`, or the name of a study of Parley's.")
    ],
    hypotheses: Annotated[
        list[str] | None,
        typer.Option("--hypothesis", metavar="ID", help="Only this hypothesis. Can be repeated. Default: all primary."),
    ] = None,
    source: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="DATA",
            help="Take the assumptions from this study's sessions in the database (`pilot`, `person`, `bot`), or from "
            "an imported ChatBench release by the name of its study, such as `chatbench`.",
        ),
    ] = "",
    baseline: Annotated[float | None, typer.Option(metavar="MEAN", help="The control's mean, or its share.")] = None,
    sd: Annotated[float | None, typer.Option(metavar="SD", help="The standard deviation of numeric answers.")] = None,
    icc_participant: Annotated[
        float | None,
        typer.Option(metavar="SHARE", min=0, max=1, help="The share of the variance that is between participants."),
    ] = None,
    icc_question: Annotated[
        float | None,
        typer.Option(metavar="SHARE", min=0, max=1, help="The share of the variance that is between questions."),
    ] = None,
    dropout: Annotated[
        float | None, typer.Option(metavar="SHARE", min=0, max=1, help="The share of participants who drop out.")
    ] = None,
    covariate_r2: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE", min=0, max=1, help="The share of the variance that the plan's covariates explain."
        ),
    ] = None,
    answers: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Answers of each participant. Default: as the study asks.")
    ] = None,
    questions: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Number of questions. Default: as simulated people get.")
    ] = None,
    sizes: Annotated[
        list[int] | None,
        typer.Option("-n", "--participants", metavar="N", min=4, help="A number of participants. Can be repeated."),
    ] = None,
    effects: Annotated[
        list[float] | None,
        typer.Option("--effect", metavar="EFFECT", help="A true effect, in the outcome's unit. Can be repeated."),
    ] = None,
    runs: Annotated[int, typer.Option(metavar="N", min=20, max=1_000_000, help="Simulated trials a point.")] = 1000,
    seed: Annotated[int, typer.Option(metavar="SEED", min=0, help="The same seed gives the same numbers.")] = 1,
    workers: Annotated[
        int | None, typer.Option(metavar="N", min=1, max=256, help="Processes. Default: one for each core.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Keep the finished points of an earlier run.")] = False,
    reward: Annotated[
        float | None, typer.Option(metavar="AMOUNT", min=0, help="What a participant is paid, for the cost.")
    ] = None,
    to: Annotated[Path | None, typer.Option("-o", "--out", metavar="FILE", help="Also write a figure, as SVG.")] = None,
    as_json: AsJson = False,
) -> None:
    """Trials of the study's design are simulated and analysed as the report does, for a grid of sizes and effects.

    Looks and their early ends are simulated too. Finished points are kept in STUDY-power.jsonl; after Ctrl-C, the same
    command with `--resume` goes on from there. Figures are shares of simulated trials, with Monte Carlo intervals.
    """
    from app.analysis.trial.planned_design import chosen_hypotheses, plan_of
    from app.analysis.trial.power_plan import PowerOptions, plan_power

    require_folder(to)
    found = load_study(study)
    plan = plan_of(found)
    given = {
        "baseline": baseline, "sd": sd, "icc_participant": icc_participant, "icc_question": icc_question,
        "dropout": dropout, "covariate_r2": covariate_r2,
    }  # fmt: skip
    assumed = {name: value for name, value in given.items() if value is not None}
    chosen = chosen_hypotheses(plan, hypotheses or ())
    _one_outcome(chosen, assumed)
    trial, tried = _try_out(found, plan)
    pilot = _pilot(found, plan, source)
    options = PowerOptions(assumed, answers, questions, tuple(sizes or ()), tuple(effects or ()), runs, seed)
    planned = [plan_power(found, plan, one, tried, pilot, options) for one in chosen]
    results = _run(planned, workers or os.cpu_count() or 1, Path(f"{found.name}-power.jsonl"), resume)
    costs = _Costs(trial, pilot.minutes or trial.typical_minutes, reward, found.file.currency)
    if to is not None:
        _write_figure(results, to)
    if as_json:
        print_json(_as_data(found, results, costs, options))
        return
    for one in results:
        _print(one, costs)
    _print_notes(trial, to)


def _one_outcome(chosen: Sequence[Hypothesis], assumed: Mapping[str, float]) -> None:
    """Raise TrialError where a baseline or deviation is given for several outcomes."""
    if len({one.outcome for one in chosen}) > 1 and assumed.keys() & {"baseline", "sd"}:
        raise TrialError(
            "--baseline and --sd hold for one outcome, and these hypotheses have several. Name one with --hypothesis: "
            f"{', '.join(one.id for one in chosen)}."
        )


def _try_out(study: Study, plan: Plan) -> tuple[DryRunResult, TrialData]:
    """What simulated people found, and their answers."""
    from app.analysis.trial.outcomes import read_trial

    read: list[TrialData] = []

    def keep(database: Database) -> None:
        read.append(read_trial(database, study.name, Origin.BOT, _complete_cases(plan)))

    return asyncio.run(estimate_by_simulation(study, TRIED, REPLY_TOKENS, keep)), read[0]


def _pilot(study: Study, plan: Plan, source: str) -> Pilot:
    """Where the assumptions are from."""
    from app.analysis.trial.looks import locked_for
    from app.analysis.trial.outcomes import read_trial
    from app.analysis.trial.power_plan import Pilot, release

    if not source:
        return Pilot()
    database = existing_database(settings_in_use())
    if why := locked_for(database, study.name, source, "", SystemClock().now_us()):
        raise TrialError(f"--from {source}: {why} Take the assumptions from a pilot: --from pilot")
    if source in ORIGINS:
        return Pilot(sessions=read_trial(database, study.name, source, _complete_cases(plan)))
    return Pilot(release=release(database, source))


def _complete_cases(plan: Plan) -> Plan:
    """The plan with each answer as a row."""
    return plan.model_copy(update={"missing": "complete-cases"})


def _run(planned: Sequence[HypothesisPower], workers: int, store: Path, resume: bool) -> list[HypothesisPower]:
    """Simulate all grids, with a progress bar; exits with 130 after Ctrl-C."""
    from app.analysis.trial.power import run_grid

    if not resume:
        store.unlink(missing_ok=True)
    points = [point for one in planned for point in one.grid]
    try:
        with _bar(len(points)) as advance:
            results = iter(run_grid(points, workers=workers, store=store, progress=lambda _: advance()))
    except KeyboardInterrupt:
        err.print(f"Stopped. Finished points are in {store}; the same command with --resume goes on from there.")
        raise typer.Exit(INTERRUPTED) from None
    return [replace(one, points=tuple(next(results) for _ in one.grid)) for one in planned]


@contextmanager
def _bar(total: int) -> Iterator[Callable[[], None]]:
    columns = TextColumn("Simulating"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn()
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task("", total=total)
        yield lambda: bar.advance(task)


@dataclass(frozen=True, slots=True)
class _Costs:
    """What a number of participants costs and takes: models as simulated participants call them, and the median minutes
    of complete sessions of the pilot, or of simulated participants."""

    trial: DryRunResult
    minutes: float
    reward: float | None
    currency: str

    def of(self, participants: int) -> dict[str, Any]:
        """Models' cost, hours of participants, and the sum of rewards; None for what is not known."""
        return {
            "model_cost": participants * fmean(self.trial.costs),
            "hours": participants * self.minutes / 60,
            "rewards": None if self.reward is None else participants * self.reward,
        }


def _write_figure(results: Sequence[HypothesisPower], to: Path) -> None:
    from app.analysis.report.svg_power import power_figure

    panels = {one.hypothesis.id: one.points for one in results}
    with writing(to) as file:
        file.write(power_figure(panels, {one.hypothesis.id: one.effects[0] for one in results}).encode())


def _as_data(study: Study, results: Sequence[HypothesisPower], costs: _Costs, options: PowerOptions) -> dict[str, Any]:
    whole = {"study": study.name, "hash": study.hash, "runs": options.runs, "seed": options.seed}
    return {**whole, "currency": costs.currency, "hypotheses": [_hypothesis_data(one, costs) for one in results]}


def _hypothesis_data(one: HypothesisPower, costs: _Costs) -> dict[str, Any]:
    looks = one.design.looks and one.design.looks.model_dump(mode="json")
    points = [
        asdict(point) | {"power": point.power, "low": point.interval[0], "high": point.interval[1]}
        for point in one.points
    ]
    needed = [
        {"effect": effect, "power": power, **asdict(need)}
        | (costs.of(need.participants) if need.participants is not None else {})
        for effect, power, need in one.needed()
    ]
    return {
        "id": one.hypothesis.id,
        "assumptions": asdict(one.assumed),
        "design": asdict(one.design) | {"looks": looks},
        "null_effect": one.effects[0],
        "points": points,
        "needed": needed,
    }


def _print(one: HypothesisPower, costs: _Costs) -> None:
    """Print the powers of a hypothesis, and the numbers of participants for 80 and 90 %."""
    assumed, design = one.assumed, one.design
    spread = "" if assumed.sd is None else f", standard deviation {assumed.sd:g}"
    explained = f", {assumed.covariate_r2:.3g} of it explained by covariates" if design.covariates else ""
    missing = "; a participant without any answer counts as all wrong" if design.missing == "worst-case" else ""
    out.print(f"[bold]{escape(one.hypothesis.id)}[/bold]: {escape(one.hypothesis.claim)}", highlight=False)
    out.print(
        f"Baseline {assumed.baseline:.3g}{spread}; of the variance {assumed.icc_participant:.3g} between participants, "
        f"{assumed.icc_question:.3g} between questions{explained}; drop-out {assumed.dropout:.3g}; {design.answers} "
        f"answers each, {design.questions} questions; alpha {design.alpha:.3g}{missing}.",
        highlight=False,
    )
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("participants", justify="right")
    for effect in one.effects:
        table.add_column(f"effect {effect:g}" + (" (null)" if effect == one.effects[0] else ""), justify="right")
    wanted = one.effects[:2][-1]
    if design.looks is not None:
        table.add_column(f"mean end, effect {wanted:g}", justify="right")
    by = {(point.participants, point.effect): point for point in one.points}
    for size in sorted({point.participants for point in one.points}):
        cells = [_cell(by[size, effect]) for effect in one.effects]
        looked = [f"{by[size, wanted].mean_participants:,.0f}"] if design.looks is not None else []
        table.add_row(f"{size:,}", *cells, *looked)
    out.print(table)
    for effect, power, need in one.needed():
        out.print(_need(effect, power, need, costs), highlight=False)
    out.print()


def _print_notes(trial: DryRunResult, to: Path | None) -> None:
    if trial.unpriced:
        out.print(f"[yellow]Costs lack models without a `price`: {escape(', '.join(trial.unpriced))}.[/yellow]")
    if to is not None:
        out.print(f"{to}: the figure", highlight=False)


def _cell(point: PowerPoint) -> str:
    low, high = point.interval
    return f"{100 * point.power:.1f} % [dim]({100 * low:.1f} to {100 * high:.1f})[/dim]"


def _need(effect: float, power: float, need: ParticipantsNeeded, costs: _Costs) -> str:
    number, aim = need.participants, f"Effect {effect:g}, power {100 * power:.0f} %:"
    if number is None:
        return f"{aim} more participants than simulated; give a larger -n."
    if need.at_most:
        return f"{aim} at most {how_many(number, 'participant')}, the smallest number simulated; give a smaller -n."
    cost = costs.of(number)
    paid = "" if cost["rewards"] is None else f", {cost['rewards']:,.2f} {costs.currency} of rewards"
    return (
        f"{aim} [bold]{how_many(number, 'participant')}[/bold], {how_many(round(cost['hours']), 'hour')}, "
        f"{cost['model_cost']:,.2f} {costs.currency} for models{paid}."
    )
