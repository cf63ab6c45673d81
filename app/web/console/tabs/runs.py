"""Runs: models alone, annotations, rehearsals and imports, with what each takes before and its result after; costs."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import gradio as gr
from gradio.components import Component

from app.ai_alone.methods import registry as methods
from app.ai_alone.plan import AiAloneRequest, models_of
from app.annotation.annotators.registry import ANNOTATORS
from app.batch.plan import RunLimits, RunProgress
from app.bots.rehearse import RehearsalProgress
from app.errors import ArgumentInvalid
from app.use_cases.costs import REPLY_TOKENS, cost_tables, expected_costs
from app.use_cases.model_runs import (
    ANNOTATION_TOKENS,
    alone_rows,
    annotate,
    ask_alone,
    costs_of,
    plan_alone,
    plan_annotating,
    shown_run,
    wanted_annotators,
)
from app.use_cases.rehearse import RehearsalRequest, plan_rehearsal, play, remove
from app.use_cases.simulate import calls_servers
from app.use_cases.tables import tables
from app.web.console.context import ConsoleContext
from app.web.console.current_user import CurrentUser
from app.web.console.formatting import WHOSE
from app.web.console.long_work import Planned, Work
from app.web.console.security import MOST_RELEASED
from app.web.console.tab import LocationValues, TabLocation, dropdown, html_part, text
from app.web.console.uploads import released_files
from app.web.console.work_view import WorkView
from experiments.study.study import Study
from storage.ai_alone.model_use import annotated_by
from storage.datasets.imports.importer import import_files
from storage.errors import StorageError
from storage.log.rehearsals import rehearsed_sessions
from storage.registers.origins import Origin
from storage.registers.studies import Studies
from storage.schemas.registry import schemas

ANY_ORIGIN = ("The first of people, imported and simulated", "")
BYS = {"model": "model", "condition": "condition", "participant": "participant"}


def whole(value: Any, label: str, least: int, most: int) -> int:
    """A whole number from a browser; raises ArgumentInvalid."""
    if not isinstance(value, int) or not least <= value <= most:
        raise ArgumentInvalid(f"{label}: type a whole number from {least:,} to {most:,}.")
    return value


def limits_of(budget: Any) -> RunLimits:
    if budget is not None and budget < 0:
        raise ArgumentInvalid("Budget: type an amount from 0 up, or leave it empty for none.")
    return RunLimits(budget=budget)


def texts(value: Any) -> tuple[str, ...]:
    return tuple(map(text, value)) if isinstance(value, list) else ()


def telling(work: Work) -> Any:
    """How far a run of models is. It is stopped by asking, so that what is on its way is kept."""

    def tell(progress: RunProgress) -> None:
        work.done, work.total = progress.done + progress.failed, progress.samples

    return tell


class RunKind:
    """A kind of run: its form, and what it does with it."""

    name = label = ""

    def __init__(self, context: ConsoleContext) -> None:
        self._context = context
        self.shown: list[Component] = []
        """What is painted beside the form's fields."""

    def build(self) -> list[Component]:
        """The fields of the form, in the order of `plan`'s values."""
        raise NotImplementedError

    def paint(self, user: CurrentUser, study: Study | None) -> Mapping[Component, Any]:
        return {}

    def plan(self, user: CurrentUser, study: str, *values: Any) -> Planned:
        """What the form asks for; raises ParleyError if that cannot be."""
        raise NotImplementedError


