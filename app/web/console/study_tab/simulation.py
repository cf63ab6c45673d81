"""Simulate: participants of chance go through a study."""

from __future__ import annotations

from typing import Any

import gradio as gr
from gradio.components import Component

from app.bots.run_many import StoppedSession
from app.bots.simulate import SimulatedSession
from app.use_cases.simulate import MOST_IN_CONSOLE, SimulationProgress, free_run, simulate
from app.web.console.context import ConsoleContext
from app.web.console.current_user import CurrentUser
from app.web.console.long_work import Planned, Work
from app.web.console.study_tab.base import Updates
from app.web.console.tab import html_part, text
from app.web.console.work_view import WorkView
from experiments.study.study import Study

KIND = "simulate"
MOST_TOLD = 5


class SimulationPanel:
    def __init__(self, context: ConsoleContext) -> None:
        self._context = context
        self.view = WorkView(context, [KIND], "simulation")

    def build(self) -> None:
        with gr.Column(visible=False, elem_classes="asks", elem_id="simulation-form") as self._form:
            html_part(self._context.html("study_simulate.html.j2", most=MOST_IN_CONSOLE))
            with gr.Row():
                self._count = gr.Number(label="Simulated participants", precision=0, elem_id="simulation-count")
                self._seed = gr.Textbox(label="Seed", max_lines=1, max_length=60, elem_id="simulation-seed")
                self.go = gr.Button("Simulate", size="sm", elem_id="simulation-go")
        self.view.build()
        self.sent: list[Component] = [self._count, self._seed]
        self.outputs: list[Component] = [self._form, *self.sent, *self.view.outputs]

    def paint(self, user: CurrentUser, name: str, study: Study | None) -> Updates:
        values = {self._count: 10, self._seed: "1"}
        shown = gr.update(visible=study is not None and user.owner)
        return {self._form: shown, **values, **self.view.look(user, name)}

    def start(self, user: CurrentUser, study: Study, number: Any, seed: Any) -> Updates:
        run = free_run(study, number if isinstance(number, int) else 0, text(seed).strip())
        progress = SimulationProgress(run.count, len(run.study.waves))

        async def do(work: Work) -> Any:
            def ended(session: SimulatedSession | StoppedSession) -> None:
                progress.add(session)
                work.tell(progress.done, progress.total)

            await simulate(self._context.database, self._context.settings, run, ended)
            stopped = [f"{one.stream} stopped: {one.why}" for one in progress.stopped[:MOST_TOLD]]
            return {"simulated": str(progress), "seed": run.seed, "stopped": stopped}

        about = f"Simulated {run.count} participants with the seed {run.seed}"
        self._context.work.start(user, Planned(KIND, study.name, about, None, do))
        self._context.audit(user, about, study.name)
        return self.view.look(user, study.name)
