"""Deposits in all three repositories: round trips, interruptions, refusals, and never two of one export."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import date
from pathlib import Path
from shutil import copytree
from threading import Event

import pytest

from app.deposit.run import DepositRequest, Done, run
from app.errors import DepositError
from storage.datasets.deposits.export_folder import open_export
from storage.datasets.deposits.gate import GateReport, examine
from storage.datasets.deposits.record import read_record, record_file
from tests.fakes.repositories.deposited import FAKES, There, download, repository, write_export
from tests.fakes.repositories.hub import HubFake
from tests.fakes.repositories.osf import OsfFake
from tests.fakes.repositories.server import TOKEN, Fault
from tests.fakes.repositories.zenodo import ZenodoFake

DRAFT, PUBLISH = DepositRequest(), DepositRequest(publish=True)
UPLOADS = {"huggingface": ("POST", "/commit/"), "zenodo": ("PUT", "/api/files/"), "osf": ("PUT", "/v1/resources/")}
"""A request of each repository that carries files."""
PASSED = GateReport((), 0, None, 5, ())


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


class Progress:
    """What a deposit told of its progress."""

    def __init__(self) -> None:
        self.total, self.sent = 0, 0

    def start(self, files: Mapping[str, Path]) -> Progress:
        self.total = sum(file.stat().st_size for file in files.values())
        return self

    def __call__(self, path: str, sent: int) -> None:
        self.sent += sent


def now() -> str:
    """The time; later at each call."""
    now.calls += 1  # type: ignore[attr-defined]
    return f"2026-11-26T10:00:{now.calls % 60:02}.000+00:00"  # type: ignore[attr-defined]


now.calls = 0  # type: ignore[attr-defined]


def deposit(folder: Path, there: There, request: DepositRequest = DRAFT, report: GateReport = PASSED) -> Done:
    return run(open_export(folder), there.repository, request, report, now, Progress().start)


def count(there: There) -> int:
    """How many deposits there are."""
    match there.fake:
        case HubFake(repositories=found):
            return len(found)
        case ZenodoFake(depositions=found):
            return len(found)
        case OsfFake(nodes=found):
            return len(found)
    raise AssertionError


def is_public(there: There) -> bool:
    match there.fake:
        case HubFake(repositories=found):
            return not next(iter(found.values())).private
        case ZenodoFake(depositions=found):
            return next(iter(found.values())).submitted
        case OsfFake(nodes=found):
            return bool(next(iter(found.values())).attributes["public"])
    raise AssertionError


def test_what_is_downloaded_again_is_the_export(there: There, folder: Path, tmp_path: Path) -> None:
    progress, export = Progress(), open_export(folder)
    done = run(export, there.repository, DepositRequest(), PASSED, now, progress.start)
    again = download(there.fake, tmp_path / "again")  # opening it compares all checksums
    assert (again.checksums, again.data) == (export.checksums, export.data)
    assert progress.sent == progress.total > 0
    assert (done.deposit.state, done.deposit.data) == ("draft", export.data)
    assert not is_public(there)
    assert done.deposit.url.startswith(("http://127.0.0.1", "https://osf.io/"))


def test_a_draft_is_published_later_with_its_doi(there: There, folder: Path) -> None:
    draft = deposit(folder, there).deposit
    done = deposit(folder, there, PUBLISH)
    assert is_public(there)
    assert count(there) == 1
    assert (done.deposit.id, done.deposit.state) == (draft.id, "published")
    if there.repository.name == "huggingface":
        assert "Generate DOI" in done.next
    else:
        assert done.deposit.doi.startswith("10.")
    assert read_record(folder).deposits == (done.deposit,)
    assert deposit(folder, there, PUBLISH).unchanged


@pytest.mark.parametrize("kind", ["cut", "lost"])
def test_a_broken_connection_is_continued_without_a_second_deposit(
    there: There, folder: Path, tmp_path: Path, kind: str
) -> None:
    method, part = UPLOADS[there.repository.name]
    faults = [Fault(method, part, cut=kind == "cut", lost=kind == "lost") for _ in range(6)]
    there.fake.faults += faults
    with pytest.raises(DepositError, match="Run the same command again: it continues") as caught:
        deposit(folder, there)
    assert TOKEN not in str(caught.value)
    there.fake.faults.clear()
    deposit(folder, there)
    assert count(there) == 1
    assert download(there.fake, tmp_path / "again").checksums == open_export(folder).checksums


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_server_is_asked_again(folder: Path, status: int) -> None:
    with repository("zenodo") as there:
        for method, part in (("PUT", "/api/files/"), ("GET", "/files"), ("PUT", "/depositions/")):
            there.fake.faults.append(Fault(method, part, status, {"Retry-After": "7"}))
        deposit(folder, there)
        assert there.pauses == [7.0, 7.0, 7.0]
        assert count(there) == 1


def test_a_server_that_stays_busy_is_left_alone(there: There, folder: Path) -> None:
    method, part = UPLOADS[there.repository.name]
    there.fake.faults += [Fault(method, part, 429) for _ in range(9)]
    with pytest.raises(DepositError, match=r"429.*Wait for some minutes.*it continues where it stopped"):
        deposit(folder, there)
    assert there.fake.faults
    assert read_record(folder).deposits[0].state == "draft"


def test_a_draft_whose_creation_may_have_succeeded_is_not_made_twice(there: There, folder: Path) -> None:
    path = {"huggingface": "/api/repos/create", "zenodo": "/depositions", "osf": "/v2/nodes/"}[there.repository.name]
    there.fake.faults.append(Fault("POST", path, lost=True))
    with pytest.raises(DepositError, match="did not answer"):
        deposit(folder, there)
    with pytest.raises(DepositError, match=r"there may be an empty one.*--id ID; if not, add --new"):
        deposit(folder, there)
    assert count(there) == 1
    id_ = {"huggingface": "lab/demo", "zenodo": "1001", "osf": "n0000"}[there.repository.name]
    done = deposit(folder, there, DepositRequest(id=id_))
    assert (count(there), done.deposit.id, len(read_record(folder).deposits)) == (1, id_, 1)


@pytest.mark.parametrize("name", FAKES)
def test_a_repository_that_is_away_is_no_doubtful_creation(folder: Path, name: str) -> None:
    with repository(name) as there:
        there.fake.stop()
        with pytest.raises(DepositError, match=r"cannot be reached \(ConnectError\)"):
            deposit(folder, there)
        assert read_record(folder).deposits == ()


def test_a_refused_creation_leaves_no_trace(there: There, folder: Path) -> None:
    path = {"huggingface": "/api/repos/create", "zenodo": "/depositions", "osf": "/v2/nodes/"}[there.repository.name]
    there.fake.faults.append(Fault("POST", path, 400))
    with pytest.raises(DepositError, match="400"):
        deposit(folder, there)
    assert read_record(folder).deposits == ()
    deposit(folder, there)
    assert count(there) == 1


def test_damage_on_the_way_is_found_and_never_published(there: There, folder: Path, tmp_path: Path) -> None:
    if there.repository.name == "huggingface":
        there.fake.large_from = 1  # type: ignore[attr-defined]
        there.fake.faults += [Fault("PUT", "/lfs/", damaged=True)]
        said = "400"
    else:
        method, part = UPLOADS[there.repository.name]
        there.fake.faults.append(Fault(method, part, damaged=True))
        said = "other checksums for .*damaged on its way"
    with pytest.raises(DepositError, match=said):
        deposit(folder, there, PUBLISH)
    assert not is_public(there)
    deposit(folder, there, PUBLISH)
    assert is_public(there)
    assert download(there.fake, tmp_path / "again").checksums == open_export(folder).checksums


def test_the_hub_gets_one_file_at_a_time(folder: Path) -> None:
    """Its client reads one open file for all that have the same content: two at once read each other's bytes."""
    with repository("huggingface") as there, ThreadPoolExecutor(1) as thread:
        there.fake.large_from = 1  # type: ignore[attr-defined]
        go_on = Event()
        there.fake.faults.append(Fault("PUT", "/lfs/", held=go_on))
        first = thread.submit(deposit, folder, there)
        while there.fake.faults:
            time.sleep(0.01)
        time.sleep(0.5)
        assert there.fake.sent("PUT") == []
        go_on.set()
        with suppress(DepositError):  # the connection was closed
            first.result(60)
        deposit(folder, there)


