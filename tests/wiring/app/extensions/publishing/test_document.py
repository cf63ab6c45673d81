"""`parley privacy`: a folder with the document of a study, in words of the study, and nothing left in the database."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from app.studies.loader import load_study
from tests.fakes.commanding import parley


@pytest.mark.parametrize("name", ["uplift", "demo"])
def test_the_document_has_every_step_with_its_wording_and_the_studys_hash(name: str, tmp_path: Path) -> None:
    done = parley("privacy", name, "-o", "papers", "--no-screenshots", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    study, text = load_study(name), (tmp_path / "papers/data-protection.md").read_text(encoding="utf-8")
    assert study.hash in text
    assert [path for path, _ in study.steps if f"### {path} (" not in text] == []
    for _, step in study.steps:
        assert [line for line in step.instructions().strip().splitlines() if line.strip() and line not in text] == []
    assert sorted(file.name for file in tmp_path.iterdir()) == ["papers"], "no database was made"


def test_servers_of_the_settings_are_recipients_and_no_key_is_written(tmp_path: Path) -> None:
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
    text = (tmp_path / "own-privacy/data-protection.md").read_text(encoding="utf-8")
    assert "model server lab (models.example.org)" in text
    assert "Example Cloud | Canada |" in text
    assert "privacy.model_servers.lab.retention" in text
    assert "sk-secret" not in text


def test_without_the_package_for_pictures_the_error_has_the_install_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "playwright", None)
    done = parley("privacy", "uplift", folder=tmp_path)
    assert done.returncode == 2
    assert "parley-studies[screenshots]" in done.stderr
    assert not (tmp_path / "uplift-privacy").exists()


def test_a_language_that_the_study_does_not_have(tmp_path: Path) -> None:
    done = parley("privacy", "demo", "--language", "fr", folder=tmp_path)
    assert done.returncode == 2
    assert "--language 'fr'" in done.stderr
