"""Export: the filters, what an export would contain, a preview of its files, and links to finished exports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gradio as gr
from gradio.components import Component

from app.use_cases.export import peek_by_export, read_filter
from app.use_cases.outcome_lock import locked_for, open_again
from app.web.console.context import ConsoleContext
from app.web.console.current_user import CurrentUser
from app.web.console.formatting import WHOSE
from app.web.console.long_work import Planned, Work, own
from app.web.console.tab import LocationValues, TabLocation, dropdown, html_part, text
from app.web.console.work_view import WorkView
from storage.datasets.exports.plan import ExportRequest
from storage.datasets.exports.preview import (
    ExportOptions,
    ExportPreview,
    FilePreview,
    export_options,
    files,
    preview,
    preview_export,
    schema_title,
)
from storage.datasets.exports.session_filter import SessionFilter
from storage.registers.origins import Origin

MOST_CHARS = 160


class ExportTab:
    name = "export"
    label = "Export"

    def __init__(self, context: ConsoleContext, location: TabLocation) -> None:
        self._context = context
        self._location = location
        self._view = WorkView(context, [self.name], "data")
        self.outputs: list[Any] = []

    def build(self) -> None:
        self._none = html_part()
        with gr.Column(visible=False) as self._all:
            self._make_form()
            self._outlook = html_part(elem_id="data-outlook")
            with gr.Row(elem_classes="data-make"):
                self._safe = gr.Checkbox(
                    label="Safe for spreadsheets (formulas are escaped, so some cells differ from the data)",
                    container=False,
                )
                self._mask = gr.Checkbox(label="Mask personal data in free text", container=False, elem_id="data-mask")
                self._button = gr.Button("Create zip file", variant="primary", elem_id="data-make")
            self._view.build()
            self._links = html_part(elem_id="data-links")
            self._file = dropdown(label="Preview of", elem_id="data-file")
            self._preview = html_part(elem_id="data-preview")
        self._shown = [self._outlook, self._file, self._preview]
        self._made = [self._links, *self._view.outputs]
        self.outputs = [self._none, self._all, *self._form, self._safe, self._mask, *self._shown, *self._made]
        self._wire()

    def _make_form(self) -> None:
        with gr.Row(elem_classes="data-form"):
            self._origin = dropdown(label="Session origin", elem_id="data-origin")
            self._schema = dropdown(label="Schema", elem_id="data-schema")
            self._where = dropdown(label="Conditions (all if empty)", free=True, multiselect=True, elem_id="data-where")
            self._language = dropdown(label="Language", elem_id="data-language")
        with gr.Row(elem_classes="data-form"):
            hint = "2026-01-31"
            self._since = gr.Textbox(label="Started from (UTC)", placeholder=hint, elem_id="data-since")
            self._until = gr.Textbox(label="Started until (UTC)", placeholder=hint, elem_id="data-until")
            self._complete = gr.Checkbox(label="Completed sessions only", elem_id="data-complete")
            self._excluded = gr.Checkbox(label="Include excluded sessions", elem_id="data-excluded")
        self._form: list[Component] = [
            self._origin,
            self._schema,
            self._where,
            self._language,
            self._since,
            self._until,
            self._complete,
            self._excluded,
        ]

    def _wire(self) -> None:
        context, inputs = self._context, [self._location.study, *self._form]
        pickers = (self._origin, self._schema, self._where, self._language, self._complete, self._excluded)
        typed = [event for box in (self._since, self._until) for event in (box.submit, box.blur)]
        context.bind(
            [*(one.input for one in pickers), *typed],
            self._preview_of,
            [*inputs, self._file],
            [*self._form, *self._shown],
        )
        context.bind(self._file.input, self._preview_file, [*inputs, self._file], [self._preview])
        context.bind(self._button.click, self._make, [*inputs, self._safe, self._mask], self._made)
        self._view.wire(self._location.study, self._progress, self._made)

    def paint(self, user: CurrentUser, location: LocationValues) -> Mapping[Any, Any]:
        found = export_options(self._context.database, location.study)
        if not found.schemas:
            notice = self._context.html("data_none.html.j2")
            return {self._none: notice, self._all: gr.update(visible=False), **self._progress(user, location.study)}
        blank = {self._since: "", self._until: "", self._complete: False, self._excluded: False, self._safe: False}
        blank |= {self._mask: False}
        _, origin = first = _first(found)
        open_again(self._context.database, location.study, origin, user.name, "export", self._context.clock.now_us())
        return {
            self._none: "",
            self._all: gr.update(visible=True),
            **blank,
            **self._offer(found, next(iter(found.schemas)), ""),
            self._where: gr.update(choices=_conditions(found), value=[]),
            self._language: gr.update(choices=[("any", ""), *found.languages], value=""),
            **self._show(user, ExportRequest(location.study, *first)),
            **self._progress(user, location.study),
        }

    def _preview_of(self, user: CurrentUser, *values: Any) -> Mapping[Any, Any]:
        study, origin, schema, *more, file = values
        found = export_options(self._context.database, text(study))
        schemas = found.schemas.get(text(origin), ())
        schema = schema if schema in schemas else next(iter(schemas), schema)
        shown = self._show(user, _export_request(study, origin, schema, *more), text(file))
        return {**self._offer(found, text(origin), schema), **shown}

    def _preview_file(self, user: CurrentUser, *values: Any) -> Mapping[Any, Any]:
        *chosen, file = values
        request = _export_request(*chosen)
        return {self._preview: self._first_rows(user, request, preview(self._context.database, request, text(file)))}

    def _make(self, user: CurrentUser, *values: Any) -> Mapping[Any, Any]:
        request = _export_request(*values)
        said = about(request, files(self._context.database, request))
        context = self._context

        def do(work: Work) -> None:
            request_of = (user, context.database, request, said)
            work.made = context.downloads.make(*request_of, lambda _, rows: work.tell_whole(rows, 0, "rows"))

        words = f"Create the {request.schema} export of {request.study}"
        context.work.start(user, Planned(self.name, own(user), words, do))
        context.audit(user, "exported", f"{request.study}: {said}")
        peeked = peek_by_export(context.database, request, user.name, context.clock.now_us())
        return {**self._progress(user, request.study), **(context.notify(peeked, "warn") if peeked else {})}

    def _progress(self, user: CurrentUser, study: str) -> Mapping[Any, Any]:
        links = self._context.downloads.links(user)
        return {self._links: self._context.html("data_links.html.j2", links=links), **self._view.look(user, study)}

    def _offer(self, options: ExportOptions, origin: str, schema: str) -> dict[Any, Any]:
        schemas = options.schemas.get(origin, ())
        named = [(f"{schema_title(name)} ({name})", name) for name in schemas]
        origins, origin_value = [(WHOSE[name], name) for name in options.schemas], origin if schemas else None
        value = schema if schema in schemas else next(iter(schemas), None)
        return {
            self._origin: gr.update(choices=origins, value=origin_value),
            self._schema: gr.update(choices=named, value=value),
        }

    def _show(self, user: CurrentUser, request: ExportRequest, file: str = "") -> dict[Any, Any]:
        outlook, first = preview_export(self._context.database, request, file)
        return {
            self._outlook: self._context.html("data_outlook.html.j2", outlook=outlook, name=request.study),
            self._file: gr.update(choices=[expected.path for expected in outlook.files], value=first.path),
            self._preview: self._first_rows(user, request, first),
        }

    def _first_rows(self, user: CurrentUser, request: ExportRequest, preview: FilePreview) -> str:
        """The first rows of a file; why they are not shown, in a trial whose outcomes are locked."""
        origin = request.origin or Origin.PERSON
        context = self._context
        if why := locked_for(context.database, request.study, origin, user.name, context.clock.now_us()):
            return context.html("outcomes_locked.html.j2", why=why)
        return self._context.html("data_preview.html.j2", preview=preview, rows=_cells(preview))


def about(request: ExportRequest, preview: ExportPreview) -> str:
    """An export in words, for the audit log and the list of downloads."""
    rules = preview.selected.rules if preview.selected else ()
    kept = ("with excluded sessions",) if request.selection.with_excluded else ()
    safe = ("safe for spreadsheets",) if request.safe else ()
    masked = ("personal data masked",) if request.mask else ()
    return "; ".join((f"{request.schema}, {preview.origin}", *rules, *kept, *safe, *masked))


def _export_request(study: Any, origin: Any, schema: Any, *more: Any) -> ExportRequest:
    """The export that the form asks for; raises StorageError for invalid values from the browser."""
    where, language, since, until, complete, excluded, *made = more
    safe, mask = made or (False, False)
    texts = [item for item in where if isinstance(item, str)] if isinstance(where, list) else []
    kept = SessionFilter(complete=complete is True, language=text(language), with_excluded=excluded is True)
    selection = read_filter(kept, texts, text(since), text(until))
    return ExportRequest(
        text(study), text(schema), text(origin) or None, safe=safe is True, selection=selection, mask=mask is True
    )


def _first(options: ExportOptions) -> tuple[str, str]:
    origin, schemas = next(iter(options.schemas.items()))
    return schemas[0], origin


def _conditions(options: ExportOptions) -> list[str]:
    return [f"{name}={value}" for name, values in options.factors.items() for value in values]


def _cells(preview: FilePreview) -> list[list[str]]:
    return [["" if cell is None else _short(str(cell)) for cell in row] for row in preview.rows]


def _short(text: str) -> str:
    return text if len(text) <= MOST_CHARS else f"{text[:MOST_CHARS]}…"
