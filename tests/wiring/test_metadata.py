"""Publication metadata of a study in the database: they change without a new version, and no restart reverts them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from app.studies.loader import load_study
from experiments.session.study_status import Decision
from experiments.study.sections.dataset_info import DatasetInfo
from experiments.study.study import Study
from storage.db.engine import Database
from storage.registers.publication_metadata import dataset_info_of, record_dataset_info
from storage.registers.study_status import operations_of, set_status
from storage.registers.study_versions import publish, publish_on_start, versions
from tests.fakes import studies
from tests.fakes.commanding import parley

FLOW = [{"step": "consent", "text": "Do you agree?"}, {"step": "finish"}]
AUTHORS = [{"family_names": "Lovelace", "given_names": "Ada"}]


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


def test_a_study_without_them_does_not_remove_them(database: Database, tmp_path: Path) -> None:
    record(database, license="CC0-1.0")
    assert not publish(database, edition(tmp_path), by="researcher", at_us=2).described
    assert license_of(database) == "CC0-1.0"


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


def test_they_can_be_recorded_in_every_state_and_change_none(database: Database, tmp_path: Path) -> None:
    publish(database, edition(tmp_path), by="researcher", at_us=1)
    states = []
    kinds: tuple[Decision, ...] = ("piloted", "opened", "paused", "closed")
    for number, kind in enumerate(kinds):
        states.append(operations_of(database, "small").state)
        assert record(database, version=str(number))
        assert operations_of(database, "small").state == states[-1]
        set_status(database, "small", kind, {"why": "so"}, by="researcher", at_us=number + 2)
    assert states == ["draft", "pilot", "open", "paused"]


def done(folder: Path, *words: str, code: int = 0) -> str:
    found = parley(*words, folder=folder)
    assert found.returncode == code, found.stderr
    return found.stdout + found.stderr


def written(folder: Path, **dataset: Any) -> str:
    path = folder / "more.yaml"
    path.write_text(json.dumps({"dataset": dataset}), encoding="utf-8")
    return str(path)


def test_the_command_records_and_shows_them(tmp_path: Path) -> None:
    edition(tmp_path, license="CC0-1.0", authors=AUTHORS)
    file = str(next(tmp_path.glob("*.yaml")))
    done(tmp_path, "publish", file)
    assert "no study 'smal'" in done(tmp_path, "metadata", "smal", file, code=2)
    shown = json.loads(done(tmp_path, "show", "metadata", "small", "--json"))
    assert shown == {"license": "CC0-1.0", "authors": [{**AUTHORS[0]}]}
    done(tmp_path, "metadata", "small", written(tmp_path, license="CC-BY-4.0", doi="10.1234/x"))
    assert "10.1234/x" in done(tmp_path, "show", "metadata", "small")
    wrong = done(tmp_path, "metadata", "small", written(tmp_path, doi="x", licence="MIT"), code=2)
    assert all(word in wrong for word in ("dataset.doi", "dataset.licence", "'license'?"))
    (tmp_path / "none.yaml").write_text("study: small\n", encoding="utf-8")
    assert "no key `dataset`" in done(tmp_path, "metadata", "small", "none.yaml", code=2)


def test_simulated_data_and_imported_data_have_them(tmp_path: Path) -> None:
    """From the study file to the card; and for imported data from a file of their own."""
    path = tmp_path / "study.yaml"
    raw = (Path("experiments/studies/dices-350.yaml")).read_text(encoding="utf-8")
    path.write_text(raw + "\ndataset:\n  license: CC0-1.0\n  authors:\n  - name: Our Lab\n", encoding="utf-8")
    done(tmp_path, "simulate", str(path), "-n", "1")
    name = load_study(str(path)).name
    done(tmp_path, "export", name, "--schema", "dices-350", "-o", "out")
    assert "license: cc0-1.0" in (tmp_path / "out/README.md").read_text(encoding="utf-8")
    assert "Our Lab" in (tmp_path / "out/CITATION.cff").read_text(encoding="utf-8")
    (csv,) = (tmp_path / "out").glob("*.csv")
    csv.rename(tmp_path / csv.name)
    done(tmp_path, "import", "dices-350", csv.name, "--study", "mylab")
    done(tmp_path, "metadata", "mylab", written(tmp_path, license="ODbL-1.0"))
    done(tmp_path, "export", "mylab", "--schema", "dices-350", "-o", "again")
    assert "license: odbl" in (tmp_path / "again/README.md").read_text(encoding="utf-8")
    assert not (tmp_path / "again/CITATION.cff").exists()
