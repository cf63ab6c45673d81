"""Every screen of a study, as simulated participants meet it with a scripted model: what the pictures are taken of.

Conditions that show the same steps and texts are one arm. The participants act in a database that is thrown away, on a
clock of their own; the same study gives the same screens.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from typing import TypeAlias

from app.bots.preview_session import CLICK_S, MOST_CLICKS, MOST_TRIES, is_open, step_chains, without_factor
from app.bots.random_bot import RandomBot
from app.bots.simulate import START_US, correct_answers, wait_until_open
from app.clock import VirtualClock
from app.config.settings import Settings
from app.session.service import SessionService
from app.session.transitions import LoadedSession
from experiments.events import Event
from experiments.session.telemetry import without_indices
from experiments.study.cells import cells
from experiments.study.screen import NoticeBlock, Screen
from experiments.study.study import Study
from experiments.study.template import names
from experiments.views.translatable_texts import texts_in
from storage.db.engine import open_database
from storage.registers.origins import Origin

Key: TypeAlias = tuple[object, ...]
"""What screens that look alike have in common; it begins with the step's path without the numbers of turns."""
AsyncScreens: TypeAlias = AsyncIterator[tuple[Key, Screen, tuple[Event, ...]]]
START = "start"
"""The name of the start page among the pictures; no session has begun there."""
CAREFUL, CARELESS = 0, 1
"""The first participant passes every check; the second answers by chance, and may meet what comes after a failure."""


@dataclass(frozen=True, slots=True)
class SeenScreen:
    """A screen: what led to it, its name among the pictures, and its title in the document. `number` counts from 1."""

    name: str
    number: int
    title: str
    path: str
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class Arm:
    """Conditions in which participants meet the same steps, with their screens in order, and the paths of steps that
    no simulated participant met."""

    label: str
    screens: tuple[SeenScreen, ...]
    not_met: tuple[str, ...]


async def walk_every_arm(study: Study, language: str) -> tuple[Arm, ...]:
    """The screens of each arm. `study` is one whose models are offline (`offline`)."""
    found = []
    for number, (label, values) in enumerate(arms(study).items(), 1):
        found.append(await _walk_arm(study, language, f"arm-{number}", label, values))
    return tuple(found)


def arms(study: Study) -> dict[str, Mapping[str, str]]:
    """The conditions that differ in what participants meet: a label, and the factors' values of one cell of each."""
    chains = list(step_chains(study.flow))
    told = {name for _, step in study.steps for text in texts_in(step) for name in names(text)} & study.factors.keys()
    asked = {name for _, chain in chains for node in chain for name in (node.when or {})} & study.factors.keys()
    found: dict[Key, Mapping[str, str]] = {}
    for cell in cells(study.factors, study.pools):
        met = tuple(path for path, chain in chains if is_open(chain, cell.values))
        found.setdefault((met, *(cell.values.get(name) for name in sorted(told))), cell.values)
    shown = sorted(told | asked)
    labels = [", ".join(f"{name}: {values[name]}" for name in shown if name in values) for values in found.values()]
    return {label or "All participants": values for label, values in zip(labels, found.values(), strict=True)}


async def _walk_arm(study: Study, language: str, slug: str, label: str, values: Mapping[str, str]) -> Arm:
    wanted = {path for path, chain in step_chains(study.flow) if is_open(chain, values)}
    seen: dict[Key, tuple[Screen, tuple[Event, ...]]] = {}
    with TemporaryDirectory() as folder:
        database = open_database(f"sqlite:///{folder}/screens.db")
        clock = VirtualClock(START_US)
        runtime = SessionService(database, Settings(messages_per_minute=MOST_CLICKS), clock)
        try:
            runtime.studies.register(study)
            for number in range(MOST_TRIES):
                walker = _Walker(runtime, clock, study, values, language, f"{slug}:{number}")
                for key, screen, events in [found async for found in walker.walk(careful=number % 2 == CAREFUL)]:
                    seen.setdefault(key, (screen, events))
                if number >= CARELESS and wanted <= {str(key[0]) for key in seen}:
                    break
            decliner = _Walker(runtime, clock, study, values, language, f"{slug}:declines")
            for key, screen, events in [found async for found in decliner.decline()]:
                seen.setdefault(key, (screen, events))
        finally:
            await runtime.close()
            database.dispose()
    first = {path: number for number, path in reversed([*enumerate(str(key[0]) for key in seen)])}
    ordered = sorted(seen.items(), key=lambda one: (one[1][0].ended, first[str(one[0][0])]))
    screens = tuple(
        SeenScreen(f"{slug}-{number:02}-{_slug(screen)}", number, _title(screen), str(key[0]), events)
        for number, (key, (screen, events)) in enumerate(ordered, 1)
    )
    not_met = dict.fromkeys(path for path, _ in study.steps if path in wanted - {one.path for one in screens})
    return Arm(label, screens, tuple(not_met))


