"""The browser tests' browser and servers; what a failed test left on the screen is kept in a folder that it names."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, sync_playwright

from app.library import STUDIES
from tests.fakes import studies
from tests.fakes.served import Process

FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    report = yield
    if report.when == "call":
        item.stash[FAILED] = report.failed
    return report


@pytest.fixture(scope="session")
def browser(chromium: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@pytest.fixture
def new_context(
    browser: Browser, request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[Callable[..., BrowserContext]]:
    """Make a person's browser: cookies, a viewport, permissions."""
    made: list[BrowserContext] = []

    def new(**options: object) -> BrowserContext:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        context.set_default_timeout(15_000)
        context.tracing.start(screenshots=False, snapshots=True)
        made.append(context)
        return context

    yield new
    failed = request.node.stash.get(FAILED, False)
    for number, context in enumerate(made):
        if failed:
            for count, page in enumerate(context.pages):
                page.screenshot(path=tmp_path / f"page-{number}-{count}.png")
            context.tracing.stop(path=tmp_path / f"trace-{number}.zip")
            print(f"screenshots, and traces for `playwright show-trace`, are in {tmp_path}")
        context.close()


def _serve(folder: Path, first_ms: int, pace_ms: int) -> Iterator[Process]:
    served = (
        studies.demo(folder, first_ms=first_ms, pace_ms=pace_ms),
        studies.short(folder),
        STUDIES / "dices.yaml",
        STUDIES / "arena.yaml",
    )
    process = Process(folder, served)
    process.start()
    yield process
    process.stop()
    assert "Traceback" not in process.log


@pytest.fixture(scope="session")
def fast(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """The demo with a tutor who answers at once, a short study, and conversations to judge."""
    yield from _serve(tmp_path_factory.mktemp("fast"), 30, 1)


@pytest.fixture(scope="session")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """The demo with a tutor who takes some seconds."""
    yield from _serve(tmp_path_factory.mktemp("slow"), 200, 40)
