"""The browser tests' browser and servers; what a failed test left on the screen is kept in a folder that it names.

With TRACES=1 in the environment it leaves a trace of all it did as well, which costs a tenth more.
"""

import os
import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from app.studies.loader import STUDIES
from tests.browser.axe import LOOKS, Audit, faults
from tests.browser.filled import filled
from tests.browser.researcher import AtConsole
from tests.browser.waiting import MOST_S, quiet, settled, until
from tests.fakes import studies
from tests.fakes.accounts import GOOD
from tests.fakes.served import Process
from tests.web.gallery import on_stage

FAILED = pytest.StashKey[bool]()
TRACES = "TRACES" in os.environ
Rested = dict[str, BrowserContext]
READY = "document.documentElement?.dataset.ready === 'yes'"
# Another screen, for which page.js looks as after the back button.
CHANGE = """async (name) => {
  delete document.documentElement.dataset.ready;
  await fetch(`/show/${name}`, { redirect: "manual" });
  dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true }));
}"""


# Any certificate is good to the whole browser. Told to a context (`ignore_https_errors`), Chromium begins each request
# once more for the certificate, and under load gave one up as ERR_TOO_MANY_RETRIES.
FLAGS = ["--no-sandbox", "--disable-gpu", "--ignore-certificate-errors"]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    report = yield
    if report.when == "call":
        item.stash[FAILED] = report.failed
    return report


class Kept:
    """A browser for the files that follow each other, as its start takes a second of the processor."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._browser: Browser | None = None

    def browser(self, chromium: str) -> Browser:
        if self._browser is None or not self._browser.is_connected():
            self.close()
            playwright = self._stack.enter_context(sync_playwright())
            self._browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
            self._stack.callback(self._browser.close)
            expect.set_options(timeout=MOST_S * 1000)
        return self._browser

    def close(self) -> None:
        self._browser = None
        self._stack.close()


KEPT = Kept()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """Close the browser before a file that begins without one: Playwright keeps an event loop running, beside which no
    other test may run one of its own."""
    try:
        return (yield)
    finally:
        if nextitem is None or (nextitem.path != item.path and "browser" not in getattr(nextitem, "fixturenames", ())):
            KEPT.close()


@pytest.fixture(scope="module")
def browser(chromium: str) -> Browser:
    return KEPT.browser(chromium)


@pytest.fixture(scope="module")
def rested(browser: Browser) -> Iterator[Rested]:
    """What tests are done with, by its options: with the page's scripts in its cache, the next page is much cheaper."""
    rested: Rested = {}
    yield rested
    for context in rested.values():
        context.close()


@pytest.fixture
def new_context(
    browser: Browser, rested: Rested, request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[Callable[..., BrowserContext]]:
    """Make a person's browser: cookies, a viewport, permissions. A test that leaves more behind than pages and cookies,
    as Playwright's clock does, asks for one that is its `own`."""
    made: list[tuple[BrowserContext, str]] = []

    def new(*, own: bool = False, **options: object) -> BrowserContext:
        like = "" if own or TRACES else repr(sorted(options.items()))
        context = rested.pop(like, None) or browser.new_context(
            **{"viewport": {"width": 1280, "height": 900}, **options}
        )
        context.set_default_timeout(MOST_S * 1000)
        if TRACES:
            context.tracing.start(snapshots=True)
        made.append((context, like))
        return context

    yield new
    failed = request.node.stash.get(FAILED, False)
    for number, (context, like) in enumerate(made):
        if failed:
            _keep(context, tmp_path, number)
        if failed or not like or like in rested:
            context.close()
        else:
            rested[like] = _rest(context)


def _keep(context: BrowserContext, folder: Path, number: int) -> None:
    for count, page in enumerate(context.pages):
        page.screenshot(path=folder / f"page-{number}-{count}.png")
        (folder / f"page-{number}-{count}.html").write_text(page.content(), encoding="utf-8")
    if TRACES:
        context.tracing.stop(path=folder / f"trace-{number}.zip")
    print(f"what was on the screen is in {folder}; with TRACES=1 also traces, for `playwright show-trace`")


def _rest(context: BrowserContext) -> BrowserContext:
    """Forget who it was: Parley keeps nothing in a browser but a cookie."""
    for page in context.pages:
        page.close()
    context.clear_cookies()
    return context


def serve(folder: Path, *served: Path, env: Mapping[str, str] | None = None) -> Iterator[Process]:
    """For a fixture: serve these studies until its tests are over."""
    process = Process(folder, served, dict(env or {}))
    process.start()
    yield process
    process.stop()
    assert "Traceback" not in process.log


@pytest.fixture(scope="session")
def fast(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """The demo with a tutor who answers at once, short studies, and conversations to judge."""
    folder = tmp_path_factory.mktemp("fast")
    demo = studies.demo(folder, first_ms=30, pace_ms=1)
    others = (studies.short(folder), studies.rated(folder), studies.arena(folder), STUDIES / "dices-350.yaml")
    yield from serve(folder, demo, *others)


@pytest.fixture(scope="session")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """The demo with a tutor who takes some seconds."""
    folder = tmp_path_factory.mktemp("slow")
    yield from serve(
        folder,
        studies.demo(folder, first_ms=200, pace_ms=40),
        studies.short(folder),
        studies.rated(folder),
        studies.timed(folder),
    )


@pytest.fixture(scope="session")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """A console with something in every tab, for all tests of a worker: they leave what they find."""
    with filled(tmp_path_factory.mktemp("filled")) as process:
        yield process


@pytest.fixture(scope="module")
def ada(browser: Browser, console: Process) -> Iterator[AtConsole]:
    """Ada at the filled console, with a window for all tests of a file."""
    context = browser.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    made = AtConsole(context.new_page(), console.url)
    made.log_in("Ada", GOOD)
    made.choose("study", "demo")  # else the newest: a draft that another file made
    made.quiet()
    yield made
    context.close()


@pytest.fixture
def audit(request: pytest.FixtureRequest, soak: bool, seed: int) -> Audit:
    """Look at a page in a look that the run's seed draws for this test, and in a third of the tests at its contrast,
    which takes half of axe-core's time; with --soak in all looks, at all."""
    chance = random.Random(f"{seed} {request.node.nodeid}")
    looks = LOOKS if soak else (chance.choice(LOOKS),)
    contrast = soak or chance.random() < 1 / 3

    def look_at(page: Page) -> None:
        found: list[str] = []
        for look in looks:
            look.put_on(page)
            quiet(page)
            found += [f"{look}: {fault}" for fault in faults(page, contrast)]
        assert not found, "\n".join(found)

    return look_at


@pytest.fixture(scope="module")
def stage() -> Iterator[str]:
    """The gallery of screens."""
    with on_stage() as url:
        yield url


@pytest.fixture(scope="module")
def screens(browser: Browser, stage: str) -> Iterator[Callable[[str], Page]]:
    """Show a screen of the gallery, as page.js does when another comes."""
    context = browser.new_context(reduced_motion="reduce")
    context.set_default_timeout(MOST_S * 1000)
    page = context.new_page()
    page.goto(f"{stage}/show/consent")

    def show(name: str) -> Page:
        until(page, READY)
        page.evaluate(CHANGE, name)
        until(page, READY)
        settled(page)
        return page

    yield show
    context.close()
