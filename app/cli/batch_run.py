"""A batch run at the command line: its progress, and what became of it."""

from __future__ import annotations

from dataclasses import asdict
from datetime import timedelta

from app.batch.plan import BUDGET, DONE, INTERRUPTED, RunLimits, RunPlan, RunProgress, RunResult
from app.batch.runner import run
from app.cli.common import finish
from app.cli.printing import echo, progress_bar, show, warn
from app.config.settings import Settings
from storage.db.engine import Database

WHY = {
    DONE: "Everything is asked.",
    BUDGET: "The budget bears no further call; the same command with a higher one goes on from here.",
    INTERRUPTED: "Stopped. What came is stored; the same command goes on from here.",
}


def run_batch(database: Database, settings: Settings, plan: RunPlan, limits: RunLimits) -> RunResult:
    with progress_bar(transient=False) as bar:
        task = bar.add_task(plan.study, total=None)

        def tell(progress: RunProgress) -> None:
            counts = {"refused": progress.refused, "failed": progress.failed, "were there": progress.reused}
            words = ", ".join([plan.study, *(f"{number:,} {what}" for what, number in counts.items() if number)])
            bar.update(task, description=words, completed=progress.done + progress.failed, total=progress.samples)

        return finish(run(database, settings, plan, limits, tell))


def show_run(result: RunResult) -> None:
    show([{name: value for name, value in asdict(one).items() if name != "stopped"} for one in result.models], False)
    there = f", {result.progress.reused:,} samples were there" if result.progress.reused else ""
    failed = (
        f", {result.progress.failed:,} failed: the same command asks for them again" if result.progress.failed else ""
    )
    rate = result.asked / result.seconds if result.seconds else 0.0
    echo(f"{result.asked:,} replies in {timedelta(seconds=round(result.seconds))} ({rate:,.1f}/s){there}{failed}.")
    if result.why in WHY:
        echo(WHY[result.why])
    for one in result.models:
        if one.stopped:
            warn(one.stopped)
