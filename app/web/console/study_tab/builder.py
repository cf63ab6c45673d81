"""Build step by step: a form of what most studies need, and beside it the study file that it writes, and its check.

The form writes the file; it never reads one. Its button makes a draft of the file, and from then on the editor's text
is the study.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import gradio as gr
from gradio.components import Component
from pydantic import ValidationError

from app.backends.model_ref import ModelRef
from app.backends.providers import PROVIDERS
from app.backends.registry import asks_servers, configuration_errors
from app.errors import SettingsError
from app.studies.builder import (
    MOST_MODELS,
    SHOWN,
    Answers,
    BuilderCheck,
    FieldIssue,
    FormField,
    check_answers,
    form_fields,
    model_specs,
    server_choices,
)
from app.studies.drafts import NAME, save_draft
from app.studies.loader import FILE
from app.studies.outline import outline
from app.web.console.context import ConsoleContext
from app.web.console.current_user import CurrentUser
from app.web.console.study_tab.base import TESTING, Updates, new_name, tested
from app.web.console.tab import dropdown, html_part, meanwhile, text
from experiments.study.sections.model_spec import ModelSpec
from problems.errors import ParleyError

UNNAMED = "new-study"
LINES: Mapping[str, int] = {"consent": 6, "instructions": 4}
KEPT = "(name, ...values) => [name, ...window.parleyConsole.keptAnswers(values)]"
KEEP = "(...values) => { window.parleyConsole.keepAnswers(values); return []; }"
# The page keeps the answers, so that a reload loses none, until a study is made of them, which clears its name.
FORGET = "(name) => { if (!name) window.parleyConsole.keepAnswers([]); return []; }"


@dataclass(frozen=True, slots=True)
class StudiesBeside:
    """The parts of the tab to which the form is wired; `title` and `tabs` are hidden while it is open."""

    start: gr.Button
    name: gr.Textbox
    study: Component
    title: gr.HTML
    tabs: gr.Tabs
    created: Callable[[CurrentUser, str], Updates]
    back: Callable[[CurrentUser, str], Updates]
    outputs: Sequence[Component]


class StudyBuilder:
    """The form of `form_fields`: its components by the fields' keys, and the rows that may be hidden by name."""

    def __init__(self, context: ConsoleContext) -> None:
        self._context = context
        self._fields: dict[str, Any] = {}
        self._rows: dict[str, Any] = {}
        self._hints: list[gr.HTML] = []

    def build(self) -> None:
        fields = form_fields(self._context.settings.server_names)
        begins = {field.key: field.value for field in fields}
        parts = list(dict.fromkeys(field.part for field in fields))
        with gr.Column(visible=False, elem_id="builder") as self.panel:
            html_part(self._context.html("builder_head.html.j2"))
            with gr.Row(elem_id="builder-row"):
                with gr.Column(scale=3, min_width=300, elem_id="builder-form"):
                    for number, part in enumerate(parts, 1):
                        with gr.Column(elem_classes="part", elem_id=f"part-{number}"):
                            html_part(f"<h3>{number}. {part}</h3>")
                            among = (field for field in fields if field.part == part)
                            for row, beside in groupby(among, lambda field: field.row):
                                self._build_row(row, list(beside), begins)
                            if part == "Models":
                                self._test = gr.Button("Test models", size="sm", elem_id="b-test")
                                self._tested = html_part(elem_id="b-tested")
                with gr.Column(scale=2, min_width=300, elem_id="builder-file"):
                    html_part(self._context.html("builder_parts.html.j2", parts=parts), elem_id="builder-parts")
                    self._verdict = html_part(elem_id="builder-verdict")
                    with gr.Row(elem_classes="actions"):
                        self._create = gr.Button("Open in the editor", size="sm", variant="primary", elem_id="b-create")
                        self._cancel = gr.Button("Cancel", size="sm", elem_id="b-cancel")
                    self._text = html_part(elem_id="builder-text")

    def _build_row(self, row: str, fields: Sequence[FormField], begins: Answers) -> None:
        depends = SHOWN.get(row)
        with gr.Column(visible=not depends or depends(begins), elem_classes="depends") as column:
            with gr.Row(elem_id=f"builder-{row}"):
                for field in fields:
                    self._fields[field.key] = _component(field)
            if row.startswith("models."):
                self._hints.append(html_part(elem_id=f"b-hint-{len(self._hints)}", elem_classes="hint"))
        if depends:
            self._rows[row] = column

    @property
    def outputs(self) -> list[Component]:
        return [self.panel]

    def wire(self, beside: StudiesBeside) -> None:
        on, inputs, name = self._context.bind, list(self._fields.values()), self._fields["name"]
        depending = [*self._rows.values(), self._verdict, self._text]
        servers = [self._fields[f"models.{number}.server"] for number in range(MOST_MODELS)]

        def open_(_: CurrentUser, typed: str, *values: Any) -> Updates:
            given = self._answers(values)
            given["name"] = typed.strip() or given["name"]
            choices = _pairs(server_choices(self._context.settings.server_names))
            return {
                beside.tabs: gr.update(visible=False),
                beside.title: "",
                self.panel: gr.update(visible=True),
                **{field: given[key] for key, field in self._fields.items()},
                **{
                    server: gr.update(choices=choices, value=given[f"models.{number}.server"] or None)
                    for number, server in enumerate(servers)
                },
                **{
                    hint: self._server_hint(given[f"models.{number}.server"]) for number, hint in enumerate(self._hints)
                },
                **self._refresh(given),
            }

        def refresh(_: CurrentUser, *values: Any) -> Updates:
            return self._refresh(self._answers(values))

        def create(user: CurrentUser, *values: Any) -> Updates:
            made = beside.created(user, self._draft(user, self._answers(values)))
            return {**{field: field.value for field in inputs}, name: "", **made}  # the next study begins as the first

        def cancel(user: CurrentUser, study: str) -> Updates:
            return beside.back(user, study)

        def test(user: CurrentUser, *values: Any) -> Updates:
            try:
                found = self._test_models(user, self._answers(values))
            except ParleyError as error:  # said here, where it says that the models are being tested
                found = self._context.html("study_models.html.j2", tests=(), why=str(error))
            return {self._tested: found}

        front = [beside.title, beside.tabs, self.panel, *inputs, *self._hints]
        on(beside.start.click, open_, [beside.name, *inputs], [*front, *depending], owner=True, js=KEPT)
        typed = [field.input for field in inputs]
        gr.on(typed, fn=None, inputs=inputs, outputs=[], js=KEEP, api_visibility="private")
        on(typed, refresh, inputs, depending, owner=True)
        made = on(self._create.click, create, inputs, [*inputs, *beside.outputs], owner=True)
        made.then(None, inputs=[name], outputs=[], js=FORGET, api_visibility="private")
        on(self._cancel.click, cancel, [beside.study], beside.outputs)
        meanwhile(self._test, self._tested, TESTING)
        on(self._test.click, test, inputs, [self._tested], owner=True)
        for server, hint in zip(servers, self._hints, strict=True):
            on(server.input, self._describe(hint), [server], [hint], owner=True)

    def _answers(self, values: Sequence[Any]) -> dict[str, Any]:
        """The values from the page, read by the form as it is now: a server may have been added or removed."""
        fields = form_fields(self._context.settings.server_names)
        return {field.key: field.read(value) for field, value in zip(fields, values, strict=True)}

    def _describe(self, hint: gr.HTML) -> Callable[..., Updates]:
        return lambda _, server: {hint: self._server_hint(text(server))}

    def _server_hint(self, server: str) -> str:
        if not server:
            return ""
        backend, _, name = server.partition("@")
        spec = ModelSpec.model_validate({"backend": backend, **({"server": name} if name else {})})
        return self._context.html(
            "builder_server.html.j2",
            provider=PROVIDERS.get(name),
            name=name,
            asks=asks_servers(backend),
            lacking=asyncio.run(configuration_errors([spec], self._context.settings)),
        )

    def _refresh(self, answers: Answers) -> Updates:
        found = self._checked(answers)
        labels = {field.key: field.label for field in form_fields()}
        tree = outline(found.study) if found.study else ()
        return {
            self._verdict: self._context.html(
                "builder_verdict.html.j2", found=found, tree=tree, label=labels, anchor=_anchor
            ),
            self._text: self._context.html("builder_text.html.j2", lines=found.text.splitlines()),
            **{column: gr.update(visible=SHOWN[row](answers)) for row, column in self._rows.items()},
        }

    def _checked(self, answers: Answers) -> BuilderCheck:
        """The check, as for a draft in its folder; a name that is taken is an issue too."""
        name = answers["name"]
        found = check_answers(answers, self._context.drafts.folder(name if NAME.fullmatch(name) else UNNAMED))
        if name not in self._context.names():
            return found
        taken = FieldIssue("name", f"{name!r} is the name of another study here; choose another.")
        return replace(found, study=None, issues=(taken, *found.issues))

    def _draft(self, user: CurrentUser, answers: Answers) -> str:
        name = new_name(answers["name"], self._context.names())
        save_draft(self._context.drafts.reserve(name) / FILE, self._checked(answers).text)
        self._context.audit(user, "created a study with the builder", name)
        return name

    def _test_models(self, user: CurrentUser, answers: Answers) -> str:
        try:
            refs = [ModelRef(label, ModelSpec.model_validate(spec)) for _, label, spec in model_specs(answers)]
        except ValidationError:
            raise SettingsError("A model is not complete. Correct what is listed beside the form first.") from None
        self._context.audit(user, "tested models in the builder", answers["name"])
        return tested(self._context, refs, answers["currency"])


def _component(field: FormField) -> Component:
    shown: dict[str, Any] = {"label": field.label, "info": field.info, "elem_id": _anchor(field.key)}
    match field.kind:
        case "number" | "whole number":
            return gr.Number(**shown, value=None, precision=0 if field.kind == "whole number" else None)
        case "radio":
            return gr.Radio(**shown, choices=_pairs(field.choices), value=field.value)
        case "boxes":
            return gr.CheckboxGroup(**shown, choices=_pairs(field.choices), value=field.value)
        case "list":
            return dropdown(**shown, choices=_pairs(field.choices), value=field.value)
        case "area":
            lines = LINES.get(field.key, 2)
            return gr.Textbox(**shown, lines=lines, max_lines=4 * lines, placeholder=field.example)
        case "line":
            return gr.Textbox(**shown, value=field.value, placeholder=field.example)


def _anchor(key: str) -> str:
    return f"b-{key.replace('.', '-')}"


def _pairs(labels: Mapping[str, str]) -> list[tuple[str, str]]:
    return [(label, value) for value, label in labels.items()]
