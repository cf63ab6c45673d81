"""Simulate: participants of chance go through a study in a thread of the console, one run at a time."""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import gradio as gr
from gradio.components import Component

from app.bots.run_many import SimulationRun
from app.errors import NotAllowed
from app.use_cases.simulate import MOST_IN_CONSOLE, SimulationProgress, free_run, simulate
from app.web.console.context import ConsoleContext
from app.web.console.current_user import CurrentUser
from app.web.console.study_tab.base import Updates
from app.web.console.tab import html_part, text
from experiments.study.study import Study
from problems.errors import ParleyError

log = logging.getLogger(__name__)
ASK_S = 1
BROKEN = "The simulation failed; the console's log has the cause. Its sessions are kept."


@dataclass(frozen=True, slots=True)
class _Job:
    run: SimulationRun
    progress: SimulationProgress
    task: Future[None]

    @property
    def running(self) -> bool:
        return not self.task.done()

    @property
    def fault(self) -> str:
        error = None if self.running else self.task.exception()
        return str(error) if isinstance(error, ParleyError) else BROKEN if error else ""


class SimulationPanel:
    def __init__(self, context: ConsoleContext) -> None:
        self._context = context
        self._jobs: dict[str, _Job] = {}
        self._pool = ThreadPoolExecutor(1, "parley-simulation")

    def build(self) -> None:
        with gr.Column(visible=False, elem_classes="asks", elem_id="simulation-form") as self._form:
            html_part(self._context.html("study_simulate.html.j2", most=MOST_IN_CONSOLE))
            with gr.Row():
                self._count = gr.Number(label="Simulated participants", precision=0, elem_id="simulation-count")
                self._seed = gr.Textbox(label="Seed", max_lines=1, max_length=60, elem_id="simulation-seed")
                self.go = gr.Button("Simulate", size="sm", elem_id="simulation-go")
        self._said = html_part(elem_id="simulation-said")
        self.timer = gr.Timer(ASK_S, active=False)
        self.sent: list[Component] = [self._count, self._seed]
        self.shown: list[Component] = [self._said, self.timer]
        self.outputs: list[Component] = [self._form, *self.sent, *self.shown]

    def paint(self, user: CurrentUser, name: str, study: Study | None) -> Updates:
        values = {self._count: 10, self._seed: "1"}
        return {self._form: gr.update(visible=study is not None and user.owner), **values, **self.look(name)}

    def look(self, name: str) -> Updates:
        job = self._jobs.get(name)
        html = self._context.html("study_simulated.html.j2", job=job) if job else ""
        return {self._said: html, self.timer: gr.update(active=job is not None and job.running)}

    def start(self, user: CurrentUser, study: Study, number: Any, seed: Any) -> Updates:
        run = free_run(study, number if isinstance(number, int) else 0, text(seed).strip())
        if (before := self._jobs.get(study.name)) and before.running:
            raise NotAllowed("A simulation of this study is running. Wait until it has ended.")
        progress = SimulationProgress(run.count, len(run.study.waves))
        task = self._pool.submit(self._play, run, progress)
        task.add_done_callback(_log_failure)
        self._jobs[study.name] = _Job(run, progress, task)
        self._context.audit(user, f"simulated {run.count} participants with the seed {run.seed}", study.name)
        return self.look(study.name)

    def _play(self, run: SimulationRun, progress: SimulationProgress) -> None:
        asyncio.run(simulate(self._context.database, self._context.settings, run, progress.add))


def _log_failure(task: Future[None]) -> None:
    if error := task.exception():
        log.error("a simulation failed", exc_info=error)
