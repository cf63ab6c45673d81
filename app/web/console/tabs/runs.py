"""Runs: simulations, rehearsals, models alone, annotations and imports, with what each takes and its result; costs."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from itertools import groupby
from math import inf
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args

import gradio as gr
from gradio.components import Component

from app.ai_alone.methods import registry as methods
from app.ai_alone.plan import AiAloneRequest, models_of, possible
from app.annotation.annotators.registry import ANNOTATORS
from app.batch.plan import RunLimits, RunProgress
from app.bots.rehearse import RehearsalProgress
from app.bots.run_many import StoppedSession
from app.bots.simulate import SimulatedSession
from app.errors import ArgumentInvalid
from app.use_cases import model_runs
from app.use_cases.costs import REPLY_TOKENS, By, cost_tables, expected_costs
from app.use_cases.rehearse import RehearsalRequest, plan_rehearsal, play, remove
from app.use_cases.simulate import MOST_IN_CONSOLE, SimulationProgress, calls_servers, free_run, simulate
from app.use_cases.tables import tables
from app.web.console.context import ConsoleContext
from app.web.console.current_user import CurrentUser
from app.web.console.formatting import WHOSE
from app.web.console.long_work import Planned, Work, own
from app.web.console.security import MOST_RELEASED
from app.web.console.study_tab.base import runnable
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

MOST_TOLD = 5
ANY_ORIGIN = ("The first of participants, imported and simulated", "")
Given = Mapping[str, Any]
FieldKind = Literal["number", "line", "tick", "list", "lists", "html"]
# The key, label and kind of a field.
Field = tuple[str, str, FieldKind]
# What may be empty is a line: an empty number of Gradio's shows 0.
BUDGET: Field = ("budget", "Budget (none if empty)", "line")


def whole(given: Given, key: str, label: str, least: int, most: int) -> int:
    """A whole number from a browser; raises ArgumentInvalid."""
    if not isinstance(value := given[key], int) or not least <= value <= most:
        raise ArgumentInvalid(f"{label}: type a whole number from {least:,} to {most:,}.")
    return value


def most_of(given: Given) -> int | None:
    typed = text(given["most"]).strip()
    if typed and not re.fullmatch(r"[1-9][0-9]{0,8}", typed):
        raise ArgumentInvalid("Questions of each dataset: type a whole number from 1, or leave it empty for all.")
    return int(typed) if typed else None


def limits(given: Given) -> RunLimits:
    typed = text(given["budget"]).strip()
    try:
        budget = float(typed) if typed else None
    except ValueError:
        budget = -1
    if budget is not None and not 0 <= budget < inf:
        raise ArgumentInvalid("Budget: type an amount from 0 up, or leave it empty for none.")
    return RunLimits(budget=budget)


def texts(value: Any) -> tuple[str, ...]:
    return tuple(map(text, value)) if isinstance(value, list) else ()


def telling(work: Work) -> Callable[[RunProgress], None]:
    def tell(progress: RunProgress) -> None:
        work.done, work.total = progress.done + progress.failed, progress.samples

    return tell


class RunKind:
    """A kind of run: its form, and what it does with what is given there."""

    name: ClassVar[str]
    label: ClassVar[str]
    fields: ClassVar[tuple[Field, ...]] = ()

    def __init__(self, context: ConsoleContext) -> None:
        self._context = context

    def begins(self, user: CurrentUser, study: Study | None) -> Given:
        """The values with which the form begins; of lists the choices and the value."""
        return {}

    def plan(self, user: CurrentUser, study: str, given: Given) -> Planned:
        """What the form asks for; raises ParleyError if that cannot be."""
        raise NotImplementedError


class AskAlone(RunKind):
    name, label = "alone", "Ask models alone"
    fields = (
        ("models", "Models (all if empty)", "lists"),
        ("methods", "How to ask", "lists"),
        ("repeats", "Times each question is asked", "number"),
        ("most", "Questions of each dataset (all if empty)", "line"),
        ("extractor", "Model that reads answers out of free text (the study’s if empty)", "list"),
        BUDGET,
    )

    def begins(self, user: CurrentUser, study: Study | None) -> Given:
        models = list(models_of(study)) if study else []
        asked = [*possible(study)] if study else []
        every = list(study.file.models) if study else []
        ways = {"methods": (list(methods.names()), asked), "extractor": (every, None)}
        return {"models": (models, []), **ways, "repeats": 50, "most": "", "budget": ""}

    def plan(self, user: CurrentUser, study: str, given: Given) -> Planned:
        database, settings, found = self._context.database, self._context.settings, self._context.studies.newest(study)
        request = AiAloneRequest(
            models=texts(given["models"]),
            methods=texts(given["methods"]) or methods.RELEASED,
            repeats=whole(given, "repeats", "Times each question is asked", 1, 10_000),
            most=most_of(given),
            extractor=text(given["extractor"]),
        )
        plan, limited = asyncio.run(model_runs.plan_alone(database, settings, found, request)), limits(given)

        async def do(work: Work) -> Any:
            ended = await model_runs.ask_alone(database, settings, plan, limited, telling(work), work.stopped)
            return {**model_runs.shown_run(ended), "answers": model_runs.alone_rows(database, study)}

        takes = model_runs.costs_of(database, plan.run, REPLY_TOKENS, found.file.currency)
        about = f"{self.label}, each question {request.repeats} times"
        return Planned(self.name, study, about, {**takes, "budget": limited.budget}, do)


class Annotate(RunKind):
    name, label = "annotate", "Annotate conversations"
    fields = (
        ("names", "Annotators", "lists"),
        ("model", "Model", "list"),
        ("origin", "Conversations of", "list"),
        BUDGET,
    )

    def begins(self, user: CurrentUser, study: Study | None) -> Given:
        own = list(study.file.annotators or ()) if study else []
        origins = [ANY_ORIGIN, *((WHOSE[name], name) for name in Origin)]
        models = list(study.file.models) if study else []
        return {
            "names": ([*ANNOTATORS.all(), *own], own),
            "model": (models, None),
            "origin": (origins, ""),
            "budget": "",
        }

    def plan(self, user: CurrentUser, study: str, given: Given) -> Planned:
        context, found, names = self._context, self._context.study(study), texts(given["names"])
        own = found.file.annotators or {} if found else {}
        wanted = model_runs.wanted_annotators(found, names, text(given["model"]), own)
        plan = model_runs.plan_annotating(context.database, study, found, wanted, text(given["origin"]) or None)
        limited = limits(given)

        async def do(work: Work) -> Any:
            known = context.database, context.settings, context.sessions
            return await model_runs.annotate(*known, plan, limited, telling(work), work.stopped)

        currency = found.file.currency if found else ""
        costs = model_runs.costs_of(context.database, plan.run, model_runs.ANNOTATION_TOKENS, currency)
        takes = {**plan.shown, **costs, "budget": limited.budget}
        return Planned(self.name, study, f"{self.label}: {', '.join(names)}", takes, do)


class Rehearse(RunKind):
    name, label = "rehearse", "Rehearse the day"
    fields = (
        ("people", "Simulated participants", "number"),
        ("over", "They arrive within so many minutes", "number"),
        ("speed", "Times as fast as people", "number"),
        ("seed", "Seed", "line"),
        ("scripted", "The scripted model replies in place of the study’s, which costs nothing", "tick"),
        ("fidelity", "Measure fidelity: so many participants an arm, who all stay", "tick"),
    )

    def begins(self, user: CurrentUser, study: Study | None) -> Given:
        return {"people": 20, "over": 60, "speed": 20, "seed": "1", "scripted": True, "fidelity": False}

    def plan(self, user: CurrentUser, study: str, given: Given) -> Planned:
        context, found, free = self._context, self._context.studies.newest(study), given["scripted"] is True
        request = RehearsalRequest(
            whole(given, "people", "Simulated participants", 1, 10_000),
            whole(given, "speed", "Times as fast as people", 1, 1000),
            whole(given, "over", "Minutes", 0, 10_000) * 60,
            text(given["seed"]).strip(),
            free,
            given["fidelity"] is True,
        )
        plan = plan_rehearsal(context.database, context.secret, found, request)
        address, left = context.settings.address, len(plan.visits)

        async def do(work: Work) -> Any:
            def tell(now: RehearsalProgress) -> None:
                work.done, work.total = now.done, left

            return await play(context.database, address, plan, RehearsalProgress(), tell, work.stopped)

        costs = asyncio.run(expected_costs(found, left)) if calls_servers(found) and not free else {"cost": 0}
        about = f"{self.label}: {plan.people} simulated participants"
        return Planned(self.name, study, about, {"participants": left, "at_the_server": address, **costs}, do)


class Simulate(RunKind):
    name, label = "simulate", "Simulate participants"
    fields = (("count", f"Simulated participants (at most {MOST_IN_CONSOLE})", "number"), ("seed", "Seed", "line"))

    def begins(self, user: CurrentUser, study: Study | None) -> Given:
        return {"count": 10, "seed": "1"}

    def plan(self, user: CurrentUser, study: str, given: Given) -> Planned:
        context, count = self._context, given["count"]
        run = free_run(runnable(context, study), count if isinstance(count, int) else 0, text(given["seed"]).strip())
        progress = SimulationProgress(run.count, len(run.study.waves))

        async def do(work: Work) -> Any:
            def ended(session: SimulatedSession | StoppedSession) -> None:
                progress.add(session)
                work.tell(progress.done, progress.total, "sessions")

            await simulate(context.database, context.settings, run, ended)
            stopped = [f"{one.stream}: {one.why}" for one in progress.stopped[:MOST_TOLD]]
            return {"simulated": str(progress), "stopped": stopped}

        about = f"{self.label}: {run.count} with the seed {run.seed}"
        return Planned(self.name, study, about, {"by_the_version": run.study.hash[:12], "cost": 0}, do)


class RemoveRehearsal(RunKind):
    name, label = "remove", "Remove rehearsed sessions"

    def plan(self, user: CurrentUser, study: str, given: Given) -> Planned:
        context = self._context

        async def do(work: Work) -> Any:
            return remove(context.database, study, user.name, context.clock)

        takes = {"sessions_to_be_removed_with_all_their_data": len(rehearsed_sessions(context.database, study))}
        return Planned(self.name, study, self.label, takes, do)


class Import(RunKind):
    name, label = "import", "Import released data"
    fields = (
        ("schema", "Dataset", "list"),
        ("study", "Study to import into (named as the dataset if empty)", "line"),
        ("files", "", "html"),
    )

    def begins(self, user: CurrentUser, study: Study | None) -> Given:
        files = [(path.name, path.stat().st_size) for path in released_files(self._context, user)]
        html = self._context.html("import_files.html.j2", files=files, largest=MOST_RELEASED)
        return {"schema": (sorted(schemas()), min(schemas())), "files": html}

    def plan(self, user: CurrentUser, study: str, given: Given) -> Planned:
        context, paths, schema = self._context, released_files(self._context, user), text(given["schema"])
        typed = text(given["study"]).strip()
        name, sizes = typed or schema, {path: path.stat().st_size for path in paths}
        if not paths:
            raise ArgumentInvalid("Choose the files of the release first.")
        if not typed and Studies(context.database).has(name):
            raise StorageError(f"This database has a study {name!r} already. Type the name of the one to import into.")

        async def do(work: Work) -> Any:
            read = dict.fromkeys(paths, 0)

            def tell(path: Path, done: int) -> None:
                work.tell(sum((read | {path: done}).values()), sum(sizes.values()), "bytes")

            done = import_files(context.database, schema, paths, name, tell)
            for path in paths:
                path.unlink(missing_ok=True)
            return [{"file": one.path.name, "rows": one.rows, "new": one.new} for one in done]

        takes = {"into_the_study": name, "bytes": {path.name: size for path, size in sizes.items()}}
        return Planned(self.name, own(user), f"{self.label}: {schema} into {name}", takes, do)


def component(field: Field, elem_id: str) -> Component:
    _, label, kind = field
    match kind:
        case "number":
            return gr.Number(label=label, precision=0, elem_id=elem_id)
        case "line":
            return gr.Textbox(label=label, max_lines=1, max_length=60, elem_id=elem_id)
        case "tick":
            return gr.Checkbox(label=label, elem_id=elem_id)
        case "html":
            return html_part(elem_id=elem_id)
        case _:
            return dropdown(label, free=True, multiselect=kind == "lists", elem_id=elem_id)


class RunsTab:
    name = "runs"
    label = "Runs"

    def __init__(self, context: ConsoleContext, location: TabLocation) -> None:
        self._context, self._location = context, location
        kinds = (Simulate, Rehearse, RemoveRehearsal, AskAlone, Annotate, Import)
        self._kinds: dict[str, RunKind] = {kind.name: kind(context) for kind in kinds}
        self._view = WorkView(context, self._kinds, self.name)
        self._fields: dict[tuple[str, str], Component] = {}
        self._given: dict[str, tuple[Any, ...]] = {}
        """By the user, what stood in the form when they were shown what it takes."""
        self.outputs: list[Any] = []

    def build(self) -> None:
        self._head = html_part(elem_id="runs-head")
        self._columns: dict[str, gr.Column] = {}
        with gr.Column(visible=False, elem_classes="asks", elem_id="runs-form") as self._form:
            choices = [(kind.label, name) for name, kind in self._kinds.items()]
            self._kind = gr.Radio(choices=choices, value=choices[0][1], label="What to run", elem_id="runs-kind")
            for name, kind in self._kinds.items():
                with gr.Column(visible=name == choices[0][1], elem_id=f"runs-{name}") as self._columns[name]:
                    for _, several in groupby(kind.fields, lambda field: field[2] in ("tick", "html")):
                        with gr.Row():
                            for field in several:
                                self._fields[name, field[0]] = component(field, f"{name}-{field[0]}")
            show = gr.Button("Show what it takes", size="sm", elem_id="runs-show")
            with gr.Column(visible=False, elem_id="runs-plan") as self._asked:
                self._takes = html_part(elem_id="runs-takes")
                start = gr.Button("Start", size="sm", variant="primary", elem_id="runs-start")
        # Not within the form: what is hidden there comes to light with it.
        self._token = gr.Textbox(visible="hidden", elem_id="runs-token")
        sent = gr.Button("Uploaded", visible="hidden", elem_id="release-sent")
        self._view.build()
        self._by = gr.Radio(choices=list(get_args(By)), value="model", label="Costs by", elem_id="runs-by")
        self._costs = html_part(elem_id="runs-costs")
        plan, every, study = [self._asked, self._takes, self._token], [*self._fields.values()], self._location.study
        self.outputs = [self._head, self._form, self._kind, *self._columns.values(), *every, *plan, *self._view.outputs]
        self.outputs += [self._by, self._costs]
        on, files = self._context.bind, self._fields["import", "files"]
        typed = [field.input for field in every if not isinstance(field, gr.HTML)]  # type: ignore[attr-defined]
        on(self._kind.input, self._choose, [self._kind], [*self._columns.values(), *plan], owner=True)
        on(typed, self._typed, [self._token, self._kind, *every], plan, owner=True, quiet=True)
        on(sent.click, lambda user: {files: self._kinds["import"].begins(user, None)["files"]}, [], [files], owner=True)
        on(show.click, self._plan, [study, self._kind, *every], plan, owner=True)
        on(start.click, self._start, [study, self._token], [*plan, *self._view.outputs], owner=True)
        self._view.wire(study, self._look, [*self._view.outputs, study])
        on(self._by.input, self._cost, [study, self._by], [self._costs])

    def paint(self, user: CurrentUser, location: LocationValues) -> Mapping[Any, Any]:
        study, first = self._context.study(location.study), next(iter(self._kinds))
        begins = {name: kind.begins(user, study) for name, kind in self._kinds.items()}
        values = {field: begins[name].get(key) for (name, key), field in self._fields.items()}
        lists = {field: value for field, value in values.items() if isinstance(value, tuple)}
        return {
            self._head: self._context.html("runs_head.html.j2", owner=user.owner),
            self._form: gr.update(visible=user.owner),
            self._kind: first,
            **self._choose(user, first),
            **values,
            **{field: gr.update(choices=choices, value=value) for field, (choices, value) in lists.items()},
            **self._view.look(user, location.study),
            self._by: "model",
            **self._cost(user, location.study, "model"),
        }

    def _nothing(self) -> dict[Any, Any]:
        return {self._asked: gr.update(visible=False), self._takes: "", self._token: ""}

    def _typed(self, user: CurrentUser, token: str, *given: Any) -> dict[Any, Any]:
        """What it takes is no longer shown once the form says something else. Gradio also sends this later than what
        a field was left for, and then what is shown is of what stands there."""
        return self._nothing() if token and self._given.get(user.name) != given else {}

    def _look(self, user: CurrentUser, study: str) -> dict[Any, Any]:
        """What is under way; once it has ended, the picker offers the studies that it brought."""
        shown = self._view.look(user, study)
        if shown[self._view.timer]["active"]:
            return shown
        return {**shown, self._location.study: gr.update(choices=self._context.names())}

    def _choose(self, user: CurrentUser, chosen: str) -> dict[Any, Any]:
        shown = {column: gr.update(visible=name == chosen) for name, column in self._columns.items()}
        return {**shown, **self._nothing()}

    def _plan(self, user: CurrentUser, study: str, chosen: str, *values: Any) -> Mapping[Any, Any]:
        if chosen not in self._kinds:
            raise ArgumentInvalid("Choose what to run.")
        given = {key: value for (name, key), value in zip(self._fields, values, strict=True) if name == chosen}
        planned = self._kinds[chosen].plan(user, study, given)
        takes = self._context.html("runs_plan.html.j2", about=planned.about, tables=tuple(tables(planned.takes)))
        self._given[user.name] = (chosen, *values)
        token = self._context.work.show(user, planned)
        return {self._asked: gr.update(visible=True), self._takes: takes, self._token: token}

    def _start(self, user: CurrentUser, study: str, token: str) -> Mapping[Any, Any]:
        work = self._context.work.confirm(user, token)
        self._context.audit(user, f"started: {work.about}", work.study)
        return {**self._nothing(), **self._view.look(user, study)}

    def _cost(self, user: CurrentUser, study: str, by: Any) -> Mapping[Any, Any]:
        found = self._context.study(study)
        if found is None:
            return {self._costs: ""}
        data = cost_tables(self._context.database, found, by if by in get_args(By) else "model")
        data |= {"answers_of_models_alone": model_runs.alone_rows(self._context.database, study)}
        data |= {"annotations": annotated_by(self._context.database, study)}
        return {self._costs: self._context.html("as_tables.html.j2", of="Costs", tables=tuple(tables(data)))}
