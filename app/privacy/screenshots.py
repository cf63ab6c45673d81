"""Pictures of screens, taken by Chromium of the participants' server on a database that is thrown away.

Nothing of it reaches the deployment's database, its alerts or a model server. A picture that is in the folder already
is not taken again, so a run that was stopped goes on.
"""

from __future__ import annotations

import os
import shutil
import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import uvicorn

from app.bots.preview_session import dated
from app.clock import SystemClock
from app.config.secret import secret_for
from app.config.settings import Settings
from app.errors import SettingsError
from app.privacy.screens import START, SeenScreen
from app.session.service import Sessions
from app.web.participant.session_cookie import SessionCookie
from app.web.participant.signed_links import TrialLinks
from experiments.study.study import Study
from problems.errors import install_line
from storage.db.engine import Database, open_database
from storage.registers.studies import Studies

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ON_A_MAC = Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome")
WIDTHS = (1280, 390)
HEIGHT = 800
INSTALL = f"Pictures of screens need a package that is not installed: {install_line('screenshots')}"
OTHERWISE = "Or make the documents without pictures: --no-screenshots"
NO_BROWSER = f"There is no Chromium or Chrome that starts here. Install one: `playwright install chromium`. {OTHERWISE}"
READY = "document.documentElement.dataset.ready === 'yes'"
MOST_MS = 30_000
STREAM = "00000000-0000-4000-8000-{:012d}"
LIMITLESS = {"requests_per_second": 1_000, "request_burst": 10_000, "sessions_per_address_per_hour": 10_000}
QUIET = {
    "alert_webhook_url": None,
    "trusted_proxies": "",
    "public_url": None,
}
"""Settings of the deployment that must not apply here: nobody is alerted, and no proxy is in front."""


def chromium() -> str | None:
    """Its path, or None if there is none."""
    return first_of(NAMES, ON_A_MAC)


def first_of(names: tuple[str, ...], on_a_mac: Path) -> str | None:
    """The path of the first of these programs, or that of an application on a Mac; None if there is none."""
    found = next(filter(None, map(shutil.which, names)), None)
    return str(on_a_mac) if found is None and on_a_mac.is_file() else found


def require_playwright() -> None:
    """Raise SettingsError with the line to install playwright if it is missing."""
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError as error:
        raise SettingsError(f"{INSTALL} ({error}). {OTHERWISE}") from None


async def picture_sessions(database: Database, study: Study, screens: Sequence[SeenScreen]) -> Mapping[str, str]:
    """Write a session for each screen, which has come to it just now; the sessions by the screens' names."""
    Studies(database).register(study)
    sessions, streams = Sessions(database, SystemClock()), {}
    try:
        for number, seen in enumerate(screens):
            streams[seen.name] = STREAM.format(number)
            await sessions.import_session(study, streams[seen.name], dated(seen.events, sessions.now_us()))
    finally:
        await sessions.close()
    return streams


def file_of(folder: Path, name: str, width: int) -> Path:
    """The file of a screen's picture."""
    return folder / f"{name}-{width}.png"


def take(stage: Stage, study: Study, streams: Mapping[str, str], folder: Path, language: str) -> Iterator[Path]:
    """Take the pictures that are not in the folder yet, and yield the file of each. Raises SettingsError without
    Chromium."""
    from playwright.sync_api import Error, sync_playwright

    todo = [
        (name, width) for width in WIDTHS for name in (START, *streams) if not file_of(folder, name, width).exists()
    ]
    if not todo:
        return
    settings = stage.settings
    with _serving(stage, study), sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox", "--disable-gpu"])
        except Error as error:
            raise SettingsError(f"{NO_BROWSER} ({str(error).splitlines()[0]})") from None
        secret = secret_for(settings, stage.database)
        cookies = SessionCookie(secret, secure=False)
        for width in WIDTHS:
            with _window(browser, width, language) as context:
                for name in (name for name, wanted in todo if wanted == width):
                    context.clear_cookies()
                    address = TrialLinks(secret).link("pilot", study.name, settings.address)
                    if name != START:
                        address, value = settings.address, cookies.signed(streams[name])
                        context.add_cookies([{"name": cookies.name, "value": value, "url": address}])
                    yield _picture(context, address, file_of(folder, name, width), filled=name != START)
        browser.close()


def _picture(context: BrowserContext, address: str, file: Path, *, filled: bool) -> Path:
    """Take one picture, of a page that a script fills or of another; the file is there whole or not at all."""
    page = context.new_page()
    page.goto(address)
    if filled:
        page.wait_for_function(READY)
    page.evaluate("document.fonts.ready")
    part = file.with_suffix(".part")
    part.write_bytes(page.screenshot(full_page=True))
    os.replace(part, file)
    page.close()
    return file


@contextmanager
def _window(browser: Browser, width: int, language: str) -> Iterator[BrowserContext]:
    size = {"width": width, "height": HEIGHT}
    context = browser.new_context(viewport=size, reduced_motion="reduce", locale=language)  # type: ignore[arg-type]
    context.set_default_timeout(MOST_MS)
    yield context
    context.close()


@dataclass(frozen=True, slots=True)
class Stage:
    """What the pictures are taken on."""

    settings: Settings
    database: Database


@contextmanager
def stage() -> Iterator[Stage]:
    """Settings and a database for the pictures, in a folder that is deleted at the end."""
    with TemporaryDirectory() as folder, socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        given = {"database_url": f"sqlite:///{folder}/screens.db", "host": "127.0.0.1", "port": port, "secret": None}
        settings = Settings(**given, **LIMITLESS, **QUIET)  # type: ignore[arg-type]
        database = open_database(settings.database_url)
        try:
            yield Stage(settings, database)
        finally:
            database.dispose()


@contextmanager
def _serving(stage: Stage, study: Study) -> Iterator[None]:
    from app.web.server import build_app  # Gradio is slow to import, and other commands need none of it

    settings = stage.settings
    app = build_app(settings, stage.database, [study])
    quiet = {"log_config": None, "access_log": False, "log_level": "warning", "timeout_graceful_shutdown": 1}
    server = uvicorn.Server(uvicorn.Config(app, host=settings.host, port=settings.port, **quiet))  # type: ignore[arg-type]
    thread = threading.Thread(target=server.run, name="parley-screens", daemon=True)
    thread.start()
    try:
        while not server.started and thread.is_alive():
            time.sleep(0.02)
        yield
    finally:
        server.should_exit = True
        thread.join(20)
