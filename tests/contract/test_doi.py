"""The DOI of a deposit in a study file: one line is added, and nothing else changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.deposit.doi import record_doi, write_doi
from app.errors import DepositError
from app.studies.loader import load_study, read_yaml
from experiments.study.sections.dataset_info import DatasetInfo
from storage.db.engine import Database
from storage.registers.publication_metadata import dataset_info_of, record_dataset_info
from storage.registers.study_versions import publish
from tests.fakes import studies

DOI = "10.5281/zenodo.1234567"
STUDY = """# my study
study: sums      # its name
title: Sums
dataset:
  # who did it
  license: CC-BY-4.0
  authors:
  - {family_names: Lovelace, given_names: Ada}   # Ada
flow: []
"""
FORMS = {
    "block": (STUDY, STUDY.replace("  license:", f"  doi: {DOI}\n  license:")),
    "indented": ("dataset:\n      license: MIT\n", f"dataset:\n      doi: {DOI}\n      license: MIT\n"),
    "none": ("study: sums\n", f"study: sums\ndataset:\n  doi: {DOI}\n"),
    "no line end": ("study: sums", f"study: sums\ndataset:\n  doi: {DOI}\n"),
    "quoted": ('"dataset":\n  "license": MIT\n', f'"dataset":\n  doi: {DOI}\n  "license": MIT\n'),
}


@pytest.mark.parametrize("form", FORMS)
def test_one_line_is_added_and_the_rest_is_as_it_was(form: str, tmp_path: Path) -> None:
    before, after = FORMS[form]
    file = tmp_path / "sums.yaml"
    file.write_text(before, encoding="utf-8")
    file.chmod(0o640)
    assert write_doi(file, DOI) == DOI
    assert file.read_text(encoding="utf-8") == after
    assert file.stat().st_mode & 0o777 == 0o640
    assert [path.name for path in tmp_path.iterdir()] == ["sums.yaml"]


def test_line_ends_of_windows_stay(tmp_path: Path) -> None:
    file = tmp_path / "sums.yaml"
    file.write_bytes(b"study: sums\r\ndataset:\r\n  license: MIT\r\n")
    write_doi(file, DOI)
    assert file.read_bytes() == f"study: sums\r\ndataset:\r\n  doi: {DOI}\r\n  license: MIT\r\n".encode()


def test_another_doi_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "sums.yaml"
    file.write_text("dataset:\n  doi: 10.1234/x\n", encoding="utf-8")
    assert write_doi(file, DOI) == "10.1234/x"
    assert file.read_text(encoding="utf-8") == "dataset:\n  doi: 10.1234/x\n"


@pytest.mark.parametrize("text", ["dataset: {license: MIT}\n", "dataset: null\n", "dataset:\n  doi:\n  license: MIT\n"])
def test_a_form_that_cannot_be_changed_says_what_to_add(text: str, tmp_path: Path) -> None:
    file = tmp_path / "sums.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(DepositError, match=f"Add this line by hand, below `dataset:`: `doi: {DOI}`"):
        write_doi(file, DOI)
    assert file.read_text(encoding="utf-8") == text
    assert [path.name for path in tmp_path.iterdir()] == ["sums.yaml"]


def test_the_study_keeps_its_hash(tmp_path: Path) -> None:
    file = studies.short(tmp_path)
    before = load_study(str(file))
    write_doi(file, DOI)
    assert read_yaml(file)["dataset"]["doi"] == DOI
    assert load_study(str(file)).hash == before.hash


def test_the_recorded_metadata_have_it_beside_what_they_had(database: Database, tmp_path: Path) -> None:
    study = load_study(str(studies.short(tmp_path)))
    publish(database, study, by="researcher", at_us=1)
    record_dataset_info(database, study.name, DatasetInfo(license="MIT"), by="researcher", at_us=2)
    assert record_doi(database, study.name, DOI, 3) == DOI
    assert dataset_info_of(database, study.name) == DatasetInfo(license="MIT", doi=DOI)
    assert record_doi(database, study.name, "10.1234/another", 4) == DOI
