"""Walking through a study: a bot comes to the step that was chosen, and a link lets a researcher go on from there."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.bots.preview_session import SAID, PreviewTarget, advance_to_step
from app.clock import SystemClock
from app.session.service import Sessions
from app.session.signed_links import HOUR_S, PreviewLinks
from app.studies.loader import load_study
from app.studies.outline import outline, steps
from experiments.errors import StudyError
from experiments.events import Event
from experiments.session.engine import fold, screen
from experiments.session.waves import next_window, wave_schedule
from experiments.study.location import without_indices
from experiments.study.study import Study
from storage.db.engine import Database, open_database
from storage.registers.persons import people
from storage.registers.studies import Studies
from storage.reports.reproducibility import recompute_draws
from tests.fakes import studies, waves
from tests.fakes.http_bot import HttpBot
from tests.fakes.served import SECRET, Served
from tests.fakes.sessions import NAMES, study
from tests.wiring.reading import facts, query

pytestmark = pytest.mark.anyio


class Ground:
    """A database in whose sessions one walks."""

    def __init__(self, folder: Path) -> None:
        self.database: Database = open_database(f"sqlite:///{folder}/parley.db")
        self.sessions = Sessions(self.database, SystemClock())

    async def walk(self, study: Study, step: str = "", **factors: str) -> list[Event]:
        Studies(self.database).register(study)
        return facts(self.database, await advance_to_step(self.sessions, study, PreviewTarget(step, factors)))


@pytest.fixture
async def ground(tmp_path: Path) -> AsyncIterator[Ground]:
    ground = Ground(tmp_path)
    yield ground
    await ground.sessions.close()
    ground.database.dispose()


@pytest.mark.parametrize("name", NAMES)
async def test_a_bot_comes_to_a_step_of_any_study(ground: Ground, name: str, soak: bool) -> None:
    found = study(name)
    paths = list(dict.fromkeys(step.path for step in steps(outline(found))))
    for path in paths if soak else paths[-1:]:
        state = fold(await ground.walk(found, path))
        assert without_indices(screen(found, state).path) == path
        assert (state.enrolled["hash"], state.enrolled["origin"]) == (found.hash, "pilot")
        assert (state.events[-1].kind, state.events[-1].data) == ("noted", {"what": SAID})
    origins = query(ground.database, "SELECT DISTINCT origin, hash FROM session")
    assert origins == [("pilot", found.hash)]
    assert not query(ground.database, "SELECT * FROM attempt"), "nothing was asked of a model of the study's"
    assert not recompute_draws(ground.database, found.name).differences, "all that was decided can be derived again"


async def test_a_step_of_one_condition_brings_that_condition(ground: Ground) -> None:
    state = fold(await ground.walk(study("chatbench"), "phase-2/question[*]/alone"))
    assert state.factors["condition"] == "answer-first"
    with pytest.raises(StudyError, match="only with condition: answer-first, not with condition: direct-to-AI"):
        await ground.walk(study("chatbench"), "phase-2/question[*]/alone", condition="direct-to-AI")


async def test_a_bot_comes_to_a_step_of_a_later_wave_through_those_before_it(ground: Ground) -> None:
    state = fold(await ground.walk(waves.study(), "last/info", help="alone"))
    assert (screen(waves.study(), state).path, state.factors) == ("last/info", {"help": "alone"})
    (found,) = people(ground.database, "weeks", "pilot")
    assert [*found.streams] == ["week-1", "week-2", "evening", "last"]
    window = next_window(wave_schedule(waves.study(), found.history, state.events[-1].at_us))
    assert (window and window.wave, window and window.state) == ("last", "live")


async def test_a_link_leads_a_browser_into_the_session_of_a_study_that_is_not_served(served: Served) -> None:
    folder = Path(served.settings.database_url.removeprefix("sqlite:///")).parent
    draft = load_study(str(studies.short(folder, "draft")))
    Studies(served.database).register(draft)
    sessions = Sessions(served.database, SystemClock())
    stream = await advance_to_step(sessions, draft, PreviewTarget("question[*]/alone"))
    await sessions.close()
    link = PreviewLinks(SECRET).link(served.settings.address, stream)
    assert link.startswith("http://127.0.0.1:7860/walk/")
    async with HttpBot(served.url, "walker") as walker:
        answer = await walker.send("GET", link.removeprefix("http://127.0.0.1:7860"))
        assert (answer.status_code, answer.headers["location"]) == (303, "/")
        await walker.look()
        assert (walker.stream, walker.screen.path) == (stream, "question[0]/alone")
        assert walker.answer is not None
        assert "Pilot run" in (await walker.send("POST", "/api/look", {"view": "page"})).text
        await walker.finish()
    own = [event for event in facts(served.database, stream) if event.by == "participant"]
    assert own[-1].at_us > own[0].at_us
    assert fold(facts(served.database, stream)).outcome == "complete"


async def test_only_links_of_ours_to_pilots_open_anything(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    async with HttpBot(served.url, "person") as person, HttpBot(served.url, "thief") as thief:
        await person.arrive("short")
        walks, address = PreviewLinks(SECRET), served.settings.address
        good = walks.link(address, person.stream).rpartition("/")[2]
        forged = PreviewLinks("another secret of thirty-two chars").link(address, person.stream).rpartition("/")[2]
        unknown = walks.link(address, "00000000-0000-0000-0000-000000000000").rpartition("/")[2]
        for token in (good, forged, unknown, good[:-1], f"x{good}", person.client.cookies["parley"], "x"):
            answer = await thief.send("GET", f"/walk/{token}")
            assert answer.status_code == 404, token
            assert "parley" not in thief.client.cookies
    assert walks.stream(good) == person.stream
    monkeypatch.setattr("itsdangerous.timed.time.time", lambda: SystemClock().now_us() / 1e6 + HOUR_S + 5)
    assert walks.stream(good) is None
