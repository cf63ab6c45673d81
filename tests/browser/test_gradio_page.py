"""The contract with the Gradio that is installed: all that `app/web/gradio_page.py` takes for granted of its page."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Request
from pygments.token import STANDARD_TYPES

from app.web import gradio_page
from app.web.gate import ALLOWED
from tests.browser.filled import DRAFT, STUDY, filled
from tests.browser.researcher import AtConsole
from tests.browser.visitor import Visitor
from tests.browser.waiting import quiet, until
from tests.fakes.accounts import GOOD
from tests.fakes.served import Process

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600)]
NewContext = Callable[..., BrowserContext]
WEB = Path(gradio_page.__file__).parent
PLACES = (
    (f"study={STUDY}&tab=studies", "", "#bench"),
    (f"study={DRAFT}&tab=studies", "Write", "#study-text .cm-line"),
    (f"study={STUDY}&tab=live", "", "#live-body table"),
    (f"study={STUDY}&tab=sessions&session=1", "", "#session-story .visit"),
    (f"study={STUDY}&tab=sessions&session=1", "Replay", "#session-page iframe"),
    (f"study={STUDY}&tab=data", "", "#data-preview table"),
    (f"study={STUDY}&tab=results", "", "#results-plot-0 .marks"),
    (f"study={STUDY}&tab=people", "", "#people-deeds table"),
)


@pytest.fixture(scope="module")
def talking(browser: Browser, fast: Process) -> Iterator[tuple[Page, list[str]]]:
    """The participants' page in the middle of a conversation, and what it asked the server for."""
    context = browser.new_context(reduced_motion="reduce")
    page, asked = context.new_page(), list[str]()
    page.on("request", lambda request: asked.append(path_of(request)))
    visitor = Visitor(page, fast.url)
    visitor.arrive("demo")
    visitor.until("chat")
    visitor.say("Please explain the Pythagorean theorem.")
    visitor.hear_out()
    page.locator("#box textarea").fill("**What** about \\(x\\)?")
    page.locator("#preview strong").wait_for()
    quiet(page)
    assert visitor.complaints == []
    yield page, asked
    context.close()


@pytest.fixture(scope="module")
def researching(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> tuple[set[str], list[str]]:
    """What was found in the rooms of the console, and what its page asked the server for."""
    asked: list[str] = []
    with filled(tmp_path_factory.mktemp("filled")) as console:
        context = browser.new_context(reduced_motion="reduce")
        ada = AtConsole(context.new_page(), console.url)
        ada.page.on("request", lambda request: asked.append(path_of(request)))
        ada.log_in("Ada", GOOD)
        found: set[str] = set()
        for place, part, painted in PLACES:
            ada.page.goto(f"{ada.url}/?{place}")
            if part:
                ada.open(part)
            ada.page.locator(painted).first.wait_for()
            quiet(ada.page)
            found |= {one for one in (*gradio_page.BOTH, *gradio_page.CONSOLE) if ada.page.locator(one).count()}
        assert ada.complaints == []
        context.close()
    return found, asked


def path_of(request: Request) -> str:
    return f"{request.method} /{request.url.split('/', 3)[3].partition('?')[0]}"


@pytest.mark.parametrize("assumed", [*gradio_page.BOTH, *gradio_page.PARTICIPANTS])
def test_the_participants_page_has(talking: tuple[Page, list[str]], assumed: str) -> None:
    assert talking[0].locator(assumed).count()


@pytest.mark.parametrize("assumed", [*gradio_page.BOTH, *gradio_page.CONSOLE])
def test_the_console_has(researching: tuple[set[str], list[str]], assumed: str) -> None:
    assert assumed in researching[0]


def test_the_participants_page_asks_for_nothing_that_the_gate_refuses(talking: tuple[Page, list[str]]) -> None:
    for asked in talking[1]:
        method, _, path = asked.partition(" ")
        assert ALLOWED[method].fullmatch(path), asked
    assert not [asked for asked in talking[1] if "gradio" in asked], "no event reaches Gradio's server"


def test_the_console_sends_its_events_past_the_queue(researching: tuple[set[str], list[str]]) -> None:
    assert {asked for asked in researching[1] if "gradio" in asked} == {f"POST {gradio_page.EVENTS}"}


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
GIVEN = re.compile(r"(?:class|className|classList\.\w+|elem_classes|elem_id|id)\s*[=:(]\s*\\?([\"'`])(.*?)\\?\1")
COMPUTED = {
    "layout", "right", "noted", "added", "removed", "phase", "each", "soon", "hidden", "user", "message",
    "bot", "live", "gradio-container", "menclose-downdiagonalstrike",
    *STANDARD_TYPES.values(),
}  # fmt: skip
"""Classes of ours that our templates put together, one that Gradio's documentation names, one of math-core for what is
crossed out in a formula, and those of Pygments for code."""


def test_no_style_finds_what_is_not_written_down() -> None:
    """Each class in our styles is one of ours, or part of what is assumed of Gradio's."""
    sources = [path for kind in ("*.py", "*.j2", "*.js") for path in WEB.rglob(kind) if path.name != "gradio_page.py"]
    ours = {
        word
        for path in sources
        for found in GIVEN.finditer(path.read_text(encoding="utf-8"))
        for word in re.findall(r"[\w-]+", found[2])
    }
    assumed = " ".join((*gradio_page.BOTH, *gradio_page.PARTICIPANTS, *gradio_page.CONSOLE))
    known = ours | COMPUTED | set(CLASS.findall(assumed))
    for path in WEB.rglob("static/*.css"):
        css = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        used = {name for found in SELECTOR.finditer(css) for name in CLASS.findall(found[1].rpartition(";")[2])}
        assert used <= known, path
    for path in [*WEB.rglob("static/*.css"), *WEB.rglob("static/*.js")]:
        for name in re.findall(r"data-testid=[\"']?([\w-]+)", path.read_text(encoding="utf-8")):
            assert f"data-testid={name}]" in assumed, path
