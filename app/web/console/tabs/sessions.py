"""Sessions: a filtered list, and for one session its transcript, notes, exclusion and replay."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import gradio as gr
from gradio.components import Component

from app.use_cases.sessions import add_remark, delete_recruiter_id, export_person, withdraw
from app.web.console.context import ConsoleContext
from app.web.console.current_user import CurrentUser
from app.web.console.session_filters import (
    ANY,
    DEFAULTS,
    FLAGS,
    LABELS,
    NAMES,
    OF_PEOPLE,
    ORIGIN_CHOICES,
    STATUS_CHOICES,
    cell_choices,
    choices,
    parse_filters,
)
from app.web.console.session_replay import SessionReplay
from app.web.console.tab import PICKS, LocationValues, TabLocation, dropdown, html_part
from app.web.console.text_rendering import BudgetedRenderer
from experiments.plural import count as how_many
from experiments.session.desk import Kind, can_end_with
from experiments.session.engine import fold
from experiments.session.outcomes import status_label
from experiments.views.funnel import funnel_steps
from experiments.views.quality_flags import flags
from experiments.views.transcript import transcript_of
from problems.errors import ParleyError
from storage.errors import StorageError
from storage.registers.origins import Origin
from storage.reports.person import person_of_session, write_person
from storage.reports.sessions import (
    SessionQuery,
    SessionRecord,
    cells_of,
    count_by_origin,
    read_session,
    sessions,
    waves_of,
)
from storage.schemas.registry import released

MOST_ROWS = 100
MOST_CELL_CHARS = 300
# How a page was left other than by an answer.
HOW: Mapping[str, str] = {
    "missed": "Did not pass, and tried again or was warned.",
    "declined": "Did not agree.",
    "skipped": "Skipped the problem because there was no reply.",
    "expired": "Time ran out. These values were in the form.",
    "finished": "The session ended here.",
}
NOTED: Mapping[Kind, str] = {
    "noted": "The note on session {number} is saved.",
    "excluded": "Session {number} is excluded.",
    "included": "Session {number} is included again.",
    "helped": "The answer to session {number} is sent.",
    "time_given": "Session {number} has more time.",
    "finished": "Session {number} is ended.",
}
NOT_SURE = "Tick the box first: what is erased cannot be brought back."
PICKED = "(study, _) => [study, window.parleyConsole.picked ?? '']"
Updates = Mapping[Component, Any]
# Erases what is known of the session of a stream, and says what was erased.
Erasure = Callable[[CurrentUser, str], str]


class SessionsTab:
    name = "sessions"
    label = "Sessions"

    def __init__(self, context: ConsoleContext, location: TabLocation) -> None:
        self._context = context
        self._location = location
        self._replay = SessionReplay(context, location, lambda study, number: self._read(study, _number(number) or 0))
        self.outputs: list[Component] = []

    def build(self) -> None:
        self._build_filters()
        with gr.Row(elem_id="sessions-columns"):
            with gr.Column(elem_id="sessions-left", min_width=380, scale=5):
                self._list = html_part(elem_id="sessions-list", js_on_load=PICKS)
                with gr.Row():
                    self._newest = gr.Button("Newest", elem_id="sessions-newest", size="sm", scale=0)
                    self._older = gr.Button("Older", elem_id="sessions-older", size="sm", scale=0)
                self._next = gr.Textbox(elem_id="sessions-next", visible="hidden")
                self._listed = gr.Textbox(elem_id="sessions-listed", visible="hidden")
            with gr.Column(elem_id="sessions-right", min_width=420, scale=7):
                self._build_session()
        listed = [self._list, self._older, self._next, self._listed, self._person]
        filters = [*self._filters.values(), self._find]
        self._shown = [
            self._head,
            self._views,
            self._actions,
            self._said,
            self._refused,
            self._exclude,
            self._include,
            self._answer,
            self._desk,
            self._outcome,
            self._story,
            *self._replay.outputs,
            self._identity,
            self._reveal,
            self._person_data,
            self._erase,
            self._sure,
        ]
        self.outputs = [*listed, *filters, *self._shown]
        self._wire(listed)

    def _build_filters(self) -> None:
        fields: dict[str, Component] = {}
        with gr.Row(elem_id="sessions-filters"):
            fields["text"] = _box("text", "12")
            fields["origin"] = _pick("origin", ORIGIN_CHOICES)
            fields["stands"] = _pick("stands", STATUS_CHOICES)
            fields["cell"] = _pick("cell", [("any", ANY)])
            fields["flag"] = _pick("flag", choices(FLAGS, "any"))
            fields["excluded"] = _pick("excluded", choices(("yes", "no"), "any"))
            fields["language"] = _pick("language", [("any", ANY)])
            fields["since"] = _box("since", "2026-11-21")
            fields["until"] = _box("until", "2026-11-30")
            self._clear = gr.Button("Clear filters", elem_id="sessions-clear", size="sm", scale=0)
            about: dict[str, Any] = {"placeholder": "complete ID", "max_lines": 1, "visible": False}
            self._person = gr.Textbox(label="Recruiter ID", elem_id="sessions-person", **about)
            self._find = gr.Button("Find this ID", elem_id="sessions-find", size="sm", scale=0, visible=False)
        self._filters = {name: fields[name] for name in NAMES}

    def _build_session(self) -> None:
        self._head = html_part(elem_id="session-head", js_on_load=PICKS)
        with gr.Row(elem_id="session-identity"):
            self._reveal = gr.Button("Show recruiter ID", elem_id="session-reveal", size="sm", visible=False)
            self._person_data = gr.Button(
                "Export this person's data", elem_id="session-person-data", size="sm", visible=False
            )
            self._identity = html_part(elem_id="session-id")
        with gr.Column(elem_id="session-actions", visible=False) as self._actions:
            label = "Note, answer, or reason to exclude or include again"
            self._said = gr.Textbox(label=label, elem_id="session-said", lines=1, max_lines=4)
            self._refused = html_part(elem_id="session-refused")
            with gr.Row():
                self._answer = gr.Button("Send as answer", elem_id="session-answer", size="sm", variant="primary")
                self._note = gr.Button("Add note", elem_id="session-note", size="sm")
                self._exclude = gr.Button("Exclude session", elem_id="session-exclude", size="sm")
                self._include = gr.Button("Include session again", elem_id="session-include", size="sm")
            with gr.Accordion("Give time or end…", open=False, elem_id="session-desk") as self._desk, gr.Row():
                self._minutes = gr.Textbox("5", label="Minutes", elem_id="session-minutes", max_lines=1, min_width=80)
                self._give = gr.Button("Give time", elem_id="session-give", size="sm")
                self._outcome = dropdown(label="Outcome", elem_id="session-outcome", min_width=160)
                self._end = gr.Button("End session", elem_id="session-end", size="sm", variant="stop")
        with gr.Accordion("Erase…", open=False, visible=False, elem_id="session-erase") as self._erase:
            self._sure = gr.Checkbox(label="I want to erase it permanently", elem_id="session-sure")
            with gr.Row():
                self._withdraw = gr.Button("Withdraw session", elem_id="session-withdraw", size="sm", variant="stop")
                self._unlink = gr.Button("Delete recruiter ID", elem_id="session-unlink", size="sm", variant="stop")
        with gr.Tabs(elem_id="session-views", visible=False) as self._views:
            with gr.Tab("Transcript", id="transcript"):
                self._story = html_part(elem_id="session-story")
            with gr.Tab("Replay", id="replay", elem_id="session-replay"):
                self._replay.build()
                self._back = gr.Button("Back to the list", elem_id="session-back", size="sm")

    def _wire(self, listed: list[Component]) -> None:
        place, filters = self._location, list(self._filters.values())
        changes = [one.input for one in filters]  # type: ignore[attr-defined]  # Gradio adds its events when it runs
        on, inputs = self._context.bind, [place.study, *filters]
        on(changes, self._filter, [self._listed, *inputs], listed)
        on(self._newest.click, self._list_newest, inputs, listed)
        on(self._older.click, self._list_older, [*inputs, self._next], listed)
        cleared = [*listed, *filters]
        on(self._clear.click, self._list_all, [place.study], cleared)
        on([self._find.click, self._person.submit], self._list_person, [place.study, self._person], cleared, owner=True)
        opened = [place.session, *self._shown]
        here = [place.study, place.session]
        on([self._list.click, self._head.click], self._open, here, opened, js=PICKED)
        on(self._back.click, lambda *_: {self._views: gr.update(selected="transcript")}, [], [self._views], quiet=True)
        on(self._reveal.click, self._show_id, here, [self._identity], owner=True)
        on(self._person_data.click, self._export_person, here, [self._identity], owner=True)
        after = [*self._shown, *listed]
        said: tuple[tuple[Any, Component, Kind], ...] = (
            ([self._note.click, self._said.submit], self._said, "noted"),
            (self._exclude.click, self._said, "excluded"),
            (self._include.click, self._said, "included"),
            (self._answer.click, self._said, "helped"),
            (self._give.click, self._minutes, "time_given"),
            (self._end.click, self._outcome, "finished"),
        )
        for pressed, field, kind in said:
            on(pressed, partial(self._say, kind), [*here, field, *filters], after)
        for button, erase in ((self._withdraw, self._withdrawn), (self._unlink, self._unlinked)):
            on(button.click, partial(self._erased, erase), [*here, self._sure, *filters], after, owner=True)

    def paint(self, user: CurrentUser, location: LocationValues) -> Updates:
        cells = cell_choices(cells_of(self._context.database, location.study))
        return {
            **self._list_all(user, location.study),
            self._filters["cell"]: gr.update(choices=cells, value=ANY),
            self._filters["language"]: gr.update(choices=choices(self._languages(location.study), "any"), value=ANY),
            self._person: gr.update(visible=user.owner, value=""),
            self._find: gr.update(visible=user.owner),
            **self._opened(user, location),
        }

    def _languages(self, study: str) -> tuple[str, ...]:
        """The languages of a study; none if it has imported sessions only."""
        found = self._context.study(study)
        return found.file.offered if found else ()

    def _list_all(self, _: CurrentUser, study: str) -> Updates:
        return {**self._listing(study, _first_filters()), **self._reset(DEFAULTS)}

    def _filter(self, _: CurrentUser, listed: str, study: str, *sent: Any) -> Updates:
        """Skipped for the list's own filters: Gradio sends this whenever the focus leaves a filter."""
        return {} if listed == _mark(sent) else self._listing(study, sent)

    def _list_newest(self, _: CurrentUser, study: str, *sent: Any) -> Updates:
        return self._listing(study, sent)

    def _list_older(self, _: CurrentUser, study: str, *sent: Any) -> Updates:
        return self._listing(study, sent[:-1], str(sent[-1] or ""))

    def _list_person(self, user: CurrentUser, study: str, id_: str) -> Updates:
        """Show the sessions of a recruiter's ID, and clear the filters."""
        if not (id_ or "").strip():
            return self._list_all(user, study)
        self._context.audit(user, "searched for a recruiter ID", study)
        query = SessionQuery(streams=self._context.participants.called(study, id_.strip()))
        said = {"applied": [("Recruiter ID", id_.strip())], "filtered": True, "no_dates": (), "hidden": 0}
        return {
            **self._page_of(study, query, "", said),
            **self._reset({}),
            self._listed: _mark([ANY] * len(NAMES)),
            self._person: gr.skip(),
        }

    def _reset(self, values: Mapping[str, str]) -> dict[Component, Any]:
        return {component: gr.update(value=values.get(name, ANY)) for name, component in self._filters.items()}

    def _listing(self, study: str, sent: Sequence[Any], before: str = "") -> Updates:
        """A page of the sessions that the filters let through; the recruiter's ID, which they replace, is emptied."""
        found = parse_filters(dict(zip(NAMES, sent, strict=True)))
        counted = count_by_origin(self._context.database, study) if found.query.origins == OF_PEOPLE else {}
        hidden = sum(number for origin, number in counted.items() if origin not in OF_PEOPLE)
        filtered = bool(before) or tuple(sent) != _first_filters()
        said = {"applied": found.applied, "filtered": filtered, "no_dates": found.no_dates, "hidden": hidden}
        page = self._page_of(study, found.query, before, said)
        return {**page, self._listed: _mark(sent), self._person: gr.update(value="")}

    def _page_of(self, study: str, query: SessionQuery, before: str, said: Mapping[str, Any]) -> dict[Component, Any]:
        found = sessions(self._context.database, study, query, self._context.clock.now_us(), _number(before))
        newest = self._context.study(study)
        titles = {step.path: step.title for step in funnel_steps(newest)} if newest else {}
        rehearsal = query.origins == (Origin.REHEARSAL,)
        html = self._context.html(
            "sessions.html.j2", found=found, study=study, titles=titles, rehearsal=rehearsal, **said
        )
        last = str(found.entries[-1].number) if found.entries else ""
        return {self._list: html, self._older: gr.update(interactive=found.more), self._next: last}

    def _open(self, user: CurrentUser, study: str, number: str = "") -> Updates:
        return {self._location.session: number, **self._opened(user, LocationValues(study, number))}

    def _opened(self, user: CurrentUser, location: LocationValues) -> Updates:
        number = _number(location.session)
        if number is None:
            return {**self._nothing(), self._head: self._context.html("session_none.html.j2")}
        try:
            session = self._read(location.study, number)
        except StorageError as error:
            none = self._context.html("session_none.html.j2")
            return {**self._nothing(), self._head: none, **self._context.notify(str(error), "warn")}
        return {**self._nothing(), **self._session_page(user, session)}

    def _nothing(self) -> dict[Component, Any]:
        hidden = dict.fromkeys(
            (self._views, self._actions, self._reveal, self._person_data, self._erase), gr.update(visible=False)
        )
        # Also what was typed: a note on one session must not become one on the next.
        texts = dict.fromkeys((self._head, self._story, self._identity, self._said, self._refused), "")
        return {**texts, **hidden, self._sure: False, **self._replay.nothing()}

    def _session_page(self, user: CurrentUser, session: SessionRecord) -> Updates:
        html, entry = self._context.html, session.entry
        if session.study is None:
            tables = {row.table: [one for one in session.rows if one.table == row.table] for row in session.rows}
            first_rows = {name: (released(name).columns, rows[:MOST_ROWS], len(rows)) for name, rows in tables.items()}
            return {
                self._head: html("session_head.html.j2", entry=entry, transcript=None, study=None, flags=()),
                self._views: gr.update(visible=True),
                self._story: html("imported.html.j2", tables=first_rows, cell=_cell),
                **self._replay.nothing(html("session_no_replay.html.j2")),
            }
        transcript = transcript_of(session.study, session.events)
        odd = flags(session.study, fold(session.events))
        outcomes = [(status_label(name), name) for name in can_end_with(session.study)]
        reading = BudgetedRenderer(dollars=session.study.file.dollar_maths, pictures=session.study.pictures)
        return {
            self._head: html(
                "session_head.html.j2",
                entry=entry,
                transcript=transcript,
                study=session.study,
                flags=odd,
                waves=waves_of(self._context.database, entry.stream),
            ),
            self._story: html("story.html.j2", transcript=transcript, read=reading, line=reading.line, how=HOW),
            self._views: gr.update(visible=True),
            self._actions: gr.update(visible=transcript.outcome != "withdrawn"),
            self._exclude: gr.update(visible=entry.excluded is None),
            self._include: gr.update(visible=entry.excluded is not None),
            self._answer: gr.update(visible=session.study.file.help is not None),
            self._desk: gr.update(visible=not transcript.outcome, open=False),
            self._outcome: gr.update(choices=outcomes, value=None),
            **self._replay.show(session),
            self._reveal: gr.update(visible=user.owner),
            self._person_data: gr.update(visible=user.owner),
            self._erase: gr.update(visible=user.owner and transcript.outcome != "withdrawn", open=False),
        }

    def _show_id(self, user: CurrentUser, study: str, number: str) -> Updates:
        entry = self._read(study, _number(number) or 0).entry
        self._context.audit(user, "viewed a recruiter ID", f"{study} No. {entry.number}")
        return {
            self._identity: self._context.html(
                "identity.html.j2", person=self._context.participants.reveal(entry.stream)
            )
        }

    def _export_person(self, user: CurrentUser, study: str, number: str) -> Updates:
        context, entry = self._context, self._read(study, _number(number) or 0).entry
        found = person_of_session(context.database, context.participants, entry.stream)
        data = export_person(context.database, context.participants, found, user.name, context.clock)
        about = f"one person's data, from session {entry.number} of {study}"
        name, count = f"person-{study}-{entry.number}.zip", len(data["sessions"])
        link = context.downloads.offer(user, name, about, count, partial(write_person, data))
        about = f"{how_many(count, 'session')} of this person. The file names the person: send it to nobody else."
        return {self._identity: context.html("file_link.html.j2", link=link, about=about, doubtful=found.doubtful)}

    def _say(self, kind: Kind, user: CurrentUser, study: str, number: str, text: str, *sent: Any) -> Updates:
        context, entry = self._context, self._read(study, _number(number) or 0).entry
        try:
            done = asyncio.run(
                add_remark(context.sessions, context.database, entry.stream, kind, text or "", user.name)
            )
        except ParleyError as error:
            return {self._refused: context.notify(str(error), "bad")[context.note]}
        said = NOTED[kind].format(number=entry.number) + (" So are the other waves of the person." if done[1:] else "")
        return self._done(user, LocationValues(study, number), sent, said)

    def _erased(self, erase: Erasure, user: CurrentUser, study: str, number: str, sure: Any, *sent: Any) -> Updates:
        entry = self._read(study, _number(number) or 0).entry
        if sure is not True:
            return self._context.notify(NOT_SURE, "warn")
        return self._done(user, LocationValues(study, number), sent, erase(user, entry.stream))

    def _withdrawn(self, user: CurrentUser, stream: str) -> str:
        asyncio.run(withdraw(self._context.sessions, self._context.database, [stream], user.name))
        return "The session's data are erased. Files exported earlier still have them: export again."

    def _unlinked(self, user: CurrentUser, stream: str) -> str:
        known = self._context.database, self._context.participants
        deleted = delete_recruiter_id(*known, person_of_session(*known, stream), user.name, self._context.clock)
        return f"Sessions that have lost their recruiter ID: {deleted:,}."

    def _done(self, user: CurrentUser, location: LocationValues, sent: Sequence[Any], said: str) -> Updates:
        return {**self._opened(user, location), **self._listing(location.study, sent), **self._context.notify(said)}

    def _read(self, study: str, number: int) -> SessionRecord:
        return read_session(
            self._context.database, self._context.studies, study or "", number, self._context.clock.now_us()
        )


def _box(name: str, example: str) -> gr.Textbox:
    return gr.Textbox(label=LABELS[name], elem_id=f"sessions-{name}", placeholder=example, min_width=110, max_lines=1)


def _pick(name: str, offered: Sequence[tuple[str, str]]) -> gr.Dropdown:
    at_first: dict[str, Any] = {"choices": list(offered), "value": DEFAULTS.get(name, ANY)}
    return dropdown(label=LABELS[name], elem_id=f"sessions-{name}", min_width=110, **at_first)


def _cell(value: Any) -> str:
    shown = "" if value is None else str(value)
    return shown if len(shown) <= MOST_CELL_CHARS else f"{shown[:MOST_CELL_CHARS]}…"


def _first_filters() -> tuple[str, ...]:
    return tuple(DEFAULTS.get(name, ANY) for name in NAMES)


def _mark(sent: Sequence[Any]) -> str:
    return json.dumps(sent)


def _number(text: str) -> int | None:
    return int(text) if isinstance(text, str) and text.isascii() and text.isdecimal() and len(text) < 10 else None
