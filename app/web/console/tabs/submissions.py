"""Submissions at Prolific: what should be done with each and why, and an owner's word for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import gradio as gr
from gradio.components import Component

from app.recruiters.prolific import REJECTION_CATEGORIES, SHORTEST_REJECTION, access_of, prolific_client
from app.use_cases.submissions import (
    TODOS,
    ActKind,
    RecruitedStudy,
    ask,
    ask_bonuses,
    carry_out,
    numbered,
    plan_bonuses,
    poll,
    recruited_at_prolific,
    review,
    to_approve,
)
from app.web.console.context import ConsoleContext
from app.web.console.current_user import CurrentUser
from app.web.console.tab import TabLocation, dropdown, html_part, text
from experiments.errors import NotPossible
from experiments.plural import count as how_many
from experiments.study.study import Study
from storage.payments.submissions import OVER

# What an owner may ask for a single session, by the words on the page.
DECISIONS: Mapping[str, ActKind] = {
    "send a message": "message",
    "ask for the return": "return",
    "reject": "reject",
}
MOST_ROWS = 500
HEAD = (
    "<h2>Submissions at Prolific</h2><p>Approve, reject with a reason, write to participants and pay bonuses by "
    "Prolific’s API. Look first: the buttons for it come below the list.</p>"
)
REJECTING = (
    "<p><b>Reject this submission?</b> Prolific does not pay the participant, who reads your text. It cannot be taken "
    "back here.</p>"
)
Updates = Mapping[Any, Any]


class SubmissionsSection:
    def __init__(self, context: ConsoleContext, location: TabLocation) -> None:
        self._context, self._location = context, location
        self.outputs: list[Component] = []

    def build(self) -> None:
        self._head = html_part(elem_id="submissions-head")
        self._compare = gr.Button("Look at Prolific", size="sm", visible=False, elem_id="submissions-show")
        self._view = html_part(elem_id="submissions")
        with gr.Column(visible=False, elem_classes="sheet") as self._decide:
            self._approve = gr.Button("Approve", size="sm", elem_id="submissions-approve")
            self._number = dropdown(label="Session", elem_id="submissions-session")
            self._what = dropdown(label="Ask Prolific to", choices=list(DECISIONS), elem_id="submissions-what")
            self._category = dropdown(
                label="Prolific's category", choices=list(REJECTION_CATEGORIES), visible=False,
                elem_id="submissions-category",
            )  # fmt: skip
            self._reason = gr.Textbox(
                label=f"Text, which the participant reads (a rejection needs {SHORTEST_REJECTION} characters)",
                lines=3,
                max_length=2_000,
                elem_id="submissions-reason",
            )
            self._ask = gr.Button("Ask Prolific for this", size="sm", elem_id="submissions-ask")
            with gr.Column(visible=False, elem_classes="sure", elem_id="submissions-rejecting") as self._rejecting:
                html_part(REJECTING)
                with gr.Row(elem_classes="actions"):
                    self._yes = gr.Button("Reject", size="sm", variant="stop", elem_id="submissions-reject-yes")
                    self._no = gr.Button("Cancel", size="sm", elem_id="submissions-reject-no")
        with gr.Column(visible=False, elem_classes="sheet") as self._bonuses:
            self._sum = gr.Textbox(label="Type the sum of the bonuses", max_lines=1, elem_id="submissions-sum")
            self._pay = gr.Button("Pay bonuses by Prolific", variant="primary", elem_id="submissions-pay")
        self.outputs = [
            self._head,
            self._compare,
            self._view,
            self._decide,
            self._approve,
            self._number,
            self._category,
        ]
        self.outputs += [self._what, self._reason, self._rejecting, self._bonuses, self._sum]
        asked = [self._category, self._rejecting]
        self._context.bind(self._what.input, self._fields, [self._what], asked, owner=True)
        self._context.bind(
            self._no.click, lambda *_: {self._rejecting: gr.update(visible=False)}, [], [self._rejecting], owner=True
        )
        study = self._location.study
        for button, does, given in (
            (self._compare, self._acting(_nothing), []),
            (self._approve, self._acting(_approve), []),
            (self._ask, self._asks, [self._number, self._what, self._category, self._reason]),
            (self._yes, self._acting(_reject), [self._number, self._category, self._reason]),
            (self._pay, self._acting(_pay), [self._sum]),
        ):
            self._context.bind(button.click, does, [study, *given], self.outputs, owner=True)

    def paint(self, user: CurrentUser, study: Study | None) -> Updates:
        """Without asking Prolific, which is done when somebody wants to know."""
        here = user.owner and study is not None and study.file.prolific is not None
        token = access_of(self._context.settings) is not None
        missing = {"owner": True, "study": study.name if study else ""}
        return {
            self._head: HEAD if here else "",
            self._compare: gr.update(visible=here and token),
            self._view: self._context.html("prolific_no_token.html.j2", **missing) if here and not token else "",
            self._decide: gr.update(visible=False),
            self._bonuses: gr.update(visible=False),
            **self._empty(),
        }

    def _fields(self, user: CurrentUser, what: Any) -> Updates:
        rejects = DECISIONS.get(text(what)) == "reject"
        return {self._category: gr.update(visible=rejects), self._rejecting: gr.update(visible=False)}

    def _asks(self, user: CurrentUser, name: str, number: Any, what: Any, category: Any, said: Any) -> Updates:
        if DECISIONS.get(text(what)) == "reject":
            return {self._rejecting: gr.update(visible=True)}
        return self._acting(_ask)(user, name, number, what, category, said)

    def _acting(self, act: Callable[..., str]) -> Callable[..., Updates]:
        def handle(user: CurrentUser, name: str, *values: Any) -> Updates:
            context = self._context
            known = (context.clock, context.participants, context.studies.newest(name))
            with prolific_client(context.settings) as client:
                recruited = recruited_at_prolific(context.settings, context.database, client, *known)
                poll(recruited)
                if done := act(recruited, user.name, *values):
                    context.audit(user, f"asked Prolific to {done}", name)
                    carry_out(recruited)
                    poll(recruited)
                return self._shown(recruited)

        return handle

    def _shown(self, recruited: RecruitedStudy) -> Updates:
        rows = sorted(map(review, recruited.payees()), key=lambda one: TODOS.index(one.todo))
        planned, ready = plan_bonuses(recruited), to_approve(recruited)
        sessions = [str(one.payee.number) for one in rows if one.payee.status not in OVER]
        acts = recruited.acts()
        last = [act for act in acts if act.is_open or act is acts[-1]]
        return {
            self._view: self._context.html(
                "submissions.html.j2", rows=rows, most=MOST_ROWS, planned=planned, acts=last
            ),
            self._decide: gr.update(visible=bool(sessions)),
            self._approve: gr.update(
                value=f"Approve all {len(ready):,} with “approve” in the list", visible=bool(ready)
            ),
            self._bonuses: gr.update(visible=bool(planned.payments)),
            **self._empty(),
            self._number: gr.update(choices=sessions, value=None),
        }

    def _empty(self) -> Updates:
        nothing = gr.update(choices=[], value=None)
        return {
            self._number: nothing, self._what: gr.update(value=None), self._reason: "",
            self._category: gr.update(value=None, visible=False), self._sum: "",
            self._rejecting: gr.update(visible=False),
        }  # fmt: skip


def _nothing(recruited: RecruitedStudy, who: str) -> str:
    return ""


def _approve(recruited: RecruitedStudy, who: str) -> str:
    ready = to_approve(recruited)
    ask(recruited, "approve", ready, who)
    return f"approve {how_many(len(ready), 'submission')}"


def _ask(recruited: RecruitedStudy, who: str, number: Any, what: Any, category: Any, said: Any) -> str:
    if not text(number).isdecimal() or (act := DECISIONS.get(text(what))) is None:
        raise NotPossible("Choose a session, and an action for Prolific.")
    ask(recruited, act, numbered(recruited, [int(number)]), who, text(said), text(category))
    return f"{what}: session {number}"


def _reject(recruited: RecruitedStudy, who: str, number: Any, category: Any, said: Any) -> str:
    return _ask(recruited, who, number, "reject", category, said)


def _pay(recruited: RecruitedStudy, who: str, agreed: Any) -> str:
    return f"pay bonuses of {ask_bonuses(recruited, text(agreed), who)}"
