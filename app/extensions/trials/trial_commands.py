"""`parley trial`: preregister, look, explain, and the power of a trial by simulating it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.bots.dry_run import estimate_by_simulation
from app.cli.commands import group
from app.cli.common import (
    INTERRUPTED,
    AsJson,
    StudyName,
    any_study,
    argument,
    existing_database,
    name_of,
    option,
    settings_in_use,
)
from app.cli.printing import echo, err, progress_bar, show
from app.clock import SystemClock
from app.config.secret import secret_for
from app.errors import TrialError
from app.extensions.analysis.reads.study_data import flow
from app.extensions.trials.reads.plan_events import record_preregistration, record_reason
from experiments.errors import suggestion
from experiments.study.study import Study
from storage.accounts.roles import TERMINAL
from storage.db.engine import Database
from storage.db.private_files import writing
from storage.registers.origins import ORIGINS, Origin
from storage.registers.study_versions import current, readable

if TYPE_CHECKING:  # the analysis is imported where it is needed, as that takes as long as all other imports
    from app.extensions.trials.outcomes import TrialData
    from app.extensions.trials.power_plan import HypothesisPower
    from experiments.study.sections.plan import Hypothesis, Plan

LOOKED = ("hypothesis", "claim", "effect", "low", "high", "p", "sides", "boundary", "crossed", "participants")
TRIED, REPLY_TOKENS = 20, 300
SHARES = ("icc_participant", "icc_question", "dropout")
ASSUMED = ("baseline", "sd", *SHARES)
commands = group("trial")
FROZEN = "study.json"


@commands.command("preregister")
def preregister(
    study: StudyName,
    to: Annotated[
        Path | None, option("-o --out FOLDER", "The folder for the files. Default: STUDY-preregistration.")
    ] = None,
    record: Annotated[
        bool, option("--record", "Record that this version is preregistered now, with the files' SHA-256.")
    ] = False,
) -> None:
    """Write the preregistration of a trial, and record it.

    The answers to OSF's form and AsPredicted's questions, the published study, and the analysis code. Send the texts to
    a registry, then run the command again with `--record`, which keeps what you changed in the folder, and what you
    added, such as a report of simulated data. From then on changes, exclusions, an early end and looks at an outcome
    are recorded.
    """
    database = existing_database()
    found = current(database, name_of(study))
    folder = to or Path(f"{found.name}-preregistration")
    if not (folder / FROZEN).exists():
        made = _files(database, found)
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in made.items():
            with writing(folder / name) as file:
                file.write(text.encode())
    elif not record:
        raise TrialError(f"{folder} is there already, and you may have changed its texts. Delete it, or choose --out.")
    elif (folder / FROZEN).read_text(encoding="utf-8") != f"{found.document}\n":
        raise TrialError(f"{folder} is of another version than the published one. Write it anew: delete it first.")
    files = sorted(file for file in folder.iterdir() if file.is_file())
    echo(f"{folder}: {', '.join(file.name for file in files)}")
    if not record:
        echo("Nothing was recorded. Once the texts are at a registry: the same command with --record.")
        return
    digests = {file.name: sha256(file.read_bytes()).hexdigest() for file in files}
    now_us = SystemClock().now_us()
    record_preregistration(database, found.name, found.hash, found.file.version, digests, at_us=now_us)
    echo(f"Recorded: version {found.file.version} ({found.hash[:12]}) is preregistered.")


def _files(database: Database, study: Study) -> Mapping[str, str]:
    from app.extensions.trials.preregistration import texts

    people, pilots = (flow(database, study.name, origin).arrived for origin in (Origin.PERSON, Origin.PILOT))
    named = texts(study, people, pilots, ["study.yaml", FROZEN, "analysis.py"])
    return {**named, "study.yaml": f"{readable(study)}\n", FROZEN: f"{study.document}\n"}


@commands.command("look")
def look_(
    study: StudyName,
    unblind: Annotated[bool, option("--unblind", "Name the groups before the last look; this is recorded.")] = False,
    as_json: AsJson = False,
) -> None:
    """Take the next look of the preregistered plan, once enough participants have completed. It is recorded.

    Groups are called A and B until the last look. A crossed boundary advises to stop; you decide (`parley recruit
    close`).
    """
    from app.extensions.trials.looks import look

    settings = settings_in_use()
    database = existing_database(settings)
    name = current(database, name_of(study)).name
    secret = secret_for(settings, database)
    taken, found = look(database, name, TERMINAL, SystemClock().now_us(), secret=secret, unblind=unblind)
    groups = "A minus B" if taken.result["blinded"] else "treatment minus control"
    results = [{field: getattr(one, field) for field in LOOKED} for one in found]
    show({"look": taken.number, "complete": taken.complete, "effect": groups, "hypotheses": results}, as_json)


@commands.command("explain")
def explain(
    study: StudyName,
    deviation: Annotated[str, argument("NAME", "A deviation, as `parley show deviations` names it.")],
    reason: Annotated[str, argument("REASON", "The reason, in a sentence.")],
) -> None:
    """Give the reason of a deviation from the preregistered plan; the report states it."""
    from app.extensions.trials.deviations import deviations

    database = existing_database()
    name = current(database, name_of(study)).name
    names = [one.name for one in deviations(database, name)]
    if deviation not in names:
        raise TrialError(f"{name} has no deviation {deviation!r}{suggestion(deviation, names)}")
    if not reason.strip():
        raise TrialError("Give the reason for the deviation from the plan, in a sentence.")
    record_reason(database, name, deviation, reason.strip(), at_us=SystemClock().now_us())


@commands.command("power")
def power(
    study: Annotated[
        str,
        argument(
            "STUDY", "A study file with a `plan:`, or the name of a study that comes with Parley or is in the database."
        ),
    ],
    hypotheses: Annotated[
        list[str] | None, option("--hypothesis ID", "Only this hypothesis. Can be repeated. Default: all primary.")
    ] = None,
    source: Annotated[
        str,
        option("--from ORIGIN", "Take the assumptions from this study's sessions in the database: pilot, person, bot."),
    ] = "",
    assume: Annotated[
        list[str] | None,
        option(
            "--assume NAME=VALUE",
            "Assume this value, as in `sd=1.5`; can be repeated. baseline: the control's mean, or its share; sd: the "
            "standard deviation of numeric answers; icc_participant and icc_question: the share of the variance "
            "between participants and between questions; dropout: the share of participants who drop out.",
        ),
    ] = None,
    answers: Annotated[
        int | None, option("--answers N", "Answers of a participant. Default: as the study asks.", min=1)
    ] = None,
    questions: Annotated[
        int | None, option("--questions N", "Number of questions. Default: as simulated people get.", min=1)
    ] = None,
    sizes: Annotated[
        list[int] | None, option("-n --participants N", "A number of participants. Can be repeated.", min=4)
    ] = None,
    effects: Annotated[
        list[float] | None, option("--effect EFFECT", "A true effect, in the outcome's unit. Can be repeated.")
    ] = None,
    runs: Annotated[int, option("--runs N", "Simulated trials a point.", min=20, max=1_000_000)] = 1000,
    seed: Annotated[int, option("--seed SEED", "The same seed gives the same numbers.", min=0)] = 1,
    workers: Annotated[
        int | None, option("--workers N", "Processes. Default: one for each core.", min=1, max=256)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compute the power of a trial: trials of the study's design are simulated and analysed as the report does, for a
    grid of sizes and effects.

    Looks and their early ends are simulated too. Figures are shares of simulated trials, with Monte Carlo intervals.
    """
    from app.extensions.trials.power_plan import PowerOptions, chosen_hypotheses, plan_of, plan_power

    found = any_study(study)
    plan = plan_of(found)
    assumed = _assumed(assume or ())
    chosen = chosen_hypotheses(plan, hypotheses or ())
    _one_outcome(chosen, assumed)
    tried, pilot = _try_out(found, plan), _pilot(found, plan, source)
    options = PowerOptions(assumed, answers, questions, tuple(sizes or ()), tuple(effects or ()), runs, seed)
    planned = [plan_power(found, plan, one, tried, pilot, options) for one in chosen]
    results = _run(planned, workers or os.cpu_count() or 1)
    hypotheses_ = [_hypothesis_data(one) for one in results]
    whole = {"study": found.name, "hash": found.hash, "runs": options.runs, "seed": options.seed}
    if as_json:
        show({**whole, "hypotheses": hypotheses_}, as_json)
        return
    show(whole, as_json)
    for one in hypotheses_:
        show(_tables(one), as_json)


