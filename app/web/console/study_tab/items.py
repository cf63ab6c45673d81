"""Items: upload a table of items, map its columns, review them, and write them into the draft.

The browser sends a file as text within an event, so it never is a temporary file of the server. It is kept in the
draft's folder, where the study file names it.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

import gradio as gr
from gradio.components import Component
from pydantic import TypeAdapter, ValidationError

from app.errors import SettingsError
from app.studies.item_files import LARGEST_BYTES, ItemFiles
from app.studies.picture_files import ENDINGS, MOST_PICTURES, PictureFiles
from app.studies.pool_text import pools_in, with_pool
from app.studies.text_check import TextCheck
from app.web.console.context import ConsoleContext
from app.web.console.current_user import CurrentUser
from app.web.console.session_replay import inert_page
from app.web.console.study_tab.base import Refresh, StudyView, Updates, check_file
from app.web.console.tab import TabLocation, dropdown, html_part, meanwhile, text
from app.web.participant.view import StudyContext
from experiments.plural import count
from experiments.study.base_model import Slug
from experiments.study.fields import choice
from experiments.study.screen import Panel, ProblemBlock, ProgressView, Screen
from problems.errors import ParleyError, ProblemError
from problems.items import SHEET, Columns, Items, recognised, tag_columns, understand
from problems.pictures import MOST_BYTES, MOST_PIXELS, PictureMap
from problems.pools import load_pool
from problems.problem import Problem
from problems.registry import ITEMS
from problems.tables import READERS, Table
from storage.registers.studies import StoredPicture


class DraftPictures:
    def __init__(self, context: ConsoleContext, location: TabLocation) -> None:
        self._context, self._location = context, location
        self.outputs: list[Component] = []

    def build(self) -> None:
        self._upload = html_part(elem_id="pictures")
        self.sent = gr.Button("Uploaded", visible="hidden", elem_id="pictures-sent")
        """Pressed by the page once the chosen pictures were sent."""
        self._list = html_part(elem_id="pictures-list")
        with gr.Row(visible=False, elem_id="pictures-removal") as self._removal:
            self._which = dropdown("Picture", elem_id="pictures-which")
            self._remove = gr.Button("Remove picture", size="sm", elem_id="pictures-remove")
        self.outputs = [self._upload, self._list, self._removal, self._which]

    def wire(self) -> None:
        on, study = self._context.bind, self._location.study
        on(self._remove.click, self._discard, [study, self._which], self.outputs, owner=True)

    def paint(self, user: CurrentUser, name: str) -> Updates:
        limits = {"endings": ENDINGS, "largest": MOST_BYTES, "pixels": MOST_PIXELS, "most": MOST_PICTURES}
        found = self._files(name).all()
        names = [one.name for one in found]
        return {
            self._upload: self._context.html("pictures_upload.html.j2", study=name, owner=user.owner, **limits),
            self._list: self._context.html("pictures_list.html.j2", pictures=found, written=_written),
            self._removal: gr.update(visible=user.owner and bool(names)),
            self._which: gr.update(choices=names, value=names[0] if names else None),
        }

    def _discard(self, user: CurrentUser, name: str, which: Any) -> Updates:
        study = check_file(self._context, name, self._context.drafts.text(name)).study
        self._files(name).remove(text(which), study.pictures.by_key if study else ())
        self._context.audit(user, f"removed {text(which)}", name)
        return {**self.paint(user, name), **self._context.notify(f"{text(which)} is removed.")}

    def _files(self, name: str) -> PictureFiles:
        self._context.drafts.text(name)  # there is such a draft
        return PictureFiles(self._context.drafts.folder(name))


def _written(name: str) -> str:
    return f"![what it shows]({quote(name)})"


# Rows and errors that are listed; items that can be chosen for a look, and the characters of each in that list.
SHOWN, MOST_CHOICES, LONGEST_LABEL = 20, 200, 60
NONE = ("none", "")
# The name of a first pool, unless its author chooses another.
POOL = "questions"
# What a column can be chosen for, in the order of the dropdowns.
PARTS = ("question", "options", "answer", "id", "tags")
# What else can be chosen of a table, after `PARTS`.
SETTINGS = ("sheet", "answers_from")
COUNTED = (("as the table shows", ""), ("0", "0"), ("1", "1"))
READ = "async (study, name, content, ...shown) => [study, ...(await window.parleyConsole.table()), ...shown]"
# The values of the dropdowns for `PARTS` and `SETTINGS`, from a browser.
Chosen = Sequence[Any]


class ItemsSection:
    def __init__(self, context: ConsoleContext, location: TabLocation) -> None:
        self._context, self._location = context, location
        self._pictures = DraftPictures(context, location)
        self.outputs: list[Component] = []

    def build(self) -> None:
        self._none = html_part()
        with gr.Column(visible=False, elem_id="items") as self._all:
            upload = self._context.html("items_upload.html.j2", endings=tuple(READERS), largest=LARGEST_BYTES)
            self._upload = html_part(upload)
            self._status = html_part(elem_id="items-status")
            self._name = gr.Textbox(visible="hidden", elem_id="items-name")
            self._content = gr.Textbox(visible="hidden", elem_id="items-content")
            self._send = gr.Button("Upload", visible="hidden", elem_id="items-upload")
            with gr.Column(visible=False, elem_id="items-table") as self._table:
                self._build_table()
            self._pictures.build()
        self._mapped = [self._question, self._options, self._answer, self._id, self._tags, self._answers_from]
        self._parts: list[Component] = [*self._mapped[:-1], self._sheet, self._answers_from]
        self._results: list[Component] = [self._understood, self._which, self._page, self._insert]
        panel = [self._status, self._table, self._file, self._columns, *self._parts, *self._results, self._pool]
        self.outputs = [self._none, self._all, self._upload, self._remove, *panel, *self._pictures.outputs]

    def _build_table(self) -> None:
        with gr.Row(elem_id="items-files"):
            self._file = dropdown("File", elem_id="items-file")
            self._sheet = dropdown("Sheet", visible=False, elem_id="items-sheet")
            self._remove = gr.Button("Remove file", size="sm", elem_id="items-remove")
        with gr.Column(elem_id="items-columns") as self._columns:
            html_part("<h3>2. Say what each column holds</h3>")
            with gr.Row():
                self._question = dropdown("Question", elem_id="items-question")
                self._options = dropdown("Options, in their order", multiselect=True, elem_id="items-options")
                self._answer = dropdown("Right answer", elem_id="items-answer")
                self._id = dropdown("Id (none: numbered)", elem_id="items-id")
                self._tags = dropdown("Tags (none: every other column)", multiselect=True, elem_id="items-tags")
                self._answers_from = dropdown(
                    "Numbers of answers begin at", choices=[*COUNTED], value="", elem_id="items-answers_from"
                )
        self._understood = html_part(elem_id="items-understood")
        self._which = dropdown("As a participant sees it", elem_id="items-which")
        self._page = html_part(elem_id="items-page")
        with gr.Column(visible=False, elem_id="items-insert") as self._insert:
            html_part("<h3>4. Write them into the study</h3>")
            with gr.Row():
                self._pool = dropdown("Pool (choose one, or type a new name)", free=True, elem_id="items-pool")
                self._write = gr.Button("Write into the study", size="sm", variant="primary", elem_id="items-write")

    def wire(self, outputs: Sequence[Component], repaint: Refresh) -> None:
        on, study, file = self._context.bind, self._location.study, self._file

        def write(user: CurrentUser, name: str, file: Any, pool: Any, *chosen: Any) -> Updates:
            said = self._insert_pool(user, name, text(file), text(pool).strip(), chosen)
            return {**repaint(user, name), **said}

        changes = [part.input for part in self._mapped]
        meanwhile(self._send, self._status, "Uploading")
        sent = [study, self._name, self._content, file, *self._parts]
        on(self._send.click, self._keep, sent, self.outputs, owner=True, js=READ)
        self._pictures.wire()
        # Not `input`, which Gradio sends as well when the first file is painted: its answer would undo a quick choice.
        on(file.select, self._choose, [study, file], self.outputs)
        on(self._sheet.select, self._choose, [study, file, self._sheet], self.outputs)
        on(self._remove.click, self._discard, [study, file], self.outputs, owner=True)
        on(changes, self._map, [study, file, *self._parts], self._results)
        on(self._which.input, self._show, [study, file, self._which, *self._parts], [self._page])
        on(self._pictures.sent.click, self._repaint, [study, file, *self._parts], self.outputs)
        on(self._write.click, write, [study, file, self._pool, *self._parts], outputs, owner=True)

    def paint(self, user: CurrentUser, view: StudyView) -> Updates:
        if view.text is None:
            none = self._context.html("study_no_draft.html.j2", seen=view)
            return {self._none: none, self._all: gr.update(visible=False)}
        return self._painted(user, view.name, view.text)

    def _painted(
        self, user: CurrentUser, name: str, written: str, file: str = "", chosen: Chosen | None = None
    ) -> Updates:
        """Show the draft's files, and the items of one with the chosen columns, or those of its pool."""
        names, pools = self._files(name).names(), pools_in(written) or {}
        read = {str(pool.get("path")): called for called, pool in reversed(pools.items())}
        file = file if file in names else next((one for one in names if one in read), names[0] if names else "")
        called = read.get(file) or (next(iter(pools)) if len(pools) == 1 else POOL)
        return {
            self._none: "",
            self._all: gr.update(visible=True),
            self._upload: gr.update(visible=user.owner),
            self._status: "",
            self._remove: gr.update(visible=user.owner),
            self._table: gr.update(visible=bool(names)),
            self._file: gr.update(choices=list(names), value=file or None),
            self._pool: gr.update(choices=list(dict.fromkeys((*pools, called))), value=called),
            **(self._of_file(user, name, file, pools.get(called, {}), chosen) if file else {}),
            **self._pictures.paint(user, name),
        }

    def _of_file(
        self, user: CurrentUser, name: str, file: str, pool: Mapping[str, Any], chosen: Chosen | None
    ) -> Updates:
        if fixed := self._of_other_source(name, file):
            return {self._columns: gr.update(visible=False), **self._results_of(user, name, fixed)}
        told = pool.get("columns") if pool.get("path") == file else None
        saved = dict(told) if isinstance(told, Mapping) else {}
        try:
            asked = Columns.of(saved)
            table = self._files(name).read(
                file, *([_sheet_of(chosen)] if chosen else [asked.sheet or "", asked.question])
            )
            if chosen and _fits(table, chosen):
                given = _given(table, chosen)
            else:
                given = saved if not chosen or (asked.sheet or "") == _sheet_of(chosen) else {SHEET: _sheet_of(chosen)}
            items = understand(table, given, _stem(file))
        except ProblemError as error:
            broken = Items(Columns(), (), (), (str(error),))
            return {self._columns: gr.update(visible=False), **self._results_of(user, name, broken)}
        one, several = [NONE, *((column, column) for column in table.columns)], list(table.columns)
        columns = items.columns
        options = [columns.options] if isinstance(columns.options, str) else [*columns.options]
        return {
            self._columns: gr.update(visible=True),
            self._question: gr.update(choices=one, value=columns.question),
            self._options: gr.update(choices=several, value=[option for option in options if option]),
            self._answer: gr.update(choices=one, value=columns.answer),
            self._id: gr.update(choices=one, value=columns.id),
            self._tags: gr.update(choices=several, value=[*(columns.tags or ())]),
            self._sheet: gr.update(choices=sorted(table.sheets), value=table.sheets[0], visible=True)
            if len(table.sheets) > 1
            else gr.update(choices=[NONE], value="", visible=False),
            self._answers_from: "" if columns.answers_from is None else str(columns.answers_from),
            **self._results_of(user, name, items, table.columns),
        }

    def _of_other_source(self, name: str, file: str) -> Items | None:
        """The items; None unless the pool's source has columns of its own, or while the file cannot be read."""
        pools = pools_in(self._context.drafts.text(name))
        if pools is None:
            return Items(Columns(), (), ("The study file is not YAML at the moment. Correct it under Edit first.",), ())
        for called, pool in pools.items():
            if pool.get("path") == file and pool.get("source", ITEMS) != ITEMS:
                note = f"The pool {called} reads this file by the source {pool['source']}, with columns of its own."
                try:
                    problems = load_pool(pool, called, self._context.drafts.folder(name))
                except ProblemError as error:
                    return Items(Columns(), (), (note,), (str(error),))
                places = tuple(f"item {number}" for number in range(1, len(problems) + 1))
                return Items(Columns(), problems, (note,), (), places)
        return None

    def _results_of(self, user: CurrentUser, name: str, items: Items, columns: Sequence[str] = ()) -> Updates:
        """The items, and the first one as a participant sees it. Without `columns` none can be chosen."""
        pairs = list(zip(items.places, items.problems, strict=True))
        labels = [f"{place}: {' '.join(one.text.split())[:LONGEST_LABEL]}" for place, one in pairs[:MOST_CHOICES]]
        choices = [(label, str(number)) for number, label in enumerate(labels)]
        lost = self._pictures_of(name, items.problems).faults
        values = {"items": items, "pairs": pairs, "most": SHOWN, "columns": columns, "lost": lost}
        return {
            self._understood: self._context.html("items_understood.html.j2", **values),
            self._which: gr.update(choices=choices, value="0" if choices else None, visible=bool(choices)),
            self._page: self._page_of(name, items.problems[0]) if choices else "",
            self._insert: gr.update(visible=user.owner and bool(columns) and not items.faults),
        }

    def _page_of(self, name: str, problem: Problem) -> str:
        study = check_file(self._context, name, self._context.drafts.text(name)).study
        file = study.file if study else None
        about = StudyContext(file.title, file.language, dollar_maths=file.dollar_maths) if file else StudyContext(name)
        found = self._pictures_of(name, (problem,))
        stored = {one.sha256: StoredPicture(one.type, found.files[one.sha256]) for one in found.by_key.values()}
        about = about._replace(pictures=PictureMap(found.by_key) if stored else None)
        fields = (choice(problem.options),) if problem.options else ()
        panel = Panel(blocks=(ProblemBlock(problem.text),), fields=fields)
        screen = Screen("answer", 0, panel, ProgressView("", 0.0), ("submit",))
        page = inert_page(self._context, screen, about, {}, self._context.clock.now_us(), stored.get)
        return self._context.html("items_page.html.j2", problem=problem, page=page)

    def _pictures_of(self, name: str, problems: Sequence[Problem]) -> TextCheck:
        found = TextCheck()
        found.add_problems(problems, self._context.drafts.folder(name))
        return found

    def _files(self, name: str) -> ItemFiles:
        self._context.drafts.text(name)  # there is such a draft
        return ItemFiles(self._context.drafts.folder(name))

    def _repaint(self, user: CurrentUser, name: str, file: Any, *chosen: Any) -> Updates:
        return self._painted(user, name, self._context.drafts.text(name), text(file), chosen)

    def _choose(self, user: CurrentUser, name: str, file: Any, sheet: Any = "") -> Updates:
        chosen: Chosen | None = ("", [], "", "", [], sheet, "") if sheet else None
        return self._painted(user, name, self._context.drafts.text(name), text(file), chosen)

    def _keep(self, user: CurrentUser, name: str, file: Any, content: Any, shown: Any, *chosen: Any) -> Updates:
        """Store an uploaded file in the draft, and show its content; the columns stay if it replaces the one shown."""
        file = text(file)
        try:
            table = self._files(name).keep(file, _decoded(content))
        except ParleyError as error:
            return {self._status: "", **self._context.notify(str(error), "bad")}
        self._context.audit(user, f"uploaded {file}", name)
        rows = f"{file} is uploaded: {count(len(table.rows), 'row')} and {count(len(table.columns), 'column')}."
        return {
            **self._painted(user, name, self._context.drafts.text(name), file, chosen if file == shown else None),
            self._status: self._context.html("items_uploaded.html.j2", said=rows),
        }

    def _discard(self, user: CurrentUser, name: str, file: Any) -> Updates:
        written = self._context.drafts.text(name)
        self._files(name).remove(text(file), pools_in(written) or {})
        self._context.audit(user, f"removed {text(file)}", name)
        return {**self._painted(user, name, written), **self._context.notify(f"{text(file)} is removed.")}

    def _map(self, user: CurrentUser, name: str, file: Any, *chosen: Any) -> Updates:
        table = self._files(name).read(text(file), _sheet_of(chosen))
        items = understand(table, _given(table, chosen), _stem(text(file)))
        return self._results_of(user, name, items, table.columns)

    def _show(self, _: CurrentUser, name: str, file: Any, which: Any, *chosen: Any) -> Updates:
        problems = self._items(name, text(file), chosen).problems
        number = text(which)
        if not number.isdecimal() or int(number) >= len(problems):
            raise SettingsError("There is no such item in this file. Choose one of the list.")
        return {self._page: self._page_of(name, problems[int(number)])}

    def _items(self, name: str, file: str, chosen: Chosen) -> Items:
        if fixed := self._of_other_source(name, file):
            return fixed
        table = self._files(name).read(file, _sheet_of(chosen))
        return understand(table, _given(table, chosen), _stem(file))

    def _insert_pool(self, user: CurrentUser, name: str, file: str, pool: str, chosen: Chosen) -> Updates:
        """Write the pool into the draft; raises StudyError or SettingsError."""
        items = self._items(name, file, chosen)
        if items.faults:
            raise SettingsError(f"{file} has rows that cannot be used. Correct them, and upload the file again.")
        if not pool:
            raise SettingsError("Choose a pool, or type a name for a new one.")
        try:
            TypeAdapter(Slug).validate_python(pool)
        except ValidationError:
            raise SettingsError(
                f"{pool!r} is not a name for a pool; allowed: a letter, then letters, digits, - and _."
            ) from None
        given = {"path": file, "columns": items.columns.to_json()}
        self._context.drafts.save(name, with_pool(self._context.drafts.text(name), pool, given))
        self._context.audit(user, f"wrote the pool {pool} from {file}", name)
        return self._context.notify(f"The pool {pool} has the {count(len(items.problems), 'item')} of {file}.")


