"""People of a recruiter who took part in the study `short`, each with words of their own in all that they wrote."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.bots.random_bot import RandomBot
from app.bots.simulate import START_US
from app.clock import VirtualClock
from app.session.service import SessionService
from app.studies.loader import load_study, read_yaml
from experiments.study.study import Study
from storage.db.engine import Database
from storage.registers.participants import ParticipantId, Participants
from tests.fakes import studies
from tests.fakes.clicks import click
from tests.fakes.served import SECRET, settings_for

FREE = ("text", "comment")


@dataclass
class Visits:
    """A study that is taken part in, in time that only passes when it is told to."""

    folder: Path
    database: Database
    runtime: SessionService
    study: Study
    clock: VirtualClock
    people: Participants
    streams: dict[str, str] = field(default_factory=dict)
    """The session of each person, by id."""

    @property
    def url(self) -> str:
        return self.database.url.render_as_string(hide_password=False)

    async def take_part(self, id_: str, words: str, *, recruiter: str = "prolific", **known: Any) -> str:
        """Somebody comes and goes on to the end; returns the session. `known` is of the event `enrolled`."""
        proven = known.get("proof", "signed") != "none"
        number = 1 if proven else self.people.unproven(self.study.name, ParticipantId(recruiter, id_)) + 1
        person = ParticipantId(recruiter, id_, f"submission-{words}")
        identity = self.people.entry(self.study.name, person, number, proven=proven)
        live = await self.runtime.enrol(
            self.study, origin="person", identity=identity, data={"proof": "signed"} | known
        )
        bot = RandomBot(words)
        while not live.screen.ended:
            kind, values = bot.act(live.screen)
            said = {name: f"{value} {words}" if name in FREE else value for name, value in values.items()}
            self.clock.advance(60)
            live = await click(self.runtime, live, kind, **said)
        self.streams[id_] = live.stream
        return live.stream


def begin(folder: Path, database: Database, **keys: Any) -> Visits:
    file = studies.short(folder)
    study = load_study(str(studies.write(folder, {**read_yaml(file), **keys})))
    clock = VirtualClock(START_US)
    runtime = SessionService(database, settings_for(folder), clock)
    runtime.prepare(study)
    return Visits(folder, database, runtime, study, clock, Participants(database, SECRET))
