"""Accounts, the user's own password, and the audit log; an analyst sees only their own account and entries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import gradio as gr

from app.web.console.context import ConsoleContext
from app.web.console.current_user import CurrentUser
from app.web.console.tab import LocationValues, TabLocation, dropdown, html_part, sure_of, text
from storage.accounts.passwords import LEAST_CHARS
from storage.accounts.roles import ROLES
from storage.errors import AccountError

PAGE = 30
# The value is empty, which no account's name can be.
EVERYBODY = ("all accounts", "")


class AccountsTab:
    name = "accounts"
    label = "Accounts"

    def __init__(self, context: ConsoleContext, location: TabLocation) -> None:
        self._context = context
        self._accounts = context.accounts
        self.outputs: list[Any] = []

    def build(self) -> None:
        self._people = html_part(elem_id="people")
        with gr.Row(visible=False, elem_classes="people-forms") as self._for_owners:
            self._make_inviting()
            self._make_changing()
        self._make_password()
        html_part("<h2>Audit log</h2>")
        self._who = dropdown(label="Entries by", elem_id="people-who", visible=False)
        self._deeds = html_part(elem_id="people-deeds")
        self._before = gr.Textbox(elem_id="people-before", visible="hidden")
        with gr.Row(elem_classes="actions"):
            self._newest = gr.Button("Newest", elem_id="people-newest", scale=0, min_width=130)
            self._older = gr.Button("Older", elem_id="people-older", scale=0, min_width=130)
        self._audit_parts = [self._deeds, self._before, self._newest, self._older]
        self._listed = [self._people, self._account, self._sure, self._who]
        typed = [self._old, self._new, self._again]
        self.outputs = [*self._listed, self._for_owners, self._link, *typed, *self._audit_parts]
        self._wire()

    def _make_inviting(self) -> None:
        with gr.Column(elem_classes="sheet"):
            html_part("<h3>Invite a colleague</h3>")
            self._role = gr.Radio(ROLES, value="analyst", label="Role", elem_id="people-role")
            self._invite = gr.Button("Create invitation link", elem_id="people-invite")
            self._link = html_part(elem_id="people-link")

    def _make_changing(self) -> None:
        with gr.Column(elem_classes="sheet"):
            html_part("<h3>Change or remove an account</h3>")
            self._account = dropdown(label="Account", elem_id="people-account")
            with gr.Row(elem_classes="actions"):
                self._promote = gr.Button("Make an owner", elem_id="people-owner")
                self._demote = gr.Button("Make an analyst", elem_id="people-analyst")
            with gr.Row(elem_classes="actions"):
                self._sure = gr.Checkbox(label="I want to remove this account", elem_id="people-sure")
                self._remove = gr.Button("Remove account", variant="stop", elem_id="people-remove")

    def _make_password(self) -> None:
        html_part("<h2>Your password</h2>")
        with gr.Row(elem_classes="people-password"):
            self._old = _secret("Current password", "people-old", "current-password")
            self._new = _secret(f"New password ({LEAST_CHARS}+ characters)", "people-new", "new-password")
            self._again = _secret("Repeat the new password", "people-again", "new-password")
            self._change = gr.Button("Change password", elem_id="people-change", scale=0, min_width=130)

    def _wire(self) -> None:
        context, one = self._context, [self._account]
        context.bind(self._invite.click, self._let_in, [self._role], [self._link, *self._audit_parts], owner=True)
        for button, role in ((self._promote, "owner"), (self._demote, "analyst")):
            context.bind(button.click, self._give(role), one, [*self._listed, *self._audit_parts], owner=True)
        context.bind(
            self._remove.click, self._let_out, [*one, self._sure], [*self._listed, *self._audit_parts], owner=True
        )
        sure_of(self._account, self._sure)
        typed = [self._old, self._new, self._again]
        changing = [self._change.click, *(one.submit for one in typed)]
        context.bind(changing, self._set, typed, [*typed, *self._audit_parts])
        context.bind(self._newest.click, self._first, [self._who], self._audit_parts)
        context.bind(self._who.input, self._first, [self._who], self._audit_parts)
        context.bind(self._older.click, self._audit_entries, [self._who, self._before], self._audit_parts)

    def paint(self, user: CurrentUser, location: LocationValues) -> Mapping[Any, Any]:
        return {
            **self._list(user),
            self._for_owners: gr.update(visible=user.owner),
            self._link: "",
            **dict.fromkeys([self._old, self._new, self._again], ""),
            **self._audit_entries(user, "", ""),
        }

    def _list(self, user: CurrentUser) -> dict[Any, Any]:
        everybody = self._accounts.everybody()
        seen = [one for one in everybody if user.owner or one.name == user.name]
        others = [one.name for one in everybody if user.owner]
        actors = [EVERYBODY, *((name, name) for name in self._accounts.actors() if user.owner)]
        return {
            self._people: self._context.html("people.html.j2", people=seen, visitor=user),
            self._account: gr.update(choices=others, value=None),
            self._sure: False,
            self._who: gr.update(choices=actors, value="", visible=user.owner),
        }

    def _first(self, user: CurrentUser, who: Any) -> Mapping[Any, Any]:
        return self._audit_entries(user, who, "")

    def _audit_entries(self, user: CurrentUser, who: Any, before: Any) -> dict[Any, Any]:
        """A page of the audit log; an analyst gets only their own entries."""
        by = text(who) if user.owner else user.name
        page = int(text(before)) if text(before).isdecimal() and len(text(before)) < 10 else None
        found = self._accounts.audit_log.read(by, page, PAGE + 1)
        shown = found[:PAGE]
        return {
            self._deeds: self._context.html("people_deeds.html.j2", deeds=shown, older=page is not None),
            self._before: str(shown[-1].id) if shown else "",
            self._newest: gr.update(interactive=page is not None),
            self._older: gr.update(interactive=len(found) > PAGE),
        }

    def _let_in(self, user: CurrentUser, role: Any) -> Mapping[Any, Any]:
        token = self._accounts.invitations.make(text(role), user.name)
        link = f"{self._context.settings.console_address}/welcome/{token}"
        about = f"Send this invitation link to one person. It creates one {role} account, works once"
        return {self._link: self._context.html("people_link.html.j2", link=link, about=about), **self._news(user)}

    def _give(self, role: str) -> Any:
        def give(user: CurrentUser, name: Any) -> Mapping[Any, Any]:
            self._accounts.change_role(_chosen(name), role, user.name)
            notice = self._context.notify(f"{_chosen(name)} is now an {role}.")
            return {**notice, **self._list(user), **self._news(user)}

        return give

    def _let_out(self, user: CurrentUser, name: Any, sure: Any) -> Mapping[Any, Any]:
        if sure is not True:
            raise AccountError(f"To remove {_chosen(name)}, tick the box beside the button first.")
        self._accounts.remove(_chosen(name), user.name)
        notice = self._context.notify(f"The account {_chosen(name)} is removed and logged out everywhere.")
        return {**notice, **self._list(user), **self._news(user)}

    def _set(self, user: CurrentUser, old: Any, new: Any, again: Any) -> Mapping[Any, Any]:
        if new != again:
            raise AccountError("The two new passwords differ, so nothing was changed. Type the same password twice.")
        self._accounts.change_password(user.name, text(old), text(new), keep=user.login)
        notice = self._context.notify("Your password is changed. You are logged out everywhere else.")
        return {**notice, **dict.fromkeys([self._old, self._new, self._again], ""), **self._news(user)}

    def _news(self, user: CurrentUser) -> dict[Any, Any]:
        return self._audit_entries(user, "", "")


def _secret(label: str, elem_id: str, kind: Literal["current-password", "new-password"]) -> gr.Textbox:
    attributes = gr.InputHTMLAttributes(autocomplete=kind)
    return gr.Textbox(label=label, type="password", elem_id=elem_id, html_attributes=attributes)


def _chosen(name: Any) -> str:
    if not text(name):
        raise AccountError("Choose an account first.")
    return text(name)