def test_a_wrong_token_says_which_setting(folder: Path) -> None:
    for name in FAKES:
        with repository(name, "zqwrongtokenqz") as there:
            with pytest.raises(DepositError, match=rf"401.*PARLEY_{name.upper()}_TOKEN") as caught:
                deposit(folder, there)
            assert "zqwrongtokenqz" not in str(caught.value)
            assert read_record(folder).deposits == ()


def test_an_export_that_changed_replaces_its_draft(there: There, folder: Path, tmp_path: Path) -> None:
    deposit(folder, there)
    with (folder / "README.md").open("a", encoding="utf-8") as card:
        card.write("\nMore.\n")
    deposit(folder, there)
    assert (download(there.fake, tmp_path / "again").path / "README.md").read_text(encoding="utf-8").endswith("More.\n")
    assert count(there) == 1


def test_a_file_that_is_gone_is_removed_from_the_draft(there: There, folder: Path, tmp_path: Path) -> None:
    export = open_export(folder)
    deposit(folder, there)
    (folder / "CITATION.cff").unlink()
    deposit(folder, there)
    assert {*export.checksums} - {*download(there.fake, tmp_path / "again").checksums} == {"CITATION.cff"}


def test_another_state_of_a_published_export_is_refused(there: There, folder: Path, tmp_path: Path) -> None:
    deposit(folder, there, PUBLISH)
    other = write_export(tmp_path / "other", "mathconverse")
    record_file(folder).rename(record_file(other))
    with pytest.raises(DepositError, match=r"published.*does not change.*add --new"):
        deposit(other, there)
    name = "lab/second" if there.repository.name == "huggingface" else ""
    deposit(other, there, DepositRequest(new=True, name=name))
    assert count(there) == 2
    assert [one.state for one in read_record(other).deposits] == ["published", "draft"]