def _stem(file: str) -> str:
    return file.rpartition(".")[0]


def _sheet_of(chosen: Chosen) -> str:
    return text(chosen[len(PARTS)])


def _fits(table: Table, chosen: Chosen) -> bool:
    """A question needs a column."""
    named = [name for value in chosen[: len(PARTS)] for name in (value if isinstance(value, list) else [value]) if name]
    return bool(chosen[0]) and {*named} <= {*table.columns}


def _given(table: Table, chosen: Chosen) -> dict[str, Any]:
    """The columns as they were chosen; one that would be recognised as a part left without one becomes a tag."""
    given = {part: value for part, value in zip((*PARTS, *SETTINGS), chosen, strict=True) if value}
    if len(given.get("options", ())) == 1:
        given["options"] = given["options"][0]
    guessed = recognised(table.columns, Columns.of(given)).to_json()
    if guessed.keys() - given.keys() - {"dataset"}:
        others, _ = tag_columns(table, Columns.of({**given, "tags": None}))
        given["tags"] = list(dict.fromkeys((*given.get("tags", ()), *others)))
    return given


def _decoded(content: Any) -> bytes:
    try:
        return b64decode(text(content), validate=True)
    except binascii.Error:
        raise SettingsError("The file was not sent as a whole. Upload it again.") from None
