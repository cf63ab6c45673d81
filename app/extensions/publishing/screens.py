"""Every screen of a study, as simulated participants meet it with a scripted model, and pictures of them by Chromium.

Conditions that show the same steps and texts are one arm. All of it happens in databases that are thrown away: nothing
reaches the deployment's database, its alerts or a model server. The same study gives the same screens.
"""

from __future__ import annotations

import asyncio
import re
import shutil
import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import uvicorn

from app.bots.preview_session import MOST_CLICKS, MOST_TRIES, click, dated, is_open, wave_after, without_factor
from app.bots.random_bot import RandomBot
from app.bots.simulate import START_US
from app.clock import SystemClock, VirtualClock
from app.config.secret import secret_for
from app.config.settings import Settings
from app.errors import SettingsError
from app.session.service import Sessions, SessionService
from app.session.signed_links import TrialLinks
from app.session.transitions import LoadedSession
from app.web.participant.session_cookie import SessionCookie
from experiments.events import Event
from experiments.study.cells import cells
from experiments.study.location import without_indices
from experiments.study.screen import NoticeBlock, Screen
from experiments.study.study import Study, nodes_of
from experiments.study.texts import names
from experiments.views.translatable_texts import texts_in
from problems.errors import install_line
from storage.db.engine import Database, open_database
from storage.registers.origins import Origin
from storage.registers.studies import Studies

# What screens that look alike have in common; it begins with the step's path without the numbers of turns.
Key = tuple[object, ...]
# The name of the start page among the pictures; no session has begun there.
START = "start"
# The first participant passes every check, the second answers by chance, the third does not consent.
DECLINES = 2
CHROMIUM = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
WIDTHS, HEIGHT = (1280, 390), 800
INSTALL = f"Pictures of screens need a package that is not installed: {install_line('screenshots')}"
OTHERWISE = "Or make the document without pictures: --no-screenshots"
READY = "document.documentElement.dataset.ready === 'yes'"
MOST_MS = 30_000
STREAM = "00000000-0000-4000-8000-{:012d}"
# not those of the deployment: nobody is alerted, no proxy is in front, and nobody is limited
OWN: dict[str, Any] = {"secret": None, "alert_webhook_url": None, "trusted_proxies": "", "public_url": None}
OWN |= {"requests_per_second": 1_000, "request_burst": 10_000, "sessions_per_address_per_hour": 10_000}


@dataclass(frozen=True, slots=True)
class SeenScreen:
    name: str
    title: str
    path: str
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class Arm:
    """Conditions with the same steps, their screens in order, and the steps that no simulated participant met."""

    label: str
    screens: tuple[SeenScreen, ...]
    not_met: tuple[str, ...]


async def walk_every_arm(study: Study, language: str) -> tuple[Arm, ...]:
    """The screens of each arm. `study` is one whose models are offline (`offline`)."""
    found = []
    for number, (label, values) in enumerate(_arms(study).items(), 1):
        with TemporaryDirectory() as folder:
            database, clock = open_database(f"sqlite:///{folder}/screens.db"), VirtualClock(START_US)
            service = SessionService(database, Settings(messages_per_minute=MOST_CLICKS), clock)
            try:
                found.append(await _walk_arm(service, clock, study, language, f"arm-{number}", label, values))
            finally:
                await service.close()
                database.dispose()
    return tuple(found)


def _arms(study: Study) -> dict[str, Mapping[str, str]]:
    """The conditions that differ in what participants meet: a label, and the factors' values of one cell of each."""
    told = {name for _, step in study.steps for text in texts_in(step) for name in names(text)} & study.factors.keys()
    asked = {name for node in nodes_of(study.flow) for name in (node.when or {})} & study.factors.keys()
    found: dict[Key, Mapping[str, str]] = {}
    for cell in cells(study.factors, study.pools):
        met = tuple(placed.path for placed in study.placed_steps if is_open(placed.chain, cell.values))
        found.setdefault((met, *(cell.values.get(name) for name in sorted(told))), cell.values)
    shown = sorted(told | asked)
    labels = [", ".join(f"{name}: {values[name]}" for name in shown if name in values) for values in found.values()]
    return {label or "All participants": values for label, values in zip(labels, found.values(), strict=True)}


async def _walk_arm(
    service: SessionService, clock: VirtualClock, study: Study, language: str, slug: str, label: str,
    values: Mapping[str, str],
) -> Arm:  # fmt: skip
    service.studies.register(study)
    wanted = {placed.path for placed in study.placed_steps if is_open(placed.chain, values)}
    data = {"language": language} if len(study.file.offered) > 1 else {}
    seen: dict[Key, tuple[Screen, tuple[Event, ...]]] = {}
    for tried in range(MOST_TRIES):
        session = await service.enrol(
            study, origin=Origin.PERSON, seed=f"{slug}:{tried}", closed_quotas=without_factor(study, values), data=data
        )
        bot = RandomBot(session.state.seed)
        for _ in range(MOST_CLICKS):
            await service.settled(session.stream)
            session = await service.get(session.stream) or session
            screen = session.screen
            seen.setdefault(_key(session), (screen, service.log.load(session.stream)))
            if screen.ended:
                later = await wave_after(service, clock, session)
                if later is None:
                    break
                session = later
                continue
            if tried == DECLINES and "decline" in screen.actions:
                await service.participant(session.stream, "decline", screen.path, {}, seen=screen.seen)
            else:
                await click(service, clock, session, bot, careful=tried % 2 == 0)
        if tried >= DECLINES and wanted <= {str(key[0]) for key in seen}:
            break
    first = {path: number for number, path in reversed([*enumerate(str(key[0]) for key in seen)])}
    ordered = sorted(seen.items(), key=lambda one: (one[1][0].ended, first[str(one[0][0])]))
    screens = tuple(
        SeenScreen(f"{slug}-{number:02}-{_slug(screen)}", _title(screen), str(key[0]), events)
        for number, (key, (screen, events)) in enumerate(ordered, 1)
    )
    not_met = dict.fromkeys(path for path, _ in study.steps if path in wanted - {one.path for one in screens})
    return Arm(label, screens, tuple(not_met))


