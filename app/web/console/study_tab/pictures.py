"""Pictures of a draft: upload several at once, look at them, remove one. They lie beside the study file."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import gradio as gr
from gradio.components import Component

from app.studies.picture_files import ENDINGS, MOST_PICTURES, PictureFiles
from app.web.console.context import ConsoleContext
from app.web.console.current_user import CurrentUser
from app.web.console.study_tab.base import Updates, check_file
from app.web.console.tab import TabLocation, dropdown, text
from problems.pictures import MOST_BYTES, MOST_PIXELS


class DraftPictures:
    def __init__(self, desk: ConsoleContext, place: TabLocation) -> None:
        self._desk, self._place = desk, place
        self.outputs: list[Component] = []

    def build(self) -> None:
        self._upload = gr.HTML(elem_id="pictures", padding=False, apply_default_css=False)
        self.sent = gr.Button("Uploaded", visible="hidden", elem_id="pictures-sent")
        """Pressed by the page once the chosen pictures were sent."""
        self._list = gr.HTML(elem_id="pictures-list", padding=False, apply_default_css=False)
        with gr.Row(visible=False, elem_id="pictures-removal") as self._removal:
            self._which = dropdown("Picture", elem_id="pictures-which")
            self._remove = gr.Button("Remove picture", size="sm", elem_id="pictures-remove")
        self.outputs = [self._upload, self._list, self._removal, self._which]

    def wire(self) -> None:
        on, study = self._desk.bind, self._place.study
        on(self._remove.click, self._discard, [study, self._which], self.outputs, owner=True)

    def paint(self, visitor: CurrentUser, name: str) -> Updates:
        limits = {"endings": ENDINGS, "largest": MOST_BYTES, "pixels": MOST_PIXELS, "most": MOST_PICTURES}
        found = self._files(name).all()
        names = [one.name for one in found]
        return {
            self._upload: self._desk.html("pictures_upload.html.j2", study=name, owner=visitor.owner, **limits),
            self._list: self._desk.html("pictures_list.html.j2", pictures=found, written=_written),
            self._removal: gr.update(visible=visitor.owner and bool(names)),
            self._which: gr.update(choices=names, value=names[0] if names else None),
        }

    def _discard(self, visitor: CurrentUser, name: str, which: Any) -> Updates:
        study = check_file(self._desk, name, self._desk.drafts.text(name)).study
        self._files(name).remove(text(which), study.pictures.by_key if study else ())
        self._desk.audit(visitor, f"removed {text(which)}", name)
        return {**self.paint(visitor, name), **self._desk.notify(f"{text(which)} is removed.")}

    def _files(self, name: str) -> PictureFiles:
        self._desk.drafts.text(name)  # there is such a draft
        return PictureFiles(self._desk.drafts.folder(name))


def _written(name: str) -> str:
    return f"![what it shows]({quote(name)})"
