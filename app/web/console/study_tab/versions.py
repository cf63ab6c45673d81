"""Versions: the published versions of a study, the changes in each, and its study file."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import gradio as gr
from gradio.components import Component

from app.web.console.context import ConsoleContext
from app.web.console.current_user import CurrentUser
from app.web.console.study_tab.base import Refresh, StudyView, Updates
from app.web.console.tab import TabLocation, dropdown, html_part
from storage.registers.study_versions import StudyVersion, difference, readable, versions

HASH_CHARS = 12
SIGNS = {"+": "added", "-": "removed", "@": "place"}


class VersionsSection:
    def __init__(self, context: ConsoleContext, location: TabLocation) -> None:
        self._context, self._location = context, location
        self.outputs: list[Component] = []
        self._drawn = lru_cache(maxsize=32)(self._draw)

    def build(self) -> None:
        self._table = html_part(elem_id="versions")
        self._which = dropdown(label="Version", visible=False, elem_id="version")
        self._one = html_part(elem_id="version-shown")
        self.outputs = [self._table, self._which, self._one]

    def wire(self, outputs: Sequence[Component], repaint: Refresh) -> None:
        self._context.bind(self._which.input, self._show, [self._location.study, self._which], [self._one])

    def paint(self, user: CurrentUser, view: StudyView) -> Updates:
        found = [(f"{version.version} ({version.hash[:HASH_CHARS]})", version.hash) for version in view.versions]
        hash_ = found[0][1] if found else view.study.hash if view.study else ""
        return {
            self._table: self._context.html("study_versions.html.j2", seen=view),
            self._which: gr.update(choices=found, value=hash_ if found else None, visible=len(found) > 1),
            self._one: self._version(view.versions, hash_),
        }

    def _show(self, _: CurrentUser, name: str, hash_: str) -> Updates:
        history = versions(self._context.database, name)
        return {self._one: self._version(history, hash_ if hash_ in {one.hash for one in history} else "")}

    def _version(self, versions: Sequence[StudyVersion], hash_: str) -> str:
        hashes = [one.hash for one in versions]
        older = hashes[hashes.index(hash_) + 1 :] if hash_ in hashes else []
        return self._drawn(hash_, older[0] if older else "") if hash_ else ""

    def _draw(self, hash_: str, older: str) -> str:
        """A version with its changes; cached, because versions never change."""
        study = self._context.studies.get(hash_)
        before = self._context.studies.get(older) if older else None
        lines = changes(difference(before, study)) if before else []
        return self._context.html(
            "study_version.html.j2", study=study, before=before, lines=lines, text=readable(study)
        )


def changes(diff: str) -> list[tuple[str, str]]:
    """The lines of a unified diff, each with its kind: added, removed, place (a header), or empty."""
    return [
        (SIGNS.get(line[:1], "") if line[:3] not in ("---", "+++") else "place", line) for line in diff.splitlines()
    ]