class AskAlone(RunKind):
    name, label = "alone", "Ask models alone"

    def build(self) -> list[Component]:
        with gr.Row():
            self._models = dropdown("Models (all if empty)", free=True, multiselect=True, elem_id="alone-models")
            self._methods = dropdown("How to ask", multiselect=True, elem_id="alone-methods")
        with gr.Row():
            self._repeats = gr.Number(label="Times each question is asked", precision=0, elem_id="alone-repeats")
            self._most = gr.Number(label="Questions of each dataset (all if empty)", precision=0, elem_id="alone-most")
            self._budget = gr.Number(label="Budget (none if empty)", elem_id="alone-budget")
        return [self._models, self._methods, self._repeats, self._most, self._budget]

    def paint(self, user: CurrentUser, study: Study | None) -> Mapping[Component, Any]:
        return {
            self._models: gr.update(choices=list(models_of(study)) if study else [], value=[]),
            self._methods: gr.update(choices=list(methods.names()), value=list(methods.RELEASED)),
            self._repeats: 50,
            self._most: None,
            self._budget: None,
        }

    def plan(self, user: CurrentUser, study: str, *values: Any) -> Planned:
        models, how, repeats, most, budget = values
        database, settings, found = self._context.database, self._context.settings, self._context.studies.newest(study)
        request = AiAloneRequest(
            models=texts(models),
            methods=texts(how) or methods.RELEASED,
            repeats=whole(repeats, "Times each question is asked", 1, 10_000),
            most=None if most is None else whole(most, "Questions of each dataset", 1, 1_000_000),
        )
        plan, limits = asyncio.run(plan_alone(database, settings, found, request)), limits_of(budget)

        async def do(work: Work) -> Any:
            result = await ask_alone(database, settings, plan, limits, telling(work), work.stopped)
            return {**shown_run(result), "answers": alone_rows(database, study)}

        takes = costs_of(database, plan.run, REPLY_TOKENS, found.file.currency)
        return Planned(self.name, study, f"{self.label}: {request.repeats} times", {**takes, "budget": budget}, do)


class Annotate(RunKind):
    name, label = "annotate", "Annotate conversations"

    def build(self) -> list[Component]:
        with gr.Row():
            self._names = dropdown("Annotators", multiselect=True, elem_id="annotate-names")
            self._model = dropdown("Model", free=True, elem_id="annotate-model")
            self._origin = dropdown("Conversations of", elem_id="annotate-origin")
            self._budget = gr.Number(label="Budget (none if empty)", elem_id="annotate-budget")
        return [self._names, self._model, self._origin, self._budget]

    def paint(self, user: CurrentUser, study: Study | None) -> Mapping[Component, Any]:
        own = study.file.annotators or {} if study else {}
        origins = [ANY_ORIGIN, *((WHOSE[name], name) for name in Origin)]
        return {
            self._names: gr.update(choices=[*ANNOTATORS.all(), *own], value=list(own)),
            self._model: gr.update(choices=list(study.file.models) if study else [], value=None),
            self._origin: gr.update(choices=origins, value=""),
            self._budget: None,
        }

    def plan(self, user: CurrentUser, study: str, *values: Any) -> Planned:
        names, model, origin, budget = values
        context, found = self._context, self._context.study(study)
        own = found.file.annotators or {} if found else {}
        wanted = wanted_annotators(found, texts(names), text(model), own)
        plan = plan_annotating(context.database, study, found, wanted, text(origin) or None)
        limits = limits_of(budget)

        async def do(work: Work) -> Any:
            database, settings = context.database, context.settings
            return await annotate(database, settings, context.sessions, plan, limits, telling(work), work.stopped)

        costs = costs_of(context.database, plan.run, ANNOTATION_TOKENS, found.file.currency if found else "")
        about = f"{self.label}: {', '.join(texts(names))}"
        return Planned(self.name, study, about, {**plan.shown, **costs, "budget": budget}, do)


class Rehearse(RunKind):
    name, label = "rehearse", "Rehearse the day"

    def build(self) -> list[Component]:
        with gr.Row():
            self._people = gr.Number(label="Simulated participants", precision=0, elem_id="rehearse-people")
            self._over = gr.Number(label="They arrive within so many minutes", precision=0, elem_id="rehearse-over")
            self._speed = gr.Number(label="Times as fast as people", precision=0, elem_id="rehearse-speed")
            self._seed = gr.Textbox(label="Seed", max_lines=1, max_length=60, elem_id="rehearse-seed")
        self._scripted = gr.Checkbox(
            label="The scripted model replies in place of the study’s, which costs nothing", elem_id="rehearse-scripted"
        )
        self._fidelity = gr.Checkbox(
            label="Measure fidelity: so many participants an arm, who all stay", elem_id="rehearse-fidelity"
        )
        return [self._people, self._over, self._speed, self._seed, self._scripted, self._fidelity]

    def paint(self, user: CurrentUser, study: Study | None) -> Mapping[Component, Any]:
        rules = bool(study and study.file.fidelity)
        return {
            self._people: 20,
            self._over: 60,
            self._speed: 20,
            self._seed: "1",
            self._scripted: True,
            self._fidelity: gr.update(value=False, visible=rules),
        }

    def plan(self, user: CurrentUser, study: str, *values: Any) -> Planned:
        people, over, speed, seed, scripted, fidelity = values
        context, found = self._context, self._context.studies.newest(study)
        minutes, speed = whole(over, "Minutes", 0, 10_000), whole(speed, "Times as fast as people", 1, 1000)
        number = whole(people, "Simulated participants", 1, 10_000)
        request = RehearsalRequest(number, speed, minutes * 60, text(seed).strip(), bool(scripted), bool(fidelity))
        plan = plan_rehearsal(context.database, context.secret, found, request)
        progress, free = RehearsalProgress(), bool(scripted) or not calls_servers(found)

        async def do(work: Work) -> Any:
            def tell(now: RehearsalProgress) -> None:
                work.done, work.total = now.done, len(plan.visits)

            return await play(context.database, context.settings.address, plan, progress, tell, work.stopped)

        costs = {} if free else asyncio.run(expected_costs(found, len(plan.visits)))
        takes = {"participants": len(plan.visits), "at_the_server": context.settings.address, "cost": 0, **costs}
        return Planned(self.name, study, f"{self.label}: {plan.people} simulated participants", takes, do)