def _assumed(told: Sequence[str]) -> dict[str, float]:
    """The assumptions of `sd=1.5`; raises TrialError."""
    found = {}
    for text in told:
        name, _, value = text.partition("=")
        if name not in ASSUMED:
            raise TrialError(f"--assume {text}: {name!r} is not an assumption{suggestion(name, ASSUMED)}")
        try:
            found[name] = float(value)
        except ValueError:
            raise TrialError(f"--assume {text}: give a number, as in --assume {name}=0.5") from None
        if name in SHARES and not 0 <= found[name] <= 1:
            raise TrialError(f"--assume {text}: a share is from 0 to 1")
    return found


def _one_outcome(hypotheses: Sequence[Hypothesis], assumed: Mapping[str, float]) -> None:
    """Raise TrialError where a baseline or deviation is given for several outcomes."""
    if len({one.outcome for one in hypotheses}) > 1 and assumed.keys() & {"baseline", "sd"}:
        raise TrialError(
            "A baseline and an sd hold for one outcome, and these hypotheses have several. Name one with --hypothesis: "
            f"{', '.join(one.id for one in hypotheses)}."
        )


def _try_out(study: Study, plan: Plan) -> TrialData:
    from app.extensions.trials.outcomes import read_trial

    read: list[TrialData] = []

    def keep(database: Database) -> None:
        read.append(read_trial(database, study.name, Origin.BOT, _complete_cases(plan)))

    asyncio.run(estimate_by_simulation(study, TRIED, REPLY_TOKENS, keep))
    return read[0]


