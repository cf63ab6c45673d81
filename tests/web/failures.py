"""What participants see of each failure, photographed: python -m tests.web.failures FOLDER [NAME ...]

A study for each fault of the fake model server and each of the study's answers to it is served for real and met in
Chromium, on a desk and on a phone. Each picture is FOLDER/<name>-<desk|phone>.png; names as in CASES.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from tests.browser.visitor import Visitor
from tests.browser.waiting import until
from tests.fakes import failing
from tests.fakes.model_faults import FAULTS
from tests.fakes.model_server import serve
from tests.fakes.served import Served, serving_aside

DESK, PHONE = (1280, 800), (390, 844)
SAID = "Could you explain how the order of operations works in 7 + (8 - 3) x 2?"
HEARD = "document.documentElement.dataset.waiting === 'false'"
ANSWERED = "document.querySelector('.failed, .sorry, .ballot, #chat .message.bot, #completion-code')"
FEW = ("401", "429-bare", "drop", "empty", "length", "malformed")
"""The faults that are also met in the other protocols, where the page is the same."""


@dataclass(frozen=True)
class Case:
    """What is served, and what is done before the picture is taken."""

    models: Mapping[str, Any]
    screens: Mapping[str, Any] = field(default_factory=dict)
    then: Callable[[Page], None] = lambda page: None
    columns: bool = False
    waits: bool = False
    """Whether the picture shows the waiting, and not what becomes of it."""
    patient: bool = False
    """Whether the server asks again and again."""


def again(page: Page) -> None:
    """Try again, and wait for what becomes of it."""
    page.get_by_role("button", name="Try again").first.click()
    page.wait_for_timeout(300)
    until(page, HEARD)


def stop(page: Page) -> None:
    """Stop the reply."""
    page.wait_for_timeout(700)
    page.get_by_role("button", name="Stop the reply").click()
    until(page, HEARD)


def after(seconds: float) -> Callable[[Page], None]:
    """Wait."""
    return lambda page: page.wait_for_timeout(seconds * 1000)


def _policy(**values: Any) -> Mapping[str, Any]:
    return {"on_failure": values}


def _cases() -> dict[str, Case]:
    one = failing.model
    found = {fault: Case({"only": one(fault)}) for fault in sorted(FAULTS)}
    found |= {f"{way}-{fault}": Case({"only": one(fault, way)}) for way in failing.OTHERS for fault in FEW}
    found |= {
        "refused": Case({"only": one("", "http-sse", server="later")}),
        "again": Case({"only": one("500")}, then=again),
        "skip": Case({"only": one("500")}, _policy(then="skip", after=0)),
        "stopped-session": Case({"only": one("500")}, _policy(then="stop", after=0, stop_code=failing.CODE)),
        "fallback": Case({"only": one("404", fallback=["second"]), "second": one("")}),
        "waiting": Case({"only": one("429")}, waits=True, patient=True, then=after(2)),
        "waiting-long": Case({"only": one("429")}, waits=True, patient=True, then=after(11)),
        "waiting-midway": Case({"only": one("drip")}, waits=True, patient=True, then=after(1)),
        "waiting-after-drop": Case({"only": one("drop")}, waits=True, patient=True, then=after(1)),
        "stopped-reply": Case({"only": one("drip")}, waits=True, patient=True, then=stop),
        "columns-one": Case({"good": one(""), "bad": one("500")}, columns=True),
        "columns-both": Case({"bad": one("500"), "worse": one("drop")}, columns=True),
        "columns-again": Case({"bad": one("500"), "good": one("")}, columns=True, then=again),
        "columns-cut": Case({"cut": one("length"), "good": one("")}, columns=True),
        "columns-waiting": Case(
            {"bad": one("429"), "good": one("")}, columns=True, waits=True, patient=True, then=after(10)
        ),
    }
    return found


CASES = _cases()


def main(folder: Path, names: list[str]) -> None:
    """Take the pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    chosen = {name: CASES[name] for name in names} if names else CASES
    with tempfile.TemporaryDirectory() as place, serve() as models, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        for patient in (False, True):
            some = {name: case for name, case in chosen.items() if case.patient is patient}
            if not some:
                continue
            here = Path(place) / str(patient)
            here.mkdir()
            files = [_study(here, name, case) for name, case in some.items()]
            more = {"model_tries": 3, "reply_timeout_s": 30} if patient else {}
            with serving_aside(failing.settings(here, models.base_url, **more), *files) as served:
                for name, case in some.items():
                    context = browser.new_context(viewport={"width": DESK[0], "height": DESK[1]})
                    _photograph(context.new_page(), served, folder, name, case)
                    context.close()
        browser.close()


def _study(folder: Path, name: str, case: Case) -> Path:
    if case.columns:
        return failing.columns(folder, f"case-{name}", case.models)
    return failing.talk(folder, f"case-{name}", case.models, case.screens)


def _photograph(page: Page, served: Served, folder: Path, name: str, case: Case) -> None:
    visitor = Visitor(page, served.url)
    visitor.arrive(f"case-{name}")
    visitor.until("Write a message" if case.columns else "chat")
    (visitor.ask_both if case.columns else visitor.say)(SAID)
    if not case.waits:
        until(page, f"{HEARD} && {ANSWERED}")
    case.then(page)
    for (width, height), kind in ((DESK, "desk"), (PHONE, "phone")):
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_timeout(250)
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        page.screenshot(path=folder / f"{name}-{kind}.png", full_page=kind == "phone")
        print(f"{name}-{kind}", f"{wide} px too wide" if wide > 0 else "", *visitor.complaints, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
