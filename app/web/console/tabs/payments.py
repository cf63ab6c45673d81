"""Payments: the sums due, the files for Prolific, and the bonus files of earlier runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import gradio as gr

from app.use_cases.pay import PaymentFile, Payments, pay
from app.use_cases.recruit import release_places
from app.web.console.context import ConsoleContext
from app.web.console.current_user import CurrentUser
from app.web.console.tab import LocationValues, TabLocation, dropdown, html_part, text
from app.web.console.tabs.submissions import SubmissionsSection
from experiments.plural import count as how_many
from experiments.study.study import Study
from problems.errors import ParleyError
from storage.datasets.describe.zip_file import zip_texts
from storage.payments.payment_files import PaymentRequest, recorded_files
from storage.payments.prolific import Statuses, statuses
from storage.payments.prolific_export import prolific_rows

# The folder of a dry run, which writes nothing.
NOWHERE = Path("payments")
UPLOAD = (
    '<label class="upload"><input type="file" accept=".csv,text/csv" data-into="#payments-export textarea">'
    "<span>Choose Prolific's export…</span></label>"
)
FILES = "<h3>Payment files</h3><p class='quiet'>To upload to a recruiter, or to pay by hand.</p>"
NAMED = "It has recruiters' IDs: do not publish it."
READY = "The files are ready to be downloaded. No bonus is recorded as paid."
SURE = "I want to record these bonuses as paid (tick this before you create files with new bonuses)"
NOT_SURE = "Tick the box first: the bonuses in the files are recorded as paid, and no later file will have them."


class PaymentsTab:
    name = "payments"
    label = "Payments"

    def __init__(self, context: ConsoleContext, location: TabLocation) -> None:
        self._context, self._location = context, location
        self._submissions = SubmissionsSection(context, location)
        self.outputs: list[Any] = []

    def build(self) -> None:
        self._overview = html_part(elem_id="payments")
        self._submissions.build()
        with gr.Column(visible=False, elem_classes="sheet", elem_id="payments-form") as self._form:
            html_part(FILES)
            with gr.Column(elem_id="payments-prolific") as self._prolific:
                html_part(UPLOAD)
                self._export = gr.Textbox(
                    label="Prolific's export of the study (csv): who returned, timed out or was rejected gets nothing",
                    placeholder="Participant id,Status",
                    lines=2,
                    max_lines=6,
                    elem_id="payments-export",
                )
                self._free = gr.Button("Free their places", size="sm", elem_id="payments-free")
            self._excluded = gr.Checkbox(
                label="Also pay complete sessions that a researcher excluded", elem_id="payments-excluded"
            )
            self._sure = gr.Checkbox(label=SURE, elem_id="payments-sure")
            self._write = gr.Button("Create payment files", variant="primary", elem_id="payments-write")
        self._link = html_part(elem_id="payments-link")
        self._earlier = html_part(elem_id="payments-earlier")
        with gr.Row(elem_classes="actions", visible=False) as self._again:
            self._file = dropdown(label="Bonus file", elem_id="payments-file")
            self._fetch = gr.Button("Create it again", size="sm", elem_id="payments-again")
        shown = [self._overview, self._sure, self._earlier, self._again, self._file]
        self.outputs = [*shown, self._form, self._prolific, self._excluded, self._link, *self._submissions.outputs]
        context, chosen = self._context, [self._location.study, self._export, self._excluded]
        context.bind([self._export.change, self._excluded.input], self._plan, chosen, [self._overview, self._sure])
        # What is pasted stays when another tab is opened, and goes with the study.
        cleared = {"outputs": [self._export, self._excluded], "api_visibility": "private"}
        gr.on([self._location.study.change], fn=None, js="() => ['', false]", **cleared)
        again = [self._location.tab, *chosen]
        context.bind(self._location.tab.change, self._plan_again, again, [self._overview, self._sure], quiet=True)
        context.bind(self._free.click, self._release, [self._location.study, self._export], [], owner=True)
        context.bind(self._write.click, self._pay, [*chosen, self._sure], [*shown, self._link], owner=True)
        context.bind(self._fetch.click, self._make_again, [self._location.study, self._file], [self._link], owner=True)

    def paint(self, user: CurrentUser, location: LocationValues) -> Mapping[Any, Any]:
        study = self._context.study(location.study) if user.owner else None
        planned = self._planned(study) if study else None
        return {
            **(self._shown(planned) if planned else self._nothing(user)),
            self._form: gr.update(visible=planned is not None and (bool(planned.groups) or planned.prolific)),
            self._prolific: gr.update(visible=planned is not None and planned.prolific),
            self._excluded: gr.update(visible=planned is not None and planned.prolific),
            self._link: "",
            **self._submissions.paint(user, study),
        }

    def _nothing(self, user: CurrentUser) -> dict[Any, Any]:
        return {
            self._overview: self._overview_of(None, owner=user.owner),
            self._sure: False,
            self._earlier: "",
            self._again: gr.update(visible=False),
            self._file: gr.update(choices=[], value=None),
        }

    def _shown(self, payments: Payments) -> dict[Any, Any]:
        files = recorded_files(payments.run.payees)
        names = [file.name for file in files]
        return {
            self._overview: self._overview_of(payments),
            self._sure: gr.update(value=False, visible=payments.bonuses and payments.prolific),
            self._earlier: self._context.html("payments_earlier.html.j2", files=files),
            self._again: gr.update(visible=bool(files)),
            self._file: gr.update(choices=names, value=next(iter(names), None)),
        }

    def _overview_of(self, payments: Payments | None, *, owner: bool = True, fault: str = "") -> str:
        return self._context.html("payments.html.j2", planned=payments, owner=owner, fault=fault)

    def _planned(self, study: Study, export: str = "", *, excluded: bool = False) -> Payments:
        """The payments of a run now; raises BadFile or ProblemError if the export cannot be read."""
        return self._paid(study, replace(_request(study, export, excluded), dry=True))

    def _paid(self, study: Study, request: PaymentRequest) -> Payments:
        return pay(self._context.database, self._context.participants, study, request, self._context.clock.now_us())

    def _plan(self, user: CurrentUser, name: str, export: Any, excluded: Any) -> Mapping[Any, Any]:
        study = self._context.study(name) if user.owner else None
        if study is None:
            return {}
        try:
            shown = self._overview_of(self._planned(study, text(export), excluded=excluded is True))
        except ParleyError as error:
            shown = self._overview_of(None, fault=str(error))
        return {self._overview: shown, self._sure: False}

    def _plan_again(self, user: CurrentUser, tab: str, name: str, export: Any, excluded: Any) -> Mapping[Any, Any]:
        """Opening the tab shows the sums due, by the values still in its form."""
        filled = tab == self.name and (text(export) or excluded is True)
        return self._plan(user, name, export, excluded) if filled else {}

    def _pay(self, user: CurrentUser, name: str, export: Any, excluded: Any, sure: Any) -> Mapping[Any, Any]:
        context, study = self._context, self._context.studies.newest(name)
        request = _request(study, text(export), excluded is True)
        if sure is not True and self._paid(study, replace(request, dry=True)).run.payments:
            return context.notify(NOT_SURE, "warn")
        with TemporaryDirectory() as folder:  # the files are in the link's zip, and can be made again from the log
            done = self._paid(study, replace(request, folder=Path(folder)))
        number = len(done.run.payments)
        paid = f"{how_many(number, 'bonus', 'bonuses')}, {sum(file.bonus for file in done.files):,.2f} in all"
        context.audit(user, "created payment files", f"{study.name}: {paid}")
        return {
            **self._shown(self._planned(study, text(export), excluded=excluded is True)),
            **self._offer(user, f"{study.name}-payments-{done.run.stamp}", done.run.files, done.files),
            **context.notify(
                f"Recorded as paid: {paid}. Download the files now, and use each once." if number else READY
            ),
        }

    def _release(self, user: CurrentUser, name: str, export: Any) -> Mapping[Any, Any]:
        study, context = self._context.studies.newest(name), self._context
        found = _statuses(text(export)) or {}
        freed = release_places(context.database, context.participants, study.name, found, user.name, context.clock)
        return context.notify(str(freed))

    def _make_again(self, user: CurrentUser, name: str, file: Any) -> Mapping[Any, Any]:
        context, study = self._context, self._context.studies.newest(name)
        files = {one.name: one.text for one in recorded_files(self._planned(study).run.payees) if one.name == file}
        if not files:
            return context.notify("Choose one of the bonus files.", "warn")
        context.audit(user, "created a bonus file again", f"{study.name}: {file}")
        return self._offer(user, f"{study.name}-{Path(str(file)).stem}", files)

    def _offer(
        self, user: CurrentUser, name: str, texts: Mapping[str, str], files: Sequence[PaymentFile] = ()
    ) -> dict[Any, Any]:
        downloads = self._context.downloads
        link = downloads.offer(user, f"{name}.zip", "payment files", 0, partial(zip_texts, texts))
        return {self._link: self._context.html("file_link.html.j2", link=link, files=files, about=NAMED)}


def _request(study: Study, export: str, excluded: bool) -> PaymentRequest:
    return PaymentRequest(study.name, NOWHERE, _statuses(export), pay_excluded=excluded)


def _statuses(export: str) -> Statuses | None:
    """The status of each submission in Prolific's export, if there is one; raises BadFile or ProblemError."""
    return statuses(prolific_rows(export, "Prolific's export")) if export.strip() else None
