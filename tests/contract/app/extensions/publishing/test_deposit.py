"""Deposits in both repositories: round trips, interruptions, refusals, and never two of one export."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from shutil import copytree

import pytest

from app.errors import DepositError
from app.extensions.publishing.deposit import deposit
from app.extensions.publishing.export_folders import Deposit, GateReport, examine, open_export, read_record, record_file
from tests.fakes.http_server import Fault
from tests.fakes.repositories.deposited import FAKES, There, download, repository, write_export
from tests.fakes.repositories.hub import HubFake
from tests.fakes.repositories.server import TOKEN
from tests.fakes.repositories.zenodo import ZenodoFake

# A request of each repository that carries files.
UPLOADS = {"huggingface": "POST .*/commit/", "zenodo": "PUT /api/files/"}
PASSED = GateReport()


@pytest.fixture(params=FAKES)
def there(request: pytest.FixtureRequest) -> Iterator[There]:
    with repository(request.param) as found:
        yield found


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_export(tmp_path_factory.mktemp("written") / "data", "chatbench")


@pytest.fixture
def folder(written: Path, tmp_path: Path) -> Path:
    return copytree(written, tmp_path / "data")


def deposited(folder: Path, there: There, *, publish: bool = False) -> Deposit:
    return deposit(open_export(folder), PASSED, there.repository, publish=publish)


def public(there: There) -> list[bool]:
    match there.fake:
        case HubFake(repositories=found):
            return [not one.private for one in found.values()]
        case ZenodoFake(depositions=found):
            return [one.submitted for one in found.values()]
    raise AssertionError


def test_what_is_downloaded_again_is_the_export(there: There, folder: Path, tmp_path: Path) -> None:
    (folder / "private-notes.txt").write_text("not of the export", encoding="utf-8")
    made, export = deposited(folder, there), open_export(folder)
    again = download(there.fake, tmp_path / "again")  # opening it compares all checksums
    assert (again.checksums, again.data) == (export.checksums, export.data)
    assert (made.published, made.data, public(there)) == (False, export.data, [False])
    assert "private-notes.txt" not in {path.name for path in (tmp_path / "again").rglob("*")}


@pytest.mark.parametrize("kind", ["cut", pytest.param("lost", marks=pytest.mark.nightly)])
def test_a_broken_connection_is_continued_without_a_second_deposit(
    there: There, folder: Path, tmp_path: Path, kind: str
) -> None:
    fault = Fault(cut=kind == "cut", lose=kind == "lost", on=UPLOADS[there.repository.name])
    there.fake.faults += [fault] * 6
    with pytest.raises(DepositError) as caught:
        deposited(folder, there)
    assert TOKEN not in str(caught.value)
    there.fake.faults.clear()
    deposited(folder, there)
    assert public(there) == [False]
    assert download(there.fake, tmp_path / "again").checksums == open_export(folder).checksums


def test_a_refused_creation_leaves_no_trace(there: There, folder: Path) -> None:
    there.fake.faults.append(Fault(400, on="POST (/api/repos/create|.*/depositions)"))
    with pytest.raises(DepositError, match="400"):
        deposited(folder, there)
    assert read_record(folder).deposits == ()
    deposited(folder, there)
    assert len(public(there)) == 1


def test_damage_on_the_way_is_found_and_never_published(there: There, folder: Path, tmp_path: Path) -> None:
    if isinstance(there.fake, HubFake):
        there.fake.large_from = 1
    there.fake.faults.append(Fault(damaged=True, on="PUT /(lfs|api/files)/"))
    with pytest.raises(DepositError):
        deposited(folder, there, publish=True)
    assert public(there) == [False]
    deposited(folder, there, publish=True)
    assert public(there) == [True]
    assert download(there.fake, tmp_path / "again").checksums == open_export(folder).checksums


def test_a_publication_whose_answer_was_lost_is_found(there: There, folder: Path) -> None:
    deposited(folder, there)
    there.fake.faults += [Fault(lose=True, on="PUT .*/settings|POST .*/publish")] * 6
    with pytest.raises(DepositError):
        deposited(folder, there, publish=True)
    there.fake.faults.clear()
    assert deposited(folder, there, publish=True).published
    assert public(there) == [True]


def test_open_findings_stop_a_deposit(there: There, folder: Path) -> None:
    export = open_export(folder)
    with pytest.raises(DepositError):
        deposit(export, examine(export), there.repository, publish=True)
    assert not there.fake.requests


def test_zenodo_gets_the_metadata_of_the_export_and_needs_authors(folder: Path) -> None:
    with repository("zenodo") as there:
        made = deposited(folder, there)
        assert isinstance(there.fake, ZenodoFake)
        (one,) = there.fake.depositions.values()
        assert one.metadata["title"] == "Answers"
        assert one.metadata["creators"] == [{"name": "Lovelace, Ada", "orcid": "0000-0002-1825-0097"}]
        assert made.doi == "10.5072/zenodo.1001"
        assert sorted(one.files) == ["CITATION.cff", "README.md", "data.zip"]
    (folder / ".zenodo.json").unlink()
    with repository("zenodo") as there:
        with pytest.raises(DepositError):
            deposited(folder, there)
        assert not there.fake.requests


def test_the_record_has_no_token(there: There, folder: Path) -> None:
    deposited(folder, there)
    text = record_file(folder).read_text(encoding="utf-8")
    assert TOKEN not in text
    assert record_file(folder).stat().st_mode & 0o077 == 0
