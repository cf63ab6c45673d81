"""A researcher at the console: logs in, loads the page, fires its events; everything heard is kept.

Events are named by the component's `elem_id` and the event (`"room-monitoring", "select"`), as the page's own
configuration has them, so that a test can also go through all of them.
"""

from __future__ import annotations

import html
import json
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import httpx2
from starlette.types import ASGIApp

URL = "http://console.test"
CONFIG = re.compile(r"window\.gradio_config = (\{.*?\});</script>", re.DOTALL)
HIDDEN = re.compile(r'<input type="hidden" name="(\w+)" value="([^"]*)"')
FIELDS = ("textbox", "number")
EVENT = "/gradio_api/run/predict"


@dataclass(frozen=True)
class Wired:
    """One event of the page."""

    number: int
    of: tuple[tuple[str, str], ...]
    """The components, by elem_id, and the kinds of event."""
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


@dataclass
class Researcher:
    """Somebody at a console, with a cookie jar of their own."""

    url: str = URL
    app: ASGIApp | None = None
    """A console that is asked without a network; or whoever answers at the URL."""
    heard: list[bytes] = field(default_factory=list)
    waited_ms: float = 0.0
    """The time that the console took to answer, all requests together."""
    page: str = "test"
    """By what Gradio tells one open page from another; of a new one it knows no choices yet, and checks none."""

    def __post_init__(self) -> None:
        transport = httpx2.ASGITransport(self.app) if self.app else None
        headers = {"origin": self.url}
        self.client = httpx2.AsyncClient(base_url=self.url, timeout=60, headers=headers, transport=transport)
        self._components: dict[int, dict[str, Any]] = {}
        self.events: list[Wired] = []
        self.place = {"study": "", "tab": "", "session": ""}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.client.aclose()

    async def send(self, method: str, path: str, **more: Any) -> httpx2.Response:
        begun = time.perf_counter()
        response = await self.client.request(method, path, **more)
        self.waited_ms += 1e3 * (time.perf_counter() - begun)
        self.heard.append(b"\n".join(b"%b: %b" % pair for pair in response.headers.raw) + response.content)
        return response

    async def log_in(self, name: str, password: str) -> httpx2.Response:
        form = await self.send("GET", "/login")
        given = {**dict(HIDDEN.findall(form.text)), "name": name, "password": password}
        return await self.send("POST", "/login", data=given)

    async def open(self, **place: str) -> Mapping[str, Any]:
        page = await self.send("GET", "/")
        found = CONFIG.search(page.text)
        assert found is not None, page.text[:200]
        config = json.loads(found[1])
        self._components = {one["id"]: one for one in config["components"]}
        self.events = list(self._wired(config))
        self.place |= place
        loading = next(event for event in self.events if any(kind == "load" for _, kind in event.of))
        return await self.fire(loading, dict(self.place))

    async def enter(self, room: str, **place: str) -> Mapping[str, Any]:
        self.place |= {"tab": room, **place}
        return await self.on(f"room-{room}", "select", tab="elsewhere")

    async def on(self, component: str, kind: str, **values: Any) -> Mapping[str, Any]:
        """Fire an event, with values by elem_id in place of what the page shows; the updates by elem_id."""
        event = next(event for event in self.events if (component, kind) in event.of)
        return await self.fire(event, {**self.place, **values})

    async def fire(self, event: Wired, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """The answer to an event as it is wired."""
        data = [values.get(self._name(number), self._shown(number)) for number in event.inputs]
        body = {"fn_index": event.number, "data": data, "session_hash": self.page}
        response = await self.send("POST", EVENT, json=body)
        assert response.status_code == 200, (event.of, response.status_code, response.text[:300])
        return dict(zip(map(self._name, event.outputs), response.json()["data"], strict=True))

    def values_for(self, event: Wired, wanted: Mapping[str, str]) -> dict[str, str]:
        """Values for those inputs of an event that are shown nothing yet, by the last word of their elem_id."""
        names = [self._name(number) for number in event.inputs if not self._shown(number)]
        return {name: wanted[word] for name in names if (word := name.rpartition("-")[2]) in wanted}

    def sent(self, event: Wired) -> list[str]:
        return [self._name(number) for number in event.inputs]

    def free(self) -> set[str]:
        """The lists that send a typed text which is none of their choices, by elem_id; others drop it."""
        props = [one["props"] for one in self._components.values() if one["type"] == "dropdown"]
        return {one["elem_id"] for one in props if one["allow_custom_value"]}

    def typed(self) -> set[str]:
        """The fields in which one can type and whose value an event sends, by elem_id."""
        sent = {number for event in self.events for number in event.inputs}
        fields = [one for number, one in self._components.items() if number in sent and one["type"] in FIELDS]
        return {one["props"]["elem_id"] for one in fields if one["props"]["visible"] != "hidden"}

    def _wired(self, config: Mapping[str, Any]) -> Iterator[Wired]:
        for one in config["dependencies"]:
            if one["backend_fn"]:
                of = tuple((self._name(number), kind) for number, kind in one["targets"])
                yield Wired(one["id"], of, tuple(one["inputs"]), tuple(one["outputs"]))

    def _name(self, number: int) -> str:
        found = self._components.get(number)
        return (found["props"].get("elem_id") if found else "") or f"#{number}"

    def _shown(self, number: int) -> Any:
        return self._components[number]["props"].get("value")


def value(update: Any) -> Any:
    """Return the value of a part of the page, sent as it stands or in an update."""
    return update.get("value") if isinstance(update, Mapping) else update


def draft(update: Any) -> str:
    return str(json.loads(value(update))["text"])


def visible(update: Any) -> bool:
    return bool(update.get("visible", True))


def text(update: Any) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", value(update))).split())
