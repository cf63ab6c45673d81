"""A batch run at the command line, with its progress."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from app.batch.plan import RunProgress
from app.cli.common import finish
from app.cli.printing import progress_bar

Result = TypeVar("Result")


def run_batch(study: str, work: Callable[[Callable[[RunProgress], None]], Coroutine[Any, Any, Result]]) -> Result:
    with progress_bar(transient=False) as bar:
        task = bar.add_task(study, total=None)

        def tell(progress: RunProgress) -> None:
            counts = {"refused": progress.refused, "failed": progress.failed, "were there": progress.reused}
            words = ", ".join([study, *(f"{number:,} {what}" for what, number in counts.items() if number)])
            bar.update(task, description=words, completed=progress.done + progress.failed, total=progress.samples)

        return finish(work(tell))
