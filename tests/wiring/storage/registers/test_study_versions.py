"""Versions of a study in the database: what is published is given to who begins, and nothing undoes it in silence."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from app.clock import VirtualClock
from app.config.settings import Settings
from app.session.service import SessionService
from app.studies.loader import load_study
from app.web.open_studies import OpenStudies
from experiments.errors import Refused, StudyError
from experiments.study.resolve import restore
from experiments.study.study import Study
from storage.db.engine import Database
from storage.registers.studies import BUILT, Studies
from storage.registers.study_status import operations_of, set_status
from storage.registers.study_versions import StudyVersion, current, publish, publish_on_start, versions
from tests.fakes import studies
from tests.fakes.served import settings_for

pytestmark = pytest.mark.anyio
TEXT = "Do you agree?"


def edition(folder: Path, number: int, text: str = TEXT, **more: Any) -> Study:
    flow = [{"step": "consent", "text": text}, {"step": "finish"}]
    return load_study(
        str(studies.write(folder, {"study": "small", "title": "S", "version": number, "flow": flow, **more}))
    )


@dataclass
class Shelf:
    """Editions of a study, and the database that knows them."""

    folder: Path
    database: Database
    at_us: int = 0
    made: list[Study] = field(default_factory=list)

    def publish(self, study: Study) -> bool:
        self.at_us += 1
        return publish(self.database, study, by="researcher", at_us=self.at_us).new

    def serve(self, study: Study) -> Study:
        self.at_us += 1
        return publish_on_start(self.database, study, at_us=self.at_us)

    def decide(self, kind: str, **data: Any) -> None:
        set_status(self.database, "small", kind, data, by="researcher", at_us=self.at_us)

    @property
    def state(self) -> str:
        return operations_of(self.database, "small").state


@pytest.fixture
def shelf(tmp_path: Path, database: Database) -> Shelf:
    return Shelf(tmp_path, database)


def test_what_was_published_last_is_current_and_the_same_again_is_no_change(shelf: Shelf, tmp_path: Path) -> None:
    one, two = edition(tmp_path, 1), edition(tmp_path, 2, "Otherwise?")
    assert [shelf.publish(study) for study in (one, one, two, two, one)] == [True, False, True, False, True]
    assert current(shelf.database, "small").hash == one.hash
    assert versions(shelf.database, "small") == (
        StudyVersion(one.hash, 1, 5, True),
        StudyVersion(two.hash, 2, 3, False),
    )
    assert versions(shelf.database, "other") == ()


async def test_a_draft_lets_nobody_begin_until_it_is_piloted_or_opened(shelf: Shelf, tmp_path: Path) -> None:
    study, clock = edition(tmp_path, 1), VirtualClock(0)
    runtime = SessionService(shelf.database, Settings(_env_file=None), clock)
    shelf.publish(study)
    for kind, origin in (("piloted", "pilot"), ("closed", None), ("opened", "person"), ("closed", None)):
        with pytest.raises(Refused):
            await runtime.enrol(study, origin="person")
        shelf.decide(kind, why="so")
        clock.advance(5)
        if origin:
            assert (await runtime.enrol(study, origin="person")).state.enrolled["origin"] == origin
            shelf.decide("paused", why="so")
            clock.advance(5)
    await runtime.close()


def test_a_server_that_starts_again_undoes_nothing_that_was_published(shelf: Shelf, tmp_path: Path) -> None:
    one, two, three = (edition(tmp_path, n, f"Text {n}") for n in (1, 2, 3))
    shelf.serve(one)
    shelf.publish(two)
    assert shelf.serve(one).hash == two.hash
    assert shelf.serve(three).hash == three.hash, "a file that is new is brought"


def test_two_servers_that_start_at_once_publish_once(each_database: Database, tmp_path: Path) -> None:
    study, shelf = edition(tmp_path, 1), Shelf(tmp_path, each_database)
    Studies(shelf.database).register(study)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: publish_on_start(shelf.database, study, at_us=1).hash, range(4)))
    assert set(found) == {study.hash}
    assert [version.hash for version in versions(shelf.database, "small")] == [study.hash]
    with shelf.database.connect() as connection:
        kinds = connection.exec_driver_sql("SELECT kind FROM event ORDER BY seq").scalars().all()
    assert kinds == ["published", "opened"]


async def test_a_study_whose_step_is_gone_closes_no_other(shelf: Shelf, tmp_path: Path) -> None:
    whole = edition(tmp_path, 1)
    gone = restore(whole.document.replace('"study":"small"', '"study":"gone"'))
    for study in (whole, gone):
        shelf.publish(study)
        set_status(shelf.database, study.name, "opened", {}, by="researcher", at_us=shelf.at_us)
    assert await offered(shelf, tmp_path) == {"small", "gone"}
    lost = gone.document.replace('"step":"consent"', '"step":"mood"')
    with shelf.database.begin() as connection:
        connection.execute(text("UPDATE study SET document = :lost WHERE name = 'gone'"), {"lost": lost})
    BUILT.clear()  # the package is gone in another process only
    assert await offered(shelf, tmp_path) == {"small"}
    with pytest.raises(StudyError, match="no step is called 'mood'") as refused:
        Studies(shelf.database).get(gone.hash)
    assert "package that is not installed" in str(refused.value)


async def test_published_studies_are_offered_beside_those_that_a_server_was_given(shelf: Shelf, tmp_path: Path) -> None:
    study = edition(tmp_path, 1)
    given, draft = (
        restore(study.document.replace('"study":"small"', f'"study":"{name}"')) for name in ("own", "draft")
    )
    for one in (study, draft):
        shelf.publish(one)
    assert await offered(shelf, tmp_path, given) == {"own"}
    set_status(shelf.database, study.name, "opened", {}, by="researcher", at_us=shelf.at_us)
    assert await offered(shelf, tmp_path, given) == {"own", "small"}


async def offered(shelf: Shelf, folder: Path, *given: Study) -> set[str]:
    runtime = SessionService(shelf.database, settings_for(folder), VirtualClock(10**15))
    try:
        return {*await OpenStudies(runtime, shelf.database, given).names()}
    finally:
        await runtime.close()
