"""Participants and researchers in a browser, at two paths of one host behind a proxy that takes the paths off."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.browser.researcher import LONG_MS, AtConsole
from tests.browser.visitor import Visitor
from tests.fakes import studies
from tests.fakes.accounts import GOOD, ada_and_bob
from tests.fakes.reverse_proxy import reverse_proxy
from tests.fakes.served import Process

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600)]


def test_the_demo_to_its_end_and_a_look_at_the_console(
    tmp_path: Path, new_context: Callable[..., BrowserContext]
) -> None:
    with reverse_proxy(strips=True) as proxy:
        env = {"PARLEY_PUBLIC_URL": proxy.url("/study"), "PARLEY_CONSOLE_URL": proxy.url("/console")}
        participants = Process(tmp_path, (studies.demo(tmp_path),), env)
        console = Process(tmp_path, (), dict(env), command="console")
        with ada_and_bob(participants.database_url):
            participants.start()
            console.start()
            proxy.servers = {"/study": participants.port, "/console": console.port}
            someone = Visitor(new_context().new_page(), proxy.url("/study"))
            someone.arrive("demo")
            assert someone.page.url == proxy.url("/study/")
            someone.finish()
            assert (someone.complaints, someone.elsewhere) == ([], set())
            ada = AtConsole(new_context().new_page(), proxy.url("/console/"))
            ada.log_in("Ada", GOOD)
            ada.open("Sessions")
            row = ada.page.get_by_role("link", name="Session 1")
            expect(row.first).to_be_visible(timeout=LONG_MS)
            row.first.click()
            ada.quiet()
            assert ada.page.url.startswith(proxy.url("/console/?"))
            ada.page.get_by_role("button", name="Log out").click()
            expect(ada.page.get_by_label("Password")).to_be_visible(timeout=LONG_MS)
            assert ada.page.url == proxy.url("/console/login")
            strays = [*proxy.strays]
            someone.page.goto(proxy.url("/study"))  # the proxy makes of it what it makes of /study/
            someone.page.wait_for_url(proxy.url("/study/"))
            someone.ready()
            assert someone.finished
            console.stop()
            participants.stop()
    assert strays == []
    assert ada.complaints == []
    assert "Traceback" not in console.log + participants.log
