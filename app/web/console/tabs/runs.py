"""Runs: simulations, rehearsals, models alone, annotations and imports, with what each takes and its result; costs."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, get_args

import gradio as gr
from gradio.components import Component

from app.ai_alone.methods import registry as methods
from app.ai_alone.plan import AiAloneRequest, models_of, possible
from app.annotation.annotators.registry import ANNOTATORS
from app.batch.plan import RunLimits
from app.errors import ArgumentInvalid, NotAllowed
from app.use_cases import model_runs
from app.use_cases.costs import REPLY_TOKENS, By, told_costs
from app.use_cases.imports import plan_import, run_import
from app.use_cases.rehearse import RehearsalRequest, plan_rehearsal, play, remove
from app.use_cases.rehearse import takes as rehearsal_takes
from app.use_cases.simulate import SimulationProgress, free_run, simulate
from app.use_cases.tables import Told, tables
from app.web.console.context import ConsoleContext
from app.web.console.current_user import CurrentUser
from app.web.console.formatting import WHOSE, origin
from app.web.console.long_work import BUSY, Planned, Work, own
from app.web.console.security import MOST_RELEASED
from app.web.console.study_tab.base import runnable
from app.web.console.tab import LocationValues, TabLocation, dropdown, html_part, text
from app.web.console.uploads import released_files
from app.web.console.work_view import WorkView
from experiments.errors import NotPossible
from experiments.plural import count
from experiments.study.sections.annotators import AnnotatorSpec
from experiments.study.study import Study
from storage.ai_alone.model_use import annotated_by
from storage.log.rehearsals import rehearsed_sessions
from storage.registers.origins import Origin
from storage.schemas.registry import schemas

# What is run, in words; what it takes; and how it is done, or None if it cannot be.
Planning = tuple[str, Told, Callable[[Work], Told] | None]
WANTED = "type a number above 0, or leave it empty"
Given = dict[str, Any]


@dataclass(frozen=True, slots=True)
class RunField:
    """A field of a run's form. What may be empty is a text: an empty number of Gradio's shows 0."""

    key: str
    label: str
    kind: Literal["whole", "most", "amount", "line", "tick", "list", "lists", "html"]
    begins: Any = ""
    most: int = 10_000
    least: int = 1

    def read(self, value: Any) -> Any:
        """The value from a browser; raises ArgumentInvalid."""
        typed = text(value).strip()
        match self.kind:
            case "whole" if isinstance(value, int) and self.least <= value <= self.most:
                return value
            case "tick":
                return value is True
            case "lists":
                return tuple(map(text, value)) if isinstance(value, list) else ()
            case "most" | "amount" if not typed:
                return None
            case "most" if re.fullmatch(r"[1-9][0-9]{0,8}", typed):
                return int(typed)
            case "amount" if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,6})?", typed):
                return float(typed)
            case "line" | "list":
                return typed
            case _:
                pass
        allowed = f"type a whole number from {self.least:,} to {self.most:,}" if self.kind == "whole" else WANTED
        raise ArgumentInvalid(f"{self.label}: {allowed}.")

    def component(self, elem_id: str) -> Component:
        match self.kind:
            case "whole":
                label = f"{self.label} ({self.least:,} to {self.most:,})"
                return gr.Number(label=label, precision=0, elem_id=elem_id)
            case "tick":
                return gr.Checkbox(label=self.label, elem_id=elem_id)
            case "html":
                return html_part(elem_id=elem_id)
            case "list" | "lists":
                return dropdown(self.label, free=True, multiselect=self.kind == "lists", elem_id=elem_id)
            case _:
                return gr.Textbox(label=self.label, max_lines=1, max_length=60, elem_id=elem_id)


def own_annotators(study: Study | None) -> Mapping[str, AnnotatorSpec]:
    return (study.file.annotators if study else None) or {}


@dataclass(frozen=True, slots=True)
class Run:
    """A form, and the planning of its values: in words, the cost, and the work for LongWork (None if impossible)."""

    name: str
    label: str
    plan: Callable[[ConsoleContext, CurrentUser, str, Given], Planning]
    fields: Sequence[RunField] = ()
    own: bool = False
    """True if it is of a user, and of no study."""


def simulation(context: ConsoleContext, user: CurrentUser, study: str, given: Given) -> Planning:
    run = free_run(runnable(context, study), given["count"], given["seed"])

    def do(work: Work) -> Told:
        return asyncio.run(
            simulate(context.database, context.settings, SimulationProgress(run, work.tell, work.stopped))
        )

    takes = Told([f"Of the version {run.study.hash[:12]}. It calls no model that costs."])
    return f"{run.count} with the seed {run.seed}", takes, do


def rehearsal(context: ConsoleContext, user: CurrentUser, study: str, given: Given) -> Planning:
    request = RehearsalRequest(over_s=60 * given.pop("over"), **given)
    plan = plan_rehearsal(context.database, context.secret, context.studies.newest(study), request)
    address = context.settings.address

    def do(work: Work) -> Told:
        return asyncio.run(play(context.database, address, plan, work.tell, work.stopped))

    takes = asyncio.run(rehearsal_takes(plan, address, scripted=request.scripted))
    return f"{plan.people} simulated participants", takes, do


def removal(context: ConsoleContext, user: CurrentUser, study: str, given: Given) -> Planning:
    def do(work: Work) -> Told:
        return remove(context.database, study, user.name, context.clock)

    there = len(rehearsed_sessions(context.database, study))
    return study, Told([f"{count(there, 'session')} would be removed, with all their data."]), do


def alone(context: ConsoleContext, user: CurrentUser, study: str, given: Given) -> Planning:
    database, settings, found = context.database, context.settings, context.studies.newest(study)
    budget, ways = given.pop("budget"), given.pop("methods") or methods.RELEASED
    request = AiAloneRequest(methods=ways, **given)
    plan = asyncio.run(model_runs.plan_alone(database, settings, found, request))

    def do(work: Work) -> Told:
        limits = RunLimits(budget=budget)
        told = model_runs.told_run(
            asyncio.run(model_runs.ask_alone(database, settings, plan, limits, work.tell, work.stopped))
        )
        return Told(told.sentences, {**told.rows, "answers": model_runs.alone_rows(database, study)})

    takes = model_runs.takes(database, plan.run, REPLY_TOKENS, found, budget)
    return f"each question {request.repeats:,} times", takes, do


def annotating(context: ConsoleContext, user: CurrentUser, study: str, given: Given) -> Planning:
    database, found = context.database, context.study(study)
    wanted = model_runs.wanted_annotators(found, given["names"], given["model"], own_annotators(found))
    plan = model_runs.plan_annotating(database, study, found, wanted, given["origin"] or None)
    known, limits = (database, context.settings, context.sessions), RunLimits(budget=given["budget"])

    def do(work: Work) -> Told:
        return asyncio.run(model_runs.annotate(*known, plan, limits, work.tell, work.stopped))

    return ", ".join(given["names"]), plan.takes(database, given["budget"], origin(plan.origin)), do


def importing(context: ConsoleContext, user: CurrentUser, study: str, given: Given) -> Planning:
    paths = released_files(context, user)
    if not paths:
        raise ArgumentInvalid("Choose the files of the release first.")
    plan = plan_import(context.database, given["schema"], paths, given["study"])

    def do(work: Work) -> Told:
        if gone := [path.name for path in paths if not path.exists()]:
            raise NotPossible(f"{', '.join(gone)}: removed since this was shown. Choose the files again.")
        sizes, read = [path.stat().st_size for path in paths], dict.fromkeys(paths, 0)

        def tell(path: Path, done: int) -> None:
            work.tell_whole(sum((read | {path: done}).values()), sum(sizes), "bytes")

        told = run_import(context.database, plan, tell)
        for path in paths:
            path.unlink(missing_ok=True)
        return told

    return f"{plan.schema} into {plan.study}", plan.told, None if plan.wrong else do


SIMULATED = "Simulated participants"
SCRIPTED = "The scripted model replies in place of the study’s, which costs nothing"
FIDELITY = "Measure how far replies keep the study’s fidelity rules: so many participants an arm, who all stay"
EXTRACTOR = "Model that reads answers out of free text (the study’s if empty)"
SEED = RunField("seed", "Seed", "line", "1")
BUDGET = RunField("budget", "Budget (none if empty)", "amount")
RUNS = (
    Run(
        *("simulate", "Simulate participants", simulation),
        (RunField("count", SIMULATED, "whole", 10, most=500), SEED),
    ),
    Run(
        *("rehearse", "Rehearse the day", rehearsal),
        (
            RunField("people", SIMULATED, "whole", 20),
            RunField("over", "They arrive within so many minutes", "whole", 60, least=0),
            RunField("speed", "Times as fast as people", "whole", 20, most=1_000),
            SEED,
            RunField("scripted", SCRIPTED, "tick", begins=True),
            RunField("fidelity", FIDELITY, "tick", begins=False),
        ),
    ),
    Run("remove", "Remove rehearsed sessions", removal),
    Run(
        *("alone", "Ask models alone", alone),
        (
            RunField("models", "Models (all if empty)", "lists"),
            RunField("methods", "How to ask", "lists"),
            RunField("repeats", "Times each question is asked", "whole", 50),
            RunField("most", "Questions of each dataset (all if empty)", "most"),
            RunField("extractor", EXTRACTOR, "list"),
            BUDGET,
        ),
    ),
    Run(
        *("annotate", "Annotate conversations", annotating),
        (
            RunField("names", "Annotators", "lists"),
            RunField("model", "Model", "list"),
            RunField("origin", "Conversations of", "list"),
            BUDGET,
        ),
    ),
    Run(
        *("import", "Import released data", importing),
        (
            RunField("schema", "Dataset", "list"),
            RunField("study", "Study to import into (named as the dataset if empty)", "line"),
            RunField("files", "", "html"),
        ),
        own=True,
    ),
)


def offered(study: Study | None) -> Mapping[str, tuple[Sequence[Any], Any]]:
    models, own = list(study.file.models) if study else [], list(own_annotators(study))
    return {
        "models": (list(models_of(study)) if study else [], []),
        "methods": (methods.names(), list(possible(study)) if study else []),
        "extractor": (models, None),
        "names": ([*ANNOTATORS.all(), *own], own),
        "model": (models, None),
        "origin": (
            [("The first of participants, imported and simulated", ""), *((WHOSE[one], one) for one in Origin)],
            "",
        ),
        "schema": (sorted(schemas()), min(schemas())),
    }


class RunsTab:
    name = "runs"
    label = "Runs"

    def __init__(self, context: ConsoleContext, location: TabLocation) -> None:
        self._context, self._location = context, location
        self._runs = {run.name: run for run in RUNS}
        self._view = WorkView(context, self._runs, self.name)
        self._fields: dict[tuple[str, str], Component] = {}
        self._given: dict[str, tuple[Any, ...]] = {}
        """By user, the values in the form when the estimate was shown."""
        self.outputs: list[Any] = []

    def build(self) -> None:
        self._head = html_part(elem_id="runs-head")
        self._columns: dict[str, gr.Column] = {}
        with gr.Column(visible=False, elem_classes="asks", elem_id="runs-form") as self._form:
            choices = [(run.label, run.name) for run in RUNS]
            self._kind = gr.Radio(choices=choices, value=choices[0][1], label="What to run", elem_id="runs-kind")
            for name, run in self._runs.items():
                with gr.Column(visible=name == choices[0][1], elem_id=f"runs-{name}") as self._columns[name]:
                    for _, several in groupby(run.fields, lambda field: field.kind in ("tick", "html")):
                        with gr.Row():
                            for field in several:
                                self._fields[name, field.key] = field.component(f"{name}-{field.key}")
                    if name == "import":
                        self._remove = gr.Button(
                            "Remove these files", visible=False, size="sm", elem_id="release-remove"
                        )
            show = gr.Button("Show what it takes", size="sm", elem_id="runs-show")
            with gr.Column(visible=False, elem_id="runs-plan") as self._asked:
                self._takes = html_part(elem_id="runs-takes")
                self._begin = start = gr.Button("Start", size="sm", variant="primary", elem_id="runs-start")
        # Not within the form: what is hidden there comes to light with it.
        self._token = gr.Textbox(visible="hidden", elem_id="runs-token")
        sent = gr.Button("Uploaded", visible="hidden", elem_id="release-sent")
        self._view.build()
        self._by = gr.Radio(choices=list(get_args(By)), value="model", label="Costs by", elem_id="runs-by")
        self._costs = html_part(elem_id="runs-costs")
        plan, every, study = (
            [self._asked, self._takes, self._token, start],
            [*self._fields.values()],
            self._location.study,
        )
        self.outputs = [self._head, self._form, self._kind, *self._columns.values(), *every, *plan, *self._view.outputs]
        self.outputs += [self._remove, self._by, self._costs]
        on, files = self._context.bind, [self._fields["import", "files"], self._remove, *plan]
        typed = [field.input for field in every if not isinstance(field, gr.HTML)]  # type: ignore[attr-defined]
        on(self._kind.input, self._choose, [self._kind], [*self._columns.values(), *plan], owner=True)
        on(typed, self._typed, [self._token, self._kind, *every], plan, owner=True, quiet=True)
        on(sent.click, self._sent, [], files, owner=True)
        on(self._remove.click, self._remove_files, [], files, owner=True)
        on(show.click, self._plan, [study, self._kind, *every], plan, owner=True)
        followed = [*self._view.outputs, self._costs, study]
        on(start.click, self._start, [study, self._token, self._by], [*plan, *followed], owner=True)
        self._view.wire(study, self._look, followed, [self._by])
        on(self._by.input, self._cost, [study, self._by], [self._costs])

    def paint(self, user: CurrentUser, location: LocationValues) -> Mapping[Any, Any]:
        study, first = self._context.study(location.study), RUNS[0].name
        lists = offered(study)
        values: dict[Any, Any] = {
            self._fields[run.name, field.key]: gr.update(choices=lists[field.key][0], value=lists[field.key][1])
            if field.key in lists
            else field.begins
            for run in RUNS
            for field in run.fields
        }
        return {
            self._head: self._context.html("runs_head.html.j2", owner=user.owner),
            self._form: gr.update(visible=user.owner),
            self._kind: first,
            **self._choose(user, first),
            **values,
            **self._sent(user),
            **self._view.look(user, location.study),
            self._by: "model",
            **self._cost(user, location.study, "model"),
        }

    def _sent(self, user: CurrentUser) -> dict[Any, Any]:
        """Show the files that a user sent to be imported; an earlier estimate was of others."""
        files = [(path.name, path.stat().st_size) for path in released_files(self._context, user)]
        return {
            self._fields["import", "files"]: self._context.html(
                "import_files.html.j2", files=files, largest=MOST_RELEASED
            ),
            self._remove: gr.update(visible=bool(files)),
            **self._nothing(),
        }

    def _remove_files(self, user: CurrentUser) -> dict[Any, Any]:
        for work in self._context.work.of(own(user)):
            if work.running:
                raise NotAllowed(BUSY.format(work.about))
        for path in released_files(self._context, user):
            path.unlink(missing_ok=True)
        return self._sent(user)

    def _nothing(self) -> dict[Any, Any]:
        return {self._asked: gr.update(visible=False), self._takes: "", self._token: ""}

    def _typed(self, user: CurrentUser, token: str, *given: Any) -> dict[Any, Any]:
        """Hide the estimate once the form says something else; Gradio also sends this later than a field's blur."""
        return self._nothing() if token and self._given.get(user.name) != given else {}

    def _look(self, user: CurrentUser, study: str, by: Any) -> dict[Any, Any]:
        """Show the running work; once it has ended, its cost, and its new studies in the picker."""
        shown = self._view.look(user, study)
        if shown[self._view.timer]["active"]:
            return shown
        names = gr.update(choices=self._context.names())
        return {**shown, **self._cost(user, study, by), self._location.study: names}

    def _choose(self, user: CurrentUser, chosen: str) -> dict[Any, Any]:
        shown = {column: gr.update(visible=name == chosen) for name, column in self._columns.items()}
        return {**shown, **self._nothing()}

    def _plan(self, user: CurrentUser, study: str, chosen: str, *values: Any) -> Mapping[Any, Any]:
        run = self._runs.get(chosen)
        if run is None:
            raise ArgumentInvalid("Choose what to run.")
        given = {key: value for (name, key), value in zip(self._fields, values, strict=True) if name == chosen}
        read = {field.key: field.read(given[field.key]) for field in run.fields if field.kind != "html"}
        what, takes, do = run.plan(self._context, user, study, read)
        about = f"{run.label}: {what}"
        self._given[user.name] = (chosen, *values)
        token = self._context.work.show(user, Planned(chosen, own(user) if run.own else study, about, do)) if do else ""
        return {
            self._asked: gr.update(visible=True),
            self._takes: self._context.html("runs_plan.html.j2", about=about, tables=tuple(tables(takes))),
            self._token: token,
            self._begin: gr.update(visible=bool(do)),
        }

    def _start(self, user: CurrentUser, study: str, token: str, by: Any) -> Mapping[Any, Any]:
        work = self._context.work.confirm(user, token)
        self._context.audit(user, f"started: {work.about}", work.study)
        return {**self._nothing(), **self._look(user, study, by)}

    def _cost(self, user: CurrentUser, study: str, by: Any) -> Mapping[Any, Any]:
        found = self._context.study(study)
        if found is None:
            return {self._costs: ""}
        database = self._context.database
        told = told_costs(database, found, by if by in get_args(By) else "model")
        rows = {
            **told.rows,
            "answers of models alone": model_runs.alone_rows(database, study),
            "annotations": annotated_by(database, study),
        }
        found_tables = tuple(tables(Told(told.sentences, rows)))
        return {self._costs: self._context.html("as_tables.html.j2", of="Costs", tables=found_tables)}
