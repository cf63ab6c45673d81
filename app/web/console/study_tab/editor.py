"""Edit: the study file, saved and checked as you type, with its errors beside it; and publishing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import gradio as gr
from gradio.components import Component

from app.backends.model_ref import ModelRef
from app.backends.registry import configuration_errors
from app.errors import SettingsError
from app.session.replies.model_check import untested_advice
from app.studies.drafts import CheckResult
from app.studies.item_files import ItemFiles
from app.studies.pool_text import pools_in
from app.use_cases.remind import unsendable_reminders
from app.use_cases.studies import others_of_number, publish_study
from app.web.console.context import ConsoleContext
from app.web.console.current_user import CurrentUser
from app.web.console.study_tab.base import TESTING, Refresh, StudyView, Updates, check, check_file, load_view, tested
from app.web.console.study_tab.versions import changes
from app.web.console.tab import TabLocation, html_part, meanwhile
from experiments.study.checks.waves_check import past_openings
from problems.errors import ParleyError
from problems.text import clean
from storage.registers.study_versions import difference

FRAME = """<div class="head"><span id="study-text-label">study.yaml</span>
<span class="quiet">Press Esc, then Tab to leave the editor.</span>
<span class="state"></span> <button type="button" class="plain discard">Discard my text</button>
<button type="button" class="plain copy">Copy</button></div><div class="study-file"></div>"""
EDIT = "window.parleyConsole.edit(element, props, trigger, watch)  // editor.js, which triggers 'input'"
# The values of the event `input`: what the editor saves, and the mark of the text that it was made from.
WRITING = "(_, mark) => window.parleyConsole.editor.writing(mark)"
WRITTEN = "(mark) => { window.parleyConsole.editor.written(mark); return []; }"
FAILED = "() => { window.parleyConsole.editor.failed(); return []; }"
WITH_TEXT = "(study) => [study, window.parleyConsole.editor?.text() ?? '']"
ELSEWHERE = (
    "This draft was changed by someone else or in another tab since you opened it, so your text was not saved. "
    "Copy what you want to keep, then press Discard my text."
)
UNSAVED = "The text in the editor is not saved, so it cannot be published."


class EditorSection:
    def __init__(self, context: ConsoleContext, location: TabLocation) -> None:
        self._context, self._location = context, location
        self.outputs: list[Component] = []

    def build(self) -> None:
        self._none = html_part()
        with gr.Column(visible=False, elem_classes="sure", elem_id="publishing") as self._sure:
            self._plan = html_part()
            with gr.Row(elem_classes="actions"):
                self._yes = gr.Button("Publish", size="sm", variant="primary", elem_id="publish-yes")
                self._no = gr.Button("Cancel", size="sm", elem_id="publish-no")
        with gr.Row(visible=False, elem_id="writing") as self._desk_row:
            with gr.Column(scale=3, min_width=420):
                self._refused = html_part(elem_id="text-refused")
                self._text = gr.HTML(
                    "",
                    html_template=FRAME,
                    js_on_load=EDIT,
                    apply_default_css=False,
                    elem_id="study-text",
                )
            with gr.Column(scale=2, min_width=300):
                self._worth = html_part(elem_id="faults")
                self._ask = gr.Button("Publish…", size="sm", variant="primary", elem_id="publish-ask")
                self._test = gr.Button("Test models", size="sm", elem_id="models-test")
                self._tested = html_part(elem_id="models-tested")
        self.mark = gr.Textbox(visible="hidden", elem_id="text-mark")
        """Names the text that was saved last; it changes with each saving."""
        self._hash = gr.Textbox(visible="hidden", elem_id="text-hash")
        row = [self._desk_row, self._text, self._worth, self._ask, self._test, self._tested]
        self.outputs = [self._none, *row, self._sure, self._plan, self.mark, self._hash]

    def wire(self, outputs: Sequence[Component], repaint: Refresh) -> None:
        on, study = self._context.bind, self._location.study

        def go(user: CurrentUser, name: str, hash_: Any) -> Updates:
            said = self._publish(user, name, hash_)
            done = {self._ask: gr.update(interactive=False), self._sure: gr.update(visible=False)}
            return {**repaint(user, name), **done, **said}

        shown = [self._worth, self._ask, self.mark, self._sure, self._refused]
        written = on(self._text.input, self._write, [self._text, self.mark], shown, owner=True, js=WRITING)
        written.then(None, [self.mark], js=WRITTEN, api_visibility="private")
        written.failure(None, js=FAILED, api_visibility="private")
        proposed = [self._sure, self._plan, self._hash]
        on(self._ask.click, self._propose, [study, self._text], proposed, owner=True, js=WITH_TEXT)
        on(self._no.click, lambda *_: {self._sure: gr.update(visible=False)}, [study], [self._sure])
        meanwhile(self._test, self._tested, TESTING)
        on(self._test.click, self._test_models, [study], [self._tested], owner=True)
        on(self._yes.click, go, [study, self._hash], [*outputs, self._ask, self._sure], owner=True)

    def paint(self, user: CurrentUser, view: StudyView) -> Updates:
        text = view.text
        mark = self._mark_of(view.name, text or "")
        return {
            self._none: self._context.html("study_no_draft.html.j2", seen=view) if text is None else "",
            self._desk_row: gr.update(visible=text is not None),
            # One value, so that no text is ever shown with the mark of another. (Nor would a property of its own do:
            # Gradio drops those of a component that is not yet on the page when an event skips it.)
            self._text: json.dumps({"text": text or "", "mark": mark if user.owner else ""}),
            **self.verdict(user, view),
            self._test: gr.update(visible=user.owner),
            self._tested: "",
            self._sure: gr.update(visible=False),
            self.mark: mark,
        }

    def verdict(self, user: CurrentUser, view: StudyView) -> Updates:
        return {
            self._worth: self._shown(view.name, view.text, view.checked, saved=False),
            self._ask: gr.update(visible=user.owner, interactive=view.changed),
        }

    def _shown(self, name: str, text: str | None, check: CheckResult | None, *, saved: bool) -> str:
        """The HTML of a draft's faults, with the missing files of items that its pools name."""
        if text is None or check is None:
            return ""
        there, pools = ItemFiles(self._context.drafts.folder(name)).names(), (pools_in(text) or {}).items()
        faulty = [pool for called, pool in pools if any(one.where == f"problems.{called}" for one in check.faults)]
        missing = [pool["path"] for pool in faulty if pool.get("path") and pool["path"] not in there]
        return self._context.html("study_faults.html.j2", worth=check, saved=saved, missing=missing)

    def _write(self, _: CurrentUser, text: str, mark: str) -> Updates:
        """Save the text in the draft that the mark names, whichever is chosen meanwhile, and check it."""
        name, text = mark.partition(" ")[0], clean(text)
        try:
            self._save(name, text, mark)
        except ParleyError as error:  # it stands beside the text for as long as that is not saved
            refused = self._context.html("study_refused.html.j2", why=str(error))
            return {self._refused: refused, self._sure: gr.update(visible=False)}
        worth = check(self._context, name, text)
        newer = worth.study is not None and load_view(self._context, name).changed
        return {
            self._worth: self._shown(name, text, worth, saved=True),
            self._ask: gr.update(interactive=newer),
            self.mark: self._mark_of(name, text),
            self._sure: gr.update(visible=False),
            self._refused: "",
        }

    def _save(self, name: str, text: str, mark: str) -> None:
        """Replace the draft's text; raises ParleyError if it is not the one that the mark was made of."""
        stored = self._context.drafts.text(name)
        if stored != text and mark.split(" ")[1:2] != [fingerprint(stored)]:
            raise SettingsError(ELSEWHERE)
        self._context.drafts.save(name, text)

    def _mark_of(self, name: str, text: str) -> str:
        """A mark of a draft's text: its study and fingerprint, and the time, so that each saving has another."""
        return f"{name} {fingerprint(text)} {self._context.clock.now_us()}"

    def _test_models(self, user: CurrentUser, name: str) -> Updates:
        study = check_file(self._context, name, self._context.drafts.text(name)).study
        if study is None:
            why = "This study has errors. Correct them before you test its models."
            return {self._tested: self._context.html("study_models.html.j2", tests=(), why=why)}
        refs = [ModelRef(label, model) for label, model in study.file.models.items()]
        self._context.audit(user, "tested the models of the draft", name)
        return {self._tested: tested(self._context, refs, study.file.currency)}

    def _propose(self, _: CurrentUser, name: str, text: str) -> Updates:
        """Show what publishing would change; raises SettingsError if the editor shows a text that is not saved."""
        seen = load_view(self._context, name)
        if seen.text not in (text, clean(text)):
            raise SettingsError(UNSAVED)
        study = seen.written
        if study is None:
            raise SettingsError("This study has errors. Correct them before you publish it.")
        diff = difference(seen.study, study) if seen.study else ""
        plan = self._context.html(
            "study_plan.html.j2",
            study=study,
            seen=seen,
            lines=changes(diff),
            twins=others_of_number(seen.versions, study),
            reminding=[
                *map(" ".join, unsendable_reminders(study, self._context.settings)),
                *past_openings(study, self._context.clock.now_us()),
            ],
            untested=untested_advice(study.file.models, self._context.settings),
            unready=asyncio.run(configuration_errors(study.file.models.values(), self._context.settings)),
        )
        return {self._sure: gr.update(visible=True), self._plan: plan, self._hash: study.hash}

    def _publish(self, user: CurrentUser, name: str, hash_: Any) -> Updates:
        """Publish the reviewed study; raises SettingsError if the draft has changed since."""
        study = check(self._context, name, self._context.drafts.text(name)).study
        if study is None or study.hash != hash_:
            raise SettingsError("The draft has changed since you reviewed it. Review it again before you publish.")
        done = publish_study(self._context.database, self._context.settings, study, self._context.clock)
        self._context.audit(user, f"published version {study.file.version} ({done.hash})", name)
        return self._context.notify(f"Version {study.file.version} of {name} is published (hash {done.hash[:12]}).")


def fingerprint(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
