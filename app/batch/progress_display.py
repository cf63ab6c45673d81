"""The progress display of a run: a live line in a terminal, plain lines elsewhere, and a table at the end."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, TextColumn
from rich.progress import Progress as Bar
from rich.table import Table

from app.batch.plan import BUDGET, DONE, INTERRUPTED, ModelUsage, RunProgress, RunResult

LINE_S = 10.0
"""How often there is a line where nothing can move."""
WHY = {
    DONE: "Everything is asked.",
    BUDGET: "The budget bears no further call; the same command with a higher one goes on from here.",
    INTERRUPTED: "Stopped. What came is stored; the same command goes on from here.",
}


class ProgressDisplay:
    """Hears of progress (`run` calls it) and shows it."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar = Bar(
            TextColumn("{task.completed:,.0f} of {task.total:,.0f}"),
            BarColumn(bar_width=24),
            TextColumn("{task.description}"),
            console=console,
            transient=True,
        )
        self._task = self._bar.add_task("", total=0)
        self._next_s = time.monotonic() + LINE_S

    @contextmanager
    def showing(self) -> Iterator[ProgressDisplay]:
        if not self._console.is_terminal:
            yield self
            return
        with self._bar:
            yield self

    def __call__(self, progress: RunProgress) -> None:
        over = progress.done + progress.failed
        if self._console.is_terminal:
            self._bar.update(self._task, completed=over, total=progress.samples, description=line(progress))
        elif time.monotonic() >= self._next_s:
            self._next_s = time.monotonic() + LINE_S
            self._console.print(f"{over:,} of {progress.samples:,}  {line(progress)}", highlight=False)


def line(progress: RunProgress) -> str:
    """How far a run is, in a line: rate, what went wrong, cost, time left."""
    parts = [f"{progress.rate:,.1f}/s"]
    parts += [f"{progress.refused:,} refused"] * bool(progress.refused)
    parts += [f"{progress.failed:,} failed"] * bool(progress.failed)
    parts += [f"{progress.reused:,} were there"] * bool(progress.reused)
    parts += [f"{progress.tokens:,} tokens", f"cost {progress.cost:,.4f}"]
    if progress.seconds_left is not None:
        parts.append(f"{timedelta(seconds=round(progress.seconds_left))} left")
    return ", ".join(parts)


def summary(ended: RunResult) -> Table:
    """What a run did, a row for each model."""
    table = Table("model", "replies", "refused", "failed", "again", "tokens in", "out", "cost", box=SIMPLE_HEAD)
    table.pad_edge = False
    for column in table.columns[1:]:
        column.justify = "right"
        column.no_wrap = True
    for one in ended.models:
        table.add_row(*_cells(one))
    return table


def _cells(one: ModelUsage) -> tuple[str, ...]:
    counts = one.replies, one.refused, one.failed, one.retried, one.prompt_tokens, one.completion_tokens
    cost = "no price" if one.cost is None else f"{one.cost:,.4f}"
    return (one.label, *(f"{count:,}" for count in counts), cost)


def show_summary(console: Console, ended: RunResult) -> None:
    console.print(summary(ended))
    there = f", {ended.reused:,} samples were there" if ended.reused else ""
    failed = f", {ended.failed:,} failed: the same command asks for them again" if ended.failed else ""
    took = timedelta(seconds=round(ended.seconds))
    rate = ended.asked / ended.seconds if ended.seconds else 0.0
    console.print(f"{ended.asked:,} replies in {took} ({rate:,.1f}/s){there}{failed}.", highlight=False)
    for line in filter(None, [WHY.get(ended.why), *(one.stopped for one in ended.models)]):
        console.print(line, highlight=False, markup=False)
