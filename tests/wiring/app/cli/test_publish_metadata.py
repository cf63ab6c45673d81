"""Publication metadata of a study in the database: they change without a new version, and no restart reverts them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from app.studies.loader import load_study
from experiments.study.sections.dataset_info import DatasetInfo
from experiments.study.study import Study
from storage.db.engine import Database
from storage.registers.study_status import dataset_info_of, record_dataset_info
from storage.registers.study_versions import publish, publish_on_start, versions
from tests.fakes import studies

FLOW = [{"step": "consent", "text": "Do you agree?"}, {"step": "finish"}]


def edition(folder: Path, **dataset: Any) -> Study:
    more = {"dataset": dataset} if dataset else {}
    return load_study(str(studies.write(folder, {"study": "small", "title": "S", "flow": FLOW, **more})))


def record(database: Database, **dataset: Any) -> bool:
    return record_dataset_info(database, "small", DatasetInfo(**dataset), by="researcher", at_us=9)


def license_of(database: Database) -> str | None:
    info = dataset_info_of(database, "small")
    return info.license if info else None


def test_they_change_without_a_new_version(database: Database, tmp_path: Path) -> None:
    done = publish(database, edition(tmp_path), by="researcher", at_us=1)
    assert (done.new, done.described, license_of(database)) == (True, False, None)
    done = publish(database, edition(tmp_path, license="CC0-1.0"), by="researcher", at_us=2)
    assert (done.new, done.described, license_of(database)) == (False, True, "CC0-1.0")
    assert record(database, license="CC-BY-4.0")
    assert not record(database, license="CC-BY-4.0")
    assert license_of(database) == "CC-BY-4.0"
    assert len(versions(database, "small")) == 1


def test_a_restart_with_an_old_file_does_not_revert_them(database: Database, tmp_path: Path) -> None:
    old = edition(tmp_path, license="CC0-1.0")
    for later in ("CC-BY-4.0", "ODbL-1.0"):
        publish_on_start(database, old, at_us=1)
        record(database, license=later)
        publish_on_start(database, old, at_us=2)
        assert license_of(database) == later
    publish_on_start(database, edition(tmp_path, license="PDDL-1.0"), at_us=3)
    assert license_of(database) == "PDDL-1.0", "a file that is new was meant"
    publish(database, old, by="researcher", at_us=4)
    assert license_of(database) == "CC0-1.0", "whoever publishes means what the file says"