def test_a_publication_whose_answer_was_lost_is_found(there: There, folder: Path) -> None:
    deposit(folder, there)
    last = {"huggingface": ("PUT", "/settings"), "zenodo": ("POST", "/publish"), "osf": ("POST", "/identifiers/")}
    there.fake.faults.append(Fault(*last[there.repository.name], lost=True))
    with pytest.raises(DepositError, match="did not answer"):
        deposit(folder, there, PUBLISH)
    done = deposit(folder, there, PUBLISH)
    assert (done.deposit.state, count(there)) == ("published", 1)
    assert done.deposit.doi or there.repository.name == "huggingface"


def test_an_embargo_is_kept_by_zenodo_and_by_waiting_elsewhere(there: There, folder: Path) -> None:
    later = date(2027, 3, 1)
    if isinstance(there.fake, ZenodoFake):
        deposit(folder, there, DepositRequest(publish=True, embargo_until=later))
        (one,) = there.fake.depositions.values()
        assert (one.metadata["access_right"], one.metadata["embargo_date"]) == ("embargoed", "2027-03-01")
        return
    with pytest.raises(DepositError, match=r"keeps no embargo.*--publish on 2027-03-01 or later"):
        deposit(folder, there, DepositRequest(publish=True, embargo_until=later))
    deposit(folder, there, DepositRequest(embargo_until=later))
    with pytest.raises(DepositError, match="2027-03-01"):
        deposit(folder, there, PUBLISH)  # the embargo is recorded
    assert not is_public(there)


