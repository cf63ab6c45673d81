"""Participants and researchers in a browser, at two paths of one host: behind a proxy that takes the paths off, and
behind nginx that does TLS and says so."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.browser.researcher import LONG_MS, AtConsole
from tests.browser.visitor import Visitor
from tests.fakes import studies
from tests.fakes.accounts import GOOD, ada_and_bob
from tests.fakes.commanding import parley
from tests.fakes.nginx import below
from tests.fakes.served import SECRET, Process

LOCATION = """
location {path}/ {{
    proxy_pass http://127.0.0.1:{port}; proxy_http_version 1.1; proxy_buffering off;
    proxy_set_header Host $http_host; proxy_set_header X-Forwarded-For $remote_addr;
    proxy_set_header X-Forwarded-Proto $scheme; proxy_set_header X-Forwarded-Prefix {path};
}}
"""
# Write down how long the reply on the screen is, whenever the page changes.
LENGTHS = """() => {
  window.lengths = [];
  new MutationObserver(() => {
    const reply = [...document.querySelectorAll("#chat .message.bot .text")].at(-1);
    if (reply) window.lengths.push(reply.innerText.length);
  }).observe(document.body, { subtree: true, childList: true, characterData: true });
}"""

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.nightly]


def test_behind_nginx_with_tls_words_stream_and_cookies_are_of_the_path(
    nginx: str, tmp_path: Path, new_context: Callable[..., BrowserContext]
) -> None:
    participants = Process(tmp_path, (studies.demo(tmp_path, pace_ms=30),), {})
    console = Process(tmp_path, (), {}, command="console")
    locations = "".join(
        LOCATION.format(path=path, port=port)
        for path, port in (("/study", participants.port), ("/console", console.port))
    )
    with below(nginx, tmp_path / "nginx", locations, tls=True) as lab, ada_and_bob(participants.database_url):
        study, desk = f"{lab.url}/study", f"{lab.url}/console"
        for process in (participants, console):
            process.env.update(PARLEY_PUBLIC_URL=study, PARLEY_CONSOLE_URL=desk, PARLEY_TRUSTED_PROXIES="127.0.0.1")
            process.start()
        context = new_context(own=True)
        someone = Visitor(context.new_page(), study)
        someone.arrive("demo")
        (mine,) = (cookie for cookie in context.cookies() if cookie["name"].endswith("parley"))
        assert (mine["name"], mine["path"]) == ("__Secure-parley", "/study")
        assert (mine["secure"], mine["httpOnly"]) == (True, True)
        someone.until("chat")
        someone.page.evaluate(LENGTHS)
        someone.say("Please explain how to begin.")
        someone.hear_out()
        partial = {length for length in someone.page.evaluate("window.lengths") if length < len(someone.reply)}
        assert len(partial) > 3, "words come one after another"
        words = parley(
            "recruit", "links", "demo", "-n", "1", folder=tmp_path, PARLEY_SECRET=SECRET, PARLEY_PUBLIC_URL=study
        )
        _, (_, link) = csv.reader(words.stdout.splitlines())
        assert link.startswith(f"{study}/s/demo?")
        someone.finish()
        assert (someone.complaints, someone.elsewhere) == ([], set())
        researcher = new_context(own=True)
        ada = AtConsole(researcher.new_page(), f"{desk}/")
        ada.log_in("Ada", GOOD)
        ada.open("Sessions")
        row = ada.page.get_by_role("link", name="Session 1").first
        expect(row).to_be_visible(timeout=LONG_MS)
        row.click()
        ada.quiet()
        expect(ada.page).to_have_url(re.compile(f"^{re.escape(desk)}/[?]"))
        assert {(one["path"], one["secure"]) for one in researcher.cookies()} == {("/console", True)}
        ada.page.get_by_role("button", name="Log out").click()
        expect(ada.page.get_by_label("Password")).to_be_visible(timeout=LONG_MS)
        assert ada.page.url == f"{desk}/login"
        assert ada.complaints == []
        _go_on_elsewhere(link, study, new_context)
        console.stop()
        participants.stop()
    assert "Traceback" not in console.log + participants.log


def _go_on_elsewhere(link: str, study: str, new_context: Callable[..., BrowserContext]) -> None:
    """A person begins by their own link, and goes on by it in another browser."""
    headings = []
    for steps in (2, 0):
        device = Visitor(new_context(own=True).new_page(), study)
        device.page.goto(link)
        device.page.get_by_role("button").click()
        device.ready()
        for _ in range(steps):
            device.next_screen()
        headings.append((device.page.url, device.heading))
    assert headings[0] == headings[1]
    assert headings[0][0] == f"{study}/"