class RemoveRehearsal(RunKind):
    name, label = "remove", "Remove rehearsed sessions"

    def build(self) -> list[Component]:
        html_part('<p class="lead">All rehearsed sessions of the study, with all their data.</p>')
        return []

    def plan(self, user: CurrentUser, study: str, *values: Any) -> Planned:
        context = self._context

        async def do(work: Work) -> Any:
            return remove(context.database, study, user.name, context.clock)

        takes = {"sessions_to_be_removed": len(rehearsed_sessions(context.database, study))}
        return Planned(self.name, study, self.label, takes, do)


class Import(RunKind):
    name, label = "import", "Import released data"

    def build(self) -> list[Component]:
        with gr.Row():
            self._schema = dropdown("Dataset", elem_id="import-schema")
            self._study = gr.Textbox(label="Study to import into (the dataset’s name if empty)", elem_id="import-study")
        self._upload = html_part(elem_id="import-files")
        self.sent = gr.Button("Uploaded", visible="hidden", elem_id="release-sent")
        self._context.bind(self.sent.click, lambda user: {self._upload: self._files(user)}, [], [self._upload])
        self.shown = [self._upload]
        return [self._schema, self._study]

    def paint(self, user: CurrentUser, study: Study | None) -> Mapping[Component, Any]:
        names = sorted(schemas())
        return {
            self._schema: gr.update(choices=names, value=names[0]),
            self._study: "",
            self._upload: self._files(user),
        }

    def _files(self, user: CurrentUser) -> str:
        files = [(path.name, path.stat().st_size) for path in released_files(self._context, user)]
        return self._context.html("import_files.html.j2", files=files, largest=MOST_RELEASED)

    def plan(self, user: CurrentUser, study: str, *values: Any) -> Planned:
        schema, typed = map(text, values)
        context, paths, name = self._context, released_files(self._context, user), typed.strip() or schema
        if not paths:
            raise ArgumentInvalid("Choose the files of the release first.")
        if not typed.strip() and Studies(context.database).has(name):
            raise StorageError(
                f"This database has a study {name!r} already. Type the name of the study to import into."
            )
        total = sum(path.stat().st_size for path in paths)

        async def do(work: Work) -> Any:
            before = {path: 0 for path in paths}

            def tell(path: Any, done: int) -> None:
                before[path] = done
                work.tell(sum(before.values()), total)

            done = import_files(context.database, schema, paths, name, tell)
            for path in paths:
                path.unlink(missing_ok=True)
            return [{"file": one.path.name, "rows": one.rows, "new": one.new} for one in done]

        takes = {"into_the_study": name, "files": [path.name for path in paths], "bytes": total}
        return Planned(self.name, "", f"{self.label}: {schema} into {name}", takes, do)


KINDS = (AskAlone, Annotate, Rehearse, RemoveRehearsal, Import)


