"""Model servers: those that owners saved here, with sealed keys, and those of the settings; none belongs to a study."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import gradio as gr
from pydantic import TypeAdapter, ValidationError

from app.backends.providers import BACKEND, PROVIDERS
from app.config.model_servers import Server
from app.config.settings import env_name
from app.errors import SettingsError
from app.use_cases.doctor import Deployment, examine, published
from app.use_cases.tables import tables
from app.web.console.context import ConsoleContext
from app.web.console.current_user import CurrentUser
from app.web.console.tab import LocationValues, TabLocation, dropdown, html_part, meanwhile, sure_of, text
from experiments.study.base_model import Slug
from storage.accounts.model_servers import SavedServer, open_key, remove_server, save_server, saved_servers
from storage.errors import StorageError
from storage.registers.contacts import PROLIFIC

OTHER = "other"
KINDS = [
    *((provider.title, name) for name, provider in PROVIDERS.items()),
    *(("Another server", OTHER), ("Prolific (to recruit)", PROLIFIC)),
]
# A word of an example's address that is to be replaced, such as HOST.
PLACEHOLDER = re.compile(r"\b[A-Z]{4,}\b")
MOST_KEY = 500
_NAME = TypeAdapter(Slug)


class ServersTab:
    name = "servers"
    label = "Model servers"

    def __init__(self, context: ConsoleContext, location: TabLocation) -> None:
        self._context = context
        self.outputs: list[Any] = []

    def build(self) -> None:
        self._list = html_part(elem_id="servers")
        with gr.Row(visible=False, elem_classes="people-forms") as self._forms:
            with gr.Column(elem_classes="sheet"):
                html_part("<h3>Save a server</h3>")
                self._kind = dropdown("Kind", elem_id="server-kind")
                self._name = gr.Textbox(
                    label="Name (what a study writes as server)", max_length=60, elem_id="server-name"
                )
                self._url = gr.Textbox(label="Address", max_length=500, elem_id="server-url")
                self._key = gr.Textbox(
                    label="Key (leave empty if it needs none)",
                    type="password",
                    max_length=MOST_KEY,
                    elem_id="server-key",
                    html_attributes=gr.InputHTMLAttributes(autocomplete="off"),
                )
                self._save = gr.Button("Save server", variant="primary", elem_id="server-save")
                html_part(
                    '<p class="quiet">The key is stored encrypted and is never shown again. Saving a name again '
                    "replaces the address and the key.</p>"
                )
            with gr.Column(elem_classes="sheet"):
                html_part("<h3>Remove a server</h3>")
                self._old = dropdown("Server", elem_id="server-old")
                self._sure = gr.Checkbox(label="I want to remove this server and its key", elem_id="server-sure")
                self._remove = gr.Button("Remove server", variant="stop", elem_id="server-remove")
        with gr.Column(visible=False, elem_id="doctor") as self._doctor:
            html_part("<h2>This installation</h2><p class=lead>What is wrong around Parley here.</p>")
            check = gr.Button("Check this installation", size="sm", elem_id="doctor-check")
            self._found = html_part(elem_id="doctor-found")
        typed = [self._kind, self._name, self._url, self._key]
        changed = [self._list, *typed, self._old, self._sure]
        self.outputs = [*changed, self._forms, self._doctor, self._found]
        context = self._context
        known = [self._name, self._url]
        context.bind(self._kind.input, self._fill, [self._kind, *known], known, owner=True)
        saving = [self._save.click, *(one.submit for one in (self._name, self._url, self._key))]
        context.bind(saving, self._keep, typed, changed, owner=True)
        meanwhile(check, self._found, "Checking")
        context.bind(check.click, self._examine, [], [self._found], owner=True)
        sure_of(self._old, self._sure)
        context.bind(self._remove.click, self._drop, [self._old, self._sure], changed, owner=True)

    def paint(self, user: CurrentUser, location: LocationValues) -> Mapping[Any, Any]:
        owner = gr.update(visible=user.owner)
        return {**self._shown(user), self._forms: owner, self._doctor: owner, self._found: ""}

    def _examine(self, user: CurrentUser) -> Mapping[Any, Any]:
        context = self._context
        deployment = Deployment(context.settings, tuple(published(context.database)), context.database)
        rows = [{"area": area, **asdict(one)} for area, one in examine(deployment)]
        return {self._found: context.html("as_tables.html.j2", of="Findings", tables=tuple(tables(rows)))}

    def _shown(self, user: CurrentUser) -> dict[Any, Any]:
        saved = saved_servers(self._context.database)
        return {
            self._list: self._context.html(
                "servers.html.j2",
                saved=[(one, self._state(one), _line(one)) for one in saved],
                fixed=self._context.settings.model_servers,
                variable=env_name("model_servers"),
                titles={name: title for title, name in KINDS},
                backend=BACKEND,
                owner=user.owner,
            ),
            self._kind: gr.update(choices=KINDS, value=OTHER),
            self._name: "",
            self._url: "",
            self._key: "",
            self._old: gr.update(choices=[one.name for one in saved], value=None),
            self._sure: False,
        }

    def _state(self, server: SavedServer) -> tuple[str, str]:
        """The state of a server in a word, and the kind of its tag."""
        if server.name in self._context.settings.model_servers:
            return f"not used: {env_name('model_servers')} has a server of this name", "warn"
        if not server.sealed:
            return "no key", ""
        try:
            open_key(self._context.secret, server)
        except StorageError:
            return "the key cannot be opened with this secret: enter it again", "bad"
        return "key stored", "good"

    def _fill(self, _: CurrentUser, kind: Any, name: Any, url: Any) -> Mapping[Any, Any]:
        """Fill in a provider's values unless others were typed: Gradio sends this when the focus leaves the kinds."""
        filled = {"": "", PROLIFIC: self._context.settings.prolific_url}
        filled |= {known: provider.url for known, provider in PROVIDERS.items()}
        kind = kind if kind in filled else ""
        fills_name, fills_url = text(name) in filled, text(url) in filled.values()
        return {**({self._name: kind} if fills_name else {}), **({self._url: filled[kind]} if fills_url else {})}

    def _keep(self, user: CurrentUser, kind: Any, name: Any, url: Any, key: Any) -> Mapping[Any, Any]:
        name, url, key = text(name).strip(), text(url).strip(), text(key).strip()
        server = _server(name, url, key)
        if name in self._context.settings.model_servers:
            raise SettingsError(f"{env_name('model_servers')} has a server {name!r}, which wins. Choose another name.")
        if (name == PROLIFIC) != (kind == PROLIFIC):
            raise SettingsError(f"The token of Prolific, and nothing else, is saved under the name {PROLIFIC!r}.")
        provider = text(kind) if text(kind) in (*PROVIDERS, PROLIFIC) else OTHER
        one = SavedServer(name, provider, server.url, user.name, 0, b"")
        save_server(self._context.database, self._context.secret, one, key, self._context.clock.now_us)
        return {**self._shown(user), **self._context.notify(f"The server {name} is saved, and can be used now.")}

    def _drop(self, user: CurrentUser, name: Any, sure: Any) -> Mapping[Any, Any]:
        if not text(name):
            raise SettingsError("Choose a server first.")
        if sure is not True:
            raise SettingsError(f"To remove {text(name)}, tick the box beside the button first.")
        remove_server(self._context.database, text(name), user.name, self._context.clock.now_us)
        done = f"The server {text(name)} is removed. Models of studies that name it no longer reply."
        return {**self._shown(user), **self._context.notify(done)}


def _line(server: SavedServer) -> str:
    if server.kind == PROLIFIC:
        return "prolific"
    provider = PROVIDERS.get(server.kind)
    model = (
        {"model": provider.model} | ({"options": dict(provider.options)} if provider.options else {})
        if provider
        else {}
    )
    return json.dumps({"backend": BACKEND, "server": server.name, **model}).replace('"', "")


def _server(name: str, url: str, key: str) -> Server:
    """The server as it was entered; raises SettingsError, which never quotes the key."""
    if not name:
        raise SettingsError("Type a name for the server first.")
    try:
        _NAME.validate_python(name)
    except ValidationError:
        raise SettingsError(
            f"{name[:60]!r} is not a name for a server: a letter, then letters, digits, - and _, at most 60."
        ) from None
    if (word := PLACEHOLDER.search(url)) is not None:
        raise SettingsError(f"Replace {word[0]} in the address by that of your server.")
    try:
        return Server.model_validate({"url": url, "key": key or None})
    except ValidationError as error:
        field, said = error.errors()[0]["loc"][0], error.errors()[0]["msg"].removeprefix("Value error, ")
        raise SettingsError(f"The {'address' if field == 'url' else 'key'} {said.rstrip('.')}.") from None