def _pilot(study: Study, plan: Plan, source: str) -> TrialData | None:
    from app.extensions.trials.outcome_lock import locked_for
    from app.extensions.trials.outcomes import read_trial

    if not source:
        return None
    if source not in ORIGINS:
        raise TrialError(f"--from {source}: it is not an origin of sessions{suggestion(source, ORIGINS)}")
    database = existing_database()
    if why := locked_for(database, study.name, source, TERMINAL, SystemClock().now_us()):
        raise TrialError(f"--from {source}: {why} Take the assumptions from a pilot: --from pilot")
    return read_trial(database, study.name, source, _complete_cases(plan))


def _complete_cases(plan: Plan) -> Plan:
    return plan.model_copy(update={"missing": "complete-cases"})


def _run(powers: Sequence[HypothesisPower], workers: int) -> list[HypothesisPower]:
    from app.extensions.trials.power import run_grid

    points = [point for one in powers for point in one.grid]
    try:
        with progress_bar() as bar:
            task = bar.add_task("Simulating", total=len(points))
            results = iter(run_grid(points, workers=workers, progress=lambda _: bar.advance(task)))
    except KeyboardInterrupt:
        err.print("Stopped. Fewer runs, sizes or effects take less time.")
        raise typer.Exit(INTERRUPTED) from None
    return [replace(one, points=tuple(next(results) for _ in one.grid)) for one in powers]


def _hypothesis_data(hypothesis_power: HypothesisPower) -> dict[str, Any]:
    looks = hypothesis_power.design.looks and hypothesis_power.design.looks.model_dump(mode="json")
    points = [
        asdict(point) | {"power": point.power, "low": point.interval[0], "high": point.interval[1]}
        for point in hypothesis_power.points
    ]
    needed = [{"effect": effect, "power": power, **asdict(need)} for effect, power, need in hypothesis_power.needed()]
    return {
        "id": hypothesis_power.hypothesis.id,
        "claim": hypothesis_power.hypothesis.claim,
        "assumptions": asdict(hypothesis_power.assumed),
        "design": asdict(hypothesis_power.design) | {"looks": looks},
        "null_effect": hypothesis_power.effects[0],
        "points": points,
        "needed": needed,
    }


def _tables(hypothesis: Mapping[str, Any]) -> dict[str, Any]:
    by_size: dict[int, dict[str, Any]] = {}
    for one in hypothesis["points"]:
        row = by_size.setdefault(one["participants"], {"participants": one["participants"]})
        low, high = 100 * one["low"], 100 * one["high"]
        row[f"effect {one['effect']:g}"] = f"{100 * one['power']:.1f} % ({low:.1f} to {high:.1f})"
    return {**hypothesis, "points": [by_size[size] for size in sorted(by_size)]}