class RunsTab:
    name = "runs"
    label = "Runs"

    def __init__(self, context: ConsoleContext, location: TabLocation) -> None:
        self._context, self._location = context, location
        self._kinds: list[RunKind] = [kind(context) for kind in KINDS]
        self._view = WorkView(context, [kind.name for kind in self._kinds], "runs")
        self.outputs: list[Any] = []

    def build(self) -> None:
        html_part(self._context.html("runs_head.html.j2"))
        self._columns: list[gr.Column] = []
        fields: list[list[Component]] = []
        with gr.Column(visible=False, elem_classes="asks", elem_id="runs-form") as self._form:
            choices = [(kind.label, kind.name) for kind in self._kinds]
            self._kind = gr.Radio(choices=choices, value=self._kinds[0].name, label="What to run", elem_id="runs-kind")
            for kind in self._kinds:
                with gr.Column(visible=kind is self._kinds[0], elem_id=f"runs-{kind.name}") as column:
                    fields.append(kind.build())
                self._columns.append(column)
            self._show = gr.Button("Show what it takes", size="sm", elem_id="runs-show")
            self._token = gr.Textbox(visible="hidden", elem_id="runs-token")
            with gr.Column(visible=False, elem_id="runs-plan") as self._asked:
                self._takes = html_part(elem_id="runs-takes")
                self._start = gr.Button("Start", size="sm", variant="primary", elem_id="runs-start")
        self._view.build()
        self._by = gr.Radio(choices=[*BYS], value="model", label="Costs by", elem_id="runs-by")
        self._costs = html_part(elem_id="runs-costs")
        self._fields = fields
        plan = [self._asked, self._takes, self._token]
        self.outputs = [self._form, self._kind, *self._columns, *(one for several in fields for one in several)]
        self.outputs += [*plan, *self._view.outputs, self._by, self._costs]
        self.outputs += [part for kind in self._kinds for part in kind.shown]
        self._wire(plan)

    def _wire(self, plan: Sequence[Any]) -> None:
        on, study = self._context.bind, self._location.study
        every = [one for several in self._fields for one in several]
        on(self._kind.input, self._choose, [self._kind], [*self._columns, *plan], owner=True)
        changed = [one.input for one in every]  # type: ignore[attr-defined]
        on(changed, lambda user: self._nothing(), [], plan, owner=True, quiet=True)
        on(self._show.click, self._plan, [study, self._kind, *every], plan, owner=True)
        view = self._view
        on(self._start.click, self._confirm, [study, self._token], [*plan, *view.outputs], owner=True)
        view.wire(study)
        on(self._by.input, self._cost, [study, self._by], [self._costs])

    def paint(self, user: CurrentUser, location: LocationValues) -> Mapping[Any, Any]:
        study, first = self._context.study(location.study), self._kinds[0].name
        return {
            self._form: gr.update(visible=user.owner),
            self._kind: first,
            **self._choose(user, first),
            **{part: value for kind in self._kinds for part, value in kind.paint(user, study).items()},
            **self._view.look(user, location.study),
            self._by: "model",
            **self._cost(user, location.study, "model"),
        }

    def _nothing(self) -> dict[Any, Any]:
        return {self._asked: gr.update(visible=False), self._takes: "", self._token: ""}

    def _choose(self, user: CurrentUser, chosen: str) -> dict[Any, Any]:
        shown = zip(self._columns, self._kinds, strict=True)
        return {**{column: gr.update(visible=kind.name == chosen) for column, kind in shown}, **self._nothing()}

    def _plan(self, user: CurrentUser, study: str, chosen: str, *values: Any) -> Mapping[Any, Any]:
        rest = iter(values)
        given = [[next(rest) for _ in several] for several in self._fields]
        kind, own = next(
            (one for one in zip(self._kinds, given, strict=True) if one[0].name == chosen), (self._kinds[0], given[0])
        )
        planned = kind.plan(user, study, *own)
        takes = self._context.html("runs_plan.html.j2", about=planned.about, tables=tuple(tables(planned.takes)))
        token = self._context.work.show(user, planned)
        return {self._asked: gr.update(visible=True), self._takes: takes, self._token: token}

    def _confirm(self, user: CurrentUser, study: str, token: str) -> Mapping[Any, Any]:
        work = self._context.work.confirm(user, token)
        self._context.audit(user, f"started: {work.about}", work.study)
        return {**self._nothing(), **self._view.look(user, study)}

    def _cost(self, user: CurrentUser, study: str, by: Any) -> Mapping[Any, Any]:
        found = self._context.study(study)
        if found is None:
            return {self._costs: ""}
        data: dict[str, Any] = cost_tables(self._context.database, found, by if by in BYS else "model")
        data |= {"answers_of_models_alone": alone_rows(self._context.database, study)}
        data |= {"annotations": annotated_by(self._context.database, study)}
        return {self._costs: self._context.html("as_tables.html.j2", tables=tuple(tables(data)))}