def _key(session: LoadedSession) -> Key:
    screen = session.screen
    turned = sum(event.kind == "turned" for event in session.state.facts.get(screen.path, ()))
    return without_indices(screen.path), screen.outcome, screen.actions, turned, *_traits(screen)


def _traits(screen: Screen) -> tuple[bool, bool]:
    """True if it has a notice; True if there is a conversation already."""
    chat = screen.panel.chat
    notice = any(isinstance(block, NoticeBlock) for block in screen.panel.blocks)
    return notice, chat is not None and bool(chat.messages or chat.rounds)


def _slug(screen: Screen) -> str:
    words = f"{without_indices(screen.path)} {screen.outcome}"
    return re.sub("[^a-z0-9]+", "-", words.lower()).strip("-")[:60]


def _title(screen: Screen) -> str:
    if screen.ended:
        return f"The end: {screen.outcome.replace('_', ' ')}"
    notice, talk = _traits(screen)
    said = ", in a conversation" if talk else ""
    rated = ", to be rated" if {"rate", "vote"} & {*screen.actions} else ""
    return f"{without_indices(screen.path)}{said}{rated}{', with a notice' if notice else ''}"


def chromium() -> str | None:
    return next(filter(None, map(shutil.which, CHROMIUM)), None)


def require_playwright() -> None:
    """Raise SettingsError with the line to install playwright if it is missing."""
    if find_spec("playwright") is None:
        raise SettingsError(f"{INSTALL}. {OTHERWISE}")


def take(study: Study, screens: Sequence[SeenScreen], folder: Path, language: str) -> Iterator[tuple[str, Path]]:
    """Each screen in each width, as the screen's name and the file. Raises SettingsError without Chromium."""
    from playwright.sync_api import Error, sync_playwright

    with _serving(study, screens) as (address, pilot, cookies), sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox", "--disable-gpu"])
        except Error as error:
            why = str(error).splitlines()[0]
            raise SettingsError(f"No Chromium starts: `playwright install chromium`. {OTHERWISE} ({why})") from None
        for width in WIDTHS:
            size = {"width": width, "height": HEIGHT}
            context = browser.new_context(viewport=size, reduced_motion="reduce", locale=language)  # type: ignore[arg-type]
            context.set_default_timeout(MOST_MS)
            for name, cookie in {START: None, **cookies}.items():
                context.clear_cookies()
                if cookie is not None:
                    context.add_cookies([{**cookie, "url": address}])  # type: ignore[typeddict-item]
                page = context.new_page()
                page.goto(address if cookie else pilot)
                if cookie:
                    page.wait_for_function(READY)
                page.evaluate("document.fonts.ready")
                file = folder / f"{name}-{width}.png"
                page.screenshot(path=file, full_page=True)
                page.close()
                yield name, file
            context.close()
        browser.close()


@contextmanager
def _serving(study: Study, screens: Sequence[SeenScreen]) -> Iterator[tuple[str, str, dict[str, dict[str, str]]]]:
    """Its address, a link to the start page, and the cookies of a session for each screen, by the screens' names."""
    from app.web.server import build_app  # Gradio is slow to import, and other commands need none of it

    with TemporaryDirectory() as folder:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        settings = Settings(database_url=f"sqlite:///{folder}/screens.db", host="127.0.0.1", port=port, **OWN)
        database = open_database(settings.database_url)
        Studies(database).register(study)
        secret = secret_for(settings, database)
        signing = SessionCookie(secret, secure=False)
        streams = {seen.name: STREAM.format(number) for number, seen in enumerate(screens)}
        asyncio.run(_import(database, study, {streams[seen.name]: seen.events for seen in screens}))
        quiet: dict[str, Any] = {"log_config": None, "access_log": False, "timeout_graceful_shutdown": 1}
        app = build_app(settings, database, [study])
        server = uvicorn.Server(uvicorn.Config(app, host=settings.host, port=port, log_level="warning", **quiet))
        thread = threading.Thread(target=server.run, name="parley-screens", daemon=True)
        thread.start()
        try:
            while not server.started and thread.is_alive():
                time.sleep(0.02)
            pilot = TrialLinks(secret).link("pilot", study.name, settings.address)
            cookies = {name: {"name": signing.name, "value": signing.signed(one)} for name, one in streams.items()}
            yield settings.address, pilot, cookies
        finally:
            server.should_exit = True
            thread.join(20)
            database.dispose()


def _of_nobody(events: tuple[Event, ...]) -> tuple[Event, ...]:
    """The facts without the person: of a later wave, each screen stands alone."""
    first, *others = events
    return (replace(first, data={name: value for name, value in first.data.items() if name != "person"}), *others)


async def _import(database: Database, study: Study, session_events: Mapping[str, tuple[Event, ...]]) -> None:
    sessions = Sessions(database, SystemClock())
    try:
        for stream, events in session_events.items():
            await sessions.import_session(study, stream, _of_nobody(dated(events, sessions.now_us())))
    finally:
        await sessions.close()
