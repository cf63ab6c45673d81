"""Per-model quirks of a server, learned from refusals and replies."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import orjson

from app.backends.base import JSON, PromptMessage, Request, as_chat_messages
from app.backends.wire.error_mapping import NO_SYSTEM, error_in
from app.backends.wire.reasoning import THINK_END, UNOPENED, ReasoningSplitter
from app.config.settings import Settings
from app.errors import BackendRejected

SystemRole = Literal["system", "developer", "user"]
SYSTEM = "system"
# Fields that a server may know by another name.
OTHER_NAME = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
# Fields without which a reply is one as well.
OPTIONAL = ("temperature", "stream_options", "max_output_tokens", "store")
# How servers say that they do not know a field, or take no value but their own for it.
UNSUPPORTED = re.compile(
    r"unsupported|not[ _]supported|n.t support|not support|unrecogni[sz]ed|unknown|unexpected|not permitted|not allowed"
    r"|extra (inputs|fields)|deprecated|invalid (argument|field|parameter)",
    re.I,
)
REFUSALS = ("status_400", "status_422")

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Dialect:
    """Facts learned about one model on one server; shared by all requests to it with the same options."""

    model: str = ""
    refused: set[str] = field(default_factory=set)
    """Fields of the request that the server refuses, or `system`."""
    unopened: bool | None = None
    """True if replies begin with reasoning that has no opening tag: known of the model, or found in a reply. None where
    it is not known."""

    def __post_init__(self) -> None:
        self.unopened = self.unopened or bool(UNOPENED.search(self.model)) or None

    @property
    def adapted(self) -> tuple[str, ...]:
        """The parts that requests leave out or move, in alphabetical order."""
        return tuple(sorted(self.refused))

    def splitter(self, until: str | None = None) -> ReasoningSplitter:
        """Return a splitter that takes the reasoning out of the next reply; `until` is its end as the study has it."""
        return ReasoningSplitter(until if until is not None else THINK_END if self.unopened else "")

    def remember(self, splitter: ReasoningSplitter, finish_reason: str) -> None:
        """Remember how a reply was found to be; one that was cut off shows nothing by having no mark."""
        if splitter.unopened and not self.unopened:
            self.unopened = True
            log.warning(
                "%s begins its replies with reasoning without an opening tag: from now on none of it is streamed; "
                "`options: {reasoning_until: '</think>'}` in the study says so from the start",
                self.model,
            )
        elif self.unopened is None and (splitter.marked or finish_reason == "stop"):
            self.unopened = False

    def messages(self, messages: tuple[PromptMessage, ...], role: SystemRole | None) -> list[JSON]:
        role = role or ("user" if SYSTEM in self.refused else "system")
        if role == "user":
            return _in_first_message(messages)
        chat = as_chat_messages(messages)
        return [one | {"role": role} if isinstance(one, dict) and one["role"] == SYSTEM else one for one in chat]

    def fields(self, body: Mapping[str, Any]) -> dict[str, Any]:
        found = {}
        for name, value in body.items():
            name = OTHER_NAME[name] if name in self.refused and name in OTHER_NAME else name
            if name not in self.refused:
                found[name] = value
        return found

    def learn(self, error: BackendRejected, sent: Mapping[str, Any], *, movable: bool) -> bool:
        """Remember a refused part to leave out or move (the system prompt if `movable`); False if there is none."""
        if error.reason not in REFUSALS:
            return False
        name = _refused(error.raw or "", sent, movable=movable)
        if name is None or name in self.refused:
            return False
        self.refused.add(name)
        log.warning("the server of %s refuses `%s`; later requests omit it: %s", self.model, name, error)
        return True


def not_streamed(model: str, options: Mapping[str, JSON]) -> str:
    """Return the reason why participants read nothing of a model's replies for a while; empty if none is known."""
    until = options.get("reasoning_until")
    if until or (until is None and UNOPENED.search(model)):
        return f"nothing of its replies is shown before its reasoning has ended with {until or THINK_END!r}"
    return ""


class Dialects:
    """Dialects of the models of one server, each as a study calls it: options can change its replies."""

    def __init__(self, settings: Settings, url: str) -> None:
        self._settings, self._url = settings, url
        self._known: dict[tuple[str, bytes], Dialect] = {}

    def of(self, request: Request) -> Dialect:
        key = request.model, orjson.dumps(request.options, default=dict, option=orjson.OPT_SORT_KEYS)
        dialect = self._known.setdefault(key, Dialect(request.model))
        if dialect.unopened is None:
            dialect.unopened = self._settings.reasoning(self._url, request.model)
        return dialect

    def save(self, request: Request) -> None:
        """Save for all processes the properties found in replies to requests like this one."""
        if (unopened := self.of(request).unopened) is not None:
            self._settings.save_reasoning(self._url, request.model, unopened=unopened)


def _in_first_message(messages: tuple[PromptMessage, ...]) -> list[JSON]:
    system = "\n\n".join(one.text for one in messages if one.role == SYSTEM)
    said = [one for one in messages if one.role != SYSTEM]
    first = next((at for at, one in enumerate(said) if one.role == "user"), None)
    if system and first is None:
        said.insert(0, PromptMessage("user", system))
    elif system and first is not None:
        said[first] = replace(said[first], text=f"{system}\n\n{said[first].text}")
    return as_chat_messages(said)


def _refused(raw: str, sent: Mapping[str, Any], *, movable: bool) -> str | None:
    """Return the part of a request that a server's refusal names; None if the request needs it."""
    if movable and NO_SYSTEM.search(raw):
        return SYSTEM
    names = [name for name in (*OTHER_NAME, *OPTIONAL) if name in sent]
    error = error_in(raw)
    # apart from its words some refusals name the field, as OpenAI's do
    named = str(error.get("param") or "") if isinstance(error, dict) else ""
    for said in (named, raw):
        for name in names if said and UNSUPPORTED.search(raw) else ():
            if re.search(rf"(?<![a-z_]){name}(?![a-z_])", said):
                return name
    return None
