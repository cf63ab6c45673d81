"""The contract with the Gradio that is installed: what `app/web/gradio_page.py` takes for granted of its page.

What it does of the console's is looked for by test_console, on the way through its rooms.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import BrowserContext, Route, expect
from pygments.token import STANDARD_TYPES

from app.web import gradio_page
from app.web.security import ALLOWED
from tests.browser.preloaded import FILE, preloaded
from tests.browser.visitor import Visitor
from tests.browser.waiting import quiet, until
from tests.fakes.served import Process

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600)]
NewContext = Callable[..., BrowserContext]
WEB = Path(gradio_page.__file__).parent
RENDERING = WEB.parent / "rendering"
EXTENSIONS = WEB.parent / "extensions"


@pytest.mark.nightly
def test_the_participants_page_is_as_assumed(fast: Process, new_context: NewContext) -> None:
    """In the middle of a conversation; it asks for nothing that the gate refuses, and no event of its is Gradio's."""
    page, asked = new_context(reduced_motion="reduce").new_page(), list[tuple[str, str]]()
    page.on("request", lambda request: asked.append((request.method, urlsplit(request.url).path)))
    visitor = Visitor(page, fast.url)
    visitor.arrive("short")
    visitor.until("chat")
    visitor.say("Please explain the Pythagorean theorem.")
    visitor.hear_out()
    page.locator("#box textarea").fill("**What** about \\(x\\)?")
    page.locator("#preview math").wait_for()
    quiet(page)
    assert visitor.complaints == []
    assumed = (*gradio_page.BOTH, *gradio_page.PARTICIPANTS)
    assert [one for one in assumed if not page.locator(one).count()] == []
    assert [(method, path) for method, path in asked if not ALLOWED[method].fullmatch(path)] == []
    assert [path for _, path in asked if "gradio" in path] == []


def test_the_page_does_not_run_without_what_its_policy_allows(fast: Process, new_context: NewContext) -> None:
    """Once Gradio compiles nothing in the browser, this fails, and `COMPILES` is to go."""
    page = new_context().new_page()
    stricter = lambda value: value.replace(gradio_page.COMPILES, "")  # noqa: E731
    page.route(
        f"{fast.url}/",
        lambda route: route.fulfill(
            response=(answer := route.fetch()),
            headers={name: stricter(value) for name, value in answer.headers.items()},
        ),
    )
    page.add_init_script("addEventListener('securitypolicyviolation', (event) => (window.refused = event.blockedURI))")
    Visitor(page, fast.url).arrive("short")
    page.goto(fast.url)
    until(page, "window.refused")
    assert page.evaluate("window.refused") == "eval"


SELECTOR = re.compile(r"([^{}]*)\{")
CLASS = re.compile(r"\.(-?[A-Za-z_][\w-]*)")
GIVEN = re.compile(r"(?:class|className|classList\.\w+|elem_classes|elem_id|id)[\"']?\s*[=:(]\s*\\?([\"'`])(.*?)\\?\1")
# Classes of ours that our templates put together, one that Gradio's documentation names, one of math-core for what is
# crossed out in a formula, and those of Pygments for code.
COMPUTED = {
    "layout", "right", "noted", "added", "removed", "phase", "each", "soon", "hidden", "user", "message",
    "bot", "live", "parens", "pairs", "gradio-container", "menclose-downdiagonalstrike",
    *STANDARD_TYPES.values(),
}  # fmt: skip


def test_no_style_finds_what_is_not_written_down() -> None:
    """Each class in our styles is one of ours, or part of what is assumed of Gradio's."""
    sources = [
        path
        for kind in ("*.py", "*.j2", "*.js")
        for path in (*WEB.rglob(kind), *RENDERING.rglob(kind), *EXTENSIONS.rglob(kind))
        if path.name != "gradio_page.py"
    ]
    ours = {
        word
        for path in sources
        for found in GIVEN.finditer(path.read_text(encoding="utf-8"))
        for word in re.findall(r"[\w-]+", found[2])
    }
    assumed = " ".join((*gradio_page.BOTH, *gradio_page.PARTICIPANTS, *gradio_page.CONSOLE))
    editor = "".join((WEB / "console/static" / file).read_text("utf-8") for file in ("codemirror.js", "editor.js"))
    known = ours | COMPUTED | set(CLASS.findall(assumed)) | set(re.findall(r"cm-[\w-]+", editor))
    for path in WEB.rglob("static/*.css"):
        css = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        used = {name for found in SELECTOR.finditer(css) for name in CLASS.findall(found[1].rpartition(";")[2])}
        assert used <= known, path
    for path in [*WEB.rglob("static/*.css"), *WEB.rglob("static/*.js")]:
        for name in re.findall(r"data-testid=[\"']?([\w-]+)", path.read_text(encoding="utf-8")):
            assert f"data-testid={name}]" in assumed, path


@pytest.mark.nightly
def test_what_gradio_asks_for_after_its_html_is_asked_for_at_once(fast: Process, new_context: NewContext) -> None:
    """If this fails after another Gradio was locked or the theme was changed: python -m tests.browser.preloaded"""
    page, warned = new_context(own=True).new_page(), []
    page.on("console", lambda message: warned.append(message.text))
    assert preloaded(page, fast.url) == json.loads(FILE.read_text(encoding="utf-8"))
    assert not [text for text in warned if "credentials mode" in text], "asked for in vain, and then once more"


@pytest.mark.nightly
def test_the_page_says_that_it_loads_and_that_it_waits_for_the_connection(
    fast: Process, new_context: NewContext
) -> None:
    context = new_context(own=True, locale="de-AT")
    page = context.new_page()
    Visitor(page, fast.url).arrive("short")
    held: list[Route] = []
    page.route("**/assets/*.js", lambda route: held.append(route))
    page.goto(fast.url, wait_until="commit")
    line = page.locator("#loading[lang=de]")
    loading = line.inner_text()
    context.set_offline(True)
    expect(line).not_to_have_text(loading)
    context.set_offline(False)
    expect(line).to_have_text(loading)
    page.unroute("**/assets/*.js")  # what was held goes on
    page.locator("#left h1").wait_for()
    expect(page.locator("#loading")).to_have_count(0)