@dataclass(frozen=True, slots=True)
class _Walker:
    """A simulated participant of one arm."""

    runtime: SessionService
    clock: VirtualClock
    study: Study
    values: Mapping[str, str]
    language: str
    seed: str

    async def walk(self, *, careful: bool) -> AsyncScreens:
        """Take part to the end; each screen with a key that is the same for screens that look alike."""
        live = await self._begin()
        bot = RandomBot(live.state.seed)
        for _ in range(MOST_CLICKS):
            await self.runtime.settled(live.stream)
            live = await self.runtime.get(live.stream) or live
            yield _key(live), live.screen, self.runtime.log.load(live.stream)
            if live.screen.ended:
                return
            kind, values = bot.act(live.screen)
            if kind == "submit" and careful:
                values |= correct_answers(live)
            await self._act(live, kind, values)

    async def decline(self) -> AsyncScreens:
        """Go on to the consent form, and decline."""
        live = await self._begin()
        bot = RandomBot(live.state.seed)
        while "decline" not in live.screen.actions:
            if live.screen.ended or live.state.seq > MOST_CLICKS:
                return
            kind, values = bot.act(live.screen)
            await self._act(live, kind, values | dict(correct_answers(live)))
            live = await self.runtime.get(live.stream) or live
        await self._act(live, "decline", {})
        live = await self.runtime.get(live.stream) or live
        yield _key(live), live.screen, self.runtime.log.load(live.stream)

    async def _begin(self) -> LoadedSession:
        data = {"language": self.language} if len(self.study.file.offered) > 1 else {}
        shut = without_factor(self.study, self.values)
        seed = f"screens:{self.seed}"
        return await self.runtime.enrol(self.study, origin=Origin.PERSON, seed=seed, shut=shut, data=data)

    async def _act(self, live: LoadedSession, kind: str, values: Mapping[str, object]) -> None:
        screen = live.screen
        self.clock.advance(CLICK_S)
        wait_until_open(self.clock, screen)
        await self.runtime.participant(
            live.stream, kind, screen.path, values, seen=screen.seen, key=f"{live.state.seq}"
        )
        await self.runtime.settled(live.stream)


def _key(live: LoadedSession) -> Key:
    screen = live.screen
    turned = sum(event.kind == "turned" for event in live.state.facts.get(screen.path, ()))
    notices = any(isinstance(block, NoticeBlock) for block in screen.panel.blocks)
    return without_indices(screen.path), screen.outcome, screen.actions, turned, notices, _said(screen)


def _said(screen: Screen) -> bool:
    """Whether there is a conversation already."""
    chat = screen.panel.chat
    return chat is not None and bool(chat.messages or chat.rounds)


def _slug(screen: Screen) -> str:
    words = f"{without_indices(screen.path)} {screen.outcome}"
    return re.sub("[^a-z0-9]+", "-", words.lower()).strip("-")[:60]


def _title(screen: Screen) -> str:
    if screen.ended:
        return f"The end: {screen.outcome.replace('_', ' ')}"
    said = ", in a conversation" if _said(screen) else ""
    rated = ", to be rated" if {"rate", "vote"} & {*screen.actions} else ""
    notice = ", with a notice" if any(isinstance(block, NoticeBlock) for block in screen.panel.blocks) else ""
    return f"{without_indices(screen.path)}{said}{rated}{notice}"
