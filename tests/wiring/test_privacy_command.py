"""`parley privacy`: a folder with the documents of a study, in words of the study, and nothing left in the database."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from app.studies.loader import load_study
from tests.fakes.commanding import parley

DOCUMENTS = ("consent-check", "data-protection-summary", "irb-annex", "record-of-processing")


@pytest.mark.parametrize("name", ["uplift", "demo"])
def test_a_folder_has_every_document_as_markdown(name: str, tmp_path: Path) -> None:
    done = parley("privacy", name, "-o", "papers", "--no-screenshots", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "papers"
    assert sorted(file.name for file in folder.iterdir()) == sorted(f"{d}.md" for d in DOCUMENTS)
    study = load_study(name)
    for document in DOCUMENTS:
        text = (folder / f"{document}.md").read_text(encoding="utf-8")
        assert f"Study: {name}, version {study.file.version}" in text
        assert study.hash in text
    annex = (folder / "irb-annex.md").read_text(encoding="utf-8")
    assert "--no-screenshots" in annex
    assert "minutes: the median of simulated participants" in annex
    assert "MISSING" not in (folder / "consent-check.md").read_text(encoding="utf-8")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["papers"], "no database was made"


def test_servers_of_the_settings_are_recipients(tmp_path: Path) -> None:
    study = tmp_path / "own.yaml"
    study.write_text(
        "study: own\ntitle: Own\nmodels: {tutor: {backend: openai, server: lab}}\n"
        "privacy: {model_servers: {lab: {operator: Example Cloud, country: Canada}}}\n"
        "flow: [{step: consent, text: Please agree.}, {step: compare, models: [tutor, tutor]}, {step: finish}]\n",
        encoding="utf-8",
    )
    servers = json.dumps({"lab": {"url": "https://models.example.org/v1", "key": "sk-secret-of-the-lab"}})
    done = parley("privacy", "own.yaml", "--no-screenshots", folder=tmp_path, PARLEY_MODEL_SERVERS=servers)
    assert done.returncode == 0, done.stderr
    written = {file.name: file.read_text(encoding="utf-8") for file in (tmp_path / "own-privacy").glob("*.md")}
    assert "models.example.org" in written["record-of-processing.md"]
    assert "Canada" in written["record-of-processing.md"]
    assert written["consent-check.md"].count("MISSING") == 9
    assert not [name for name, text in written.items() if "sk-secret" in text]


def test_the_check_of_a_study_names_what_the_form_lacks(tmp_path: Path) -> None:
    study = tmp_path / "own.yaml"
    study.write_text(
        "study: own\ntitle: Own\ncontact: me\nflow: [{step: consent, text: Please agree.}, {step: finish}]\n",
        encoding="utf-8",
    )
    found = json.loads(parley("check", "own.yaml", "--bots", "1", "--json", folder=tmp_path).stdout)["advice"]
    assert [line.startswith("flow[0].text: the consent form does not say ") for line in found] == [True] * 7
    assert "how long the data are stored (GDPR Art. 13(2)(a))" in " ".join(found)
    printed = parley("check", "own.yaml", "--bots", "0", folder=tmp_path).stdout
    assert "who runs the study" in printed


def test_without_the_package_for_pictures_the_error_has_the_install_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "playwright.sync_api", None)
    done = parley("privacy", "uplift", folder=tmp_path)
    assert done.returncode == 2
    assert "parley-studies[screenshots]" in done.stderr
    assert "--no-screenshots" in done.stderr
    assert not (tmp_path / "uplift-privacy").exists()


def test_a_language_that_the_study_does_not_have(tmp_path: Path) -> None:
    done = parley("privacy", "demo", "--language", "fr", folder=tmp_path)
    assert done.returncode == 2
    assert "--language 'fr'" in done.stderr