def test_an_embargo_that_is_over_is_refused(there: There, folder: Path) -> None:
    with pytest.raises(DepositError, match="give a day after today"):
        deposit(folder, there, DepositRequest(embargo_until=date(2026, 11, 26)))
    assert count(there) == 0


def test_open_findings_stop_a_deposit(there: There, folder: Path) -> None:
    report = examine(open_export(folder))
    assert report.open
    with pytest.raises(DepositError, match="open findings"):
        deposit(folder, there, report=report)
    assert not there.fake.requests


def test_zenodo_needs_authors(folder: Path) -> None:
    (folder / ".zenodo.json").unlink()
    with repository("zenodo") as there:
        with pytest.raises(DepositError, match=r"needs the authors.*parley metadata demo FILE"):
            deposit(folder, there)
        assert not there.fake.requests


def test_zenodo_gets_the_metadata_of_the_export(folder: Path) -> None:
    with repository("zenodo") as there:
        done = deposit(folder, there)
        assert isinstance(there.fake, ZenodoFake)
        (one,) = there.fake.depositions.values()
    assert one.metadata["title"] == "Answers"
    assert one.metadata["creators"] == [{"name": "Lovelace, Ada", "orcid": "0000-0002-1825-0097"}]
    assert done.deposit.reserved_doi == "10.5072/zenodo.1001"
    assert sorted(one.files) == ["CITATION.cff", "README.md", "data.zip"]


def test_an_invalid_field_is_named(folder: Path) -> None:
    fields = json.loads((folder / ".zenodo.json").read_bytes())
    (folder / ".zenodo.json").write_text(json.dumps({**fields, "colour": "red"}))
    said = r"400.*metadata.colour Unknown field name"
    with repository("zenodo") as there, pytest.raises(DepositError, match=said):
        deposit(folder, there)


def test_files_of_the_osf_that_are_the_same_are_not_sent_again(folder: Path) -> None:
    with repository("osf") as there:
        deposit(folder, there)
        sent = len(there.fake.sent("PUT"))
        deposit(folder, there)
        assert len(there.fake.sent("PUT")) == sent > 0


def test_the_token_is_sent_to_no_other_site(folder: Path) -> None:
    with repository("osf") as there, repository("osf") as other:
        assert isinstance(there.fake, OsfFake)
        there.fake.files_url = other.fake.url.replace("127.0.0.1", "localhost")
        with pytest.raises(DepositError, match="named an address of another site"):
            deposit(folder, there)
        assert not other.fake.requests


def test_large_files_of_the_hub_go_to_git_lfs_and_are_not_sent_twice(folder: Path, tmp_path: Path) -> None:
    with repository("huggingface") as there:
        assert isinstance(there.fake, HubFake)
        there.fake.large_from = 1
        there.fake.faults.append(Fault("POST", "/commit/", 400))
        with pytest.raises(DepositError, match="400"):
            deposit(folder, there)
        stored = len(there.fake.sent("PUT", "/lfs/"))
        assert stored > 3
        deposit(folder, there)
        assert len(there.fake.sent("PUT", "/lfs/")) == stored
        assert download(there.fake, tmp_path / "again").checksums == open_export(folder).checksums


def test_a_name_that_is_taken_at_the_hub_is_not_deposited_into(folder: Path, written: Path, tmp_path: Path) -> None:
    with repository("huggingface") as there:
        deposit(folder, there)
        other = copytree(written, tmp_path / "other")
        with pytest.raises(DepositError, match=r"409.*--name NAME chooses another name than demo; --id ID"):
            deposit(other, there)
        assert count(there) == 1


def test_the_record_has_no_value_and_no_token(folder: Path) -> None:
    with repository("osf") as there:
        deposit(folder, there, report=replace(PASSED, k=3, people=9, demographics=("age",)))
    text = record_file(folder).read_text(encoding="utf-8")
    assert TOKEN not in text
    assert json.loads(text)["deposits"][0]["gate"] == {
        "k": 3,
        "threshold": 5,
        "people": 9,
        "demographics": ["age"],
        "findings": [],
        "reviewed_by": [],
    }
