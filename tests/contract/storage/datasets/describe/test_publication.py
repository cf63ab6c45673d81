"""Publication metadata in the files beside exported data: valid in each format, complete, and never invented."""

from __future__ import annotations

import json
from dataclasses import replace
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from ruamel.yaml import YAML

from experiments.study.sections.dataset_info import DatasetInfo
from storage.ai_alone.model_use import ModelTask
from storage.datasets.describe.export_folder import describe
from storage.datasets.describe.publication import original_origins, publication
from storage.datasets.manifest import ExportManifest
from storage.schemas.registry import schema, schemas
from tests.fakes.exported import SOURCE, exported

# The metadata of the card: fewer lines than a screen has.
CARD_LINES = 40
WHOLE = DatasetInfo.model_validate(
    {
        "title": "How people ask: <a study>",
        "description": "Conversations about sums & proofs.",
        "authors": [
            {
                "family_names": "Carberry",
                "given_names": "Josiah",
                "orcid": "0000-0002-1825-0097",
                "affiliation": "Brown University",
            },
            {"name": "The Psychoceramics Lab", "affiliation": "Brown University"},
        ],
        "license": "CC-BY-4.0",
        "doi": "10.5281/zenodo.1234567",
        "url": "https://example.org/data",
        "version": "1.0.0",
        "date_published": "2026-11-26",
        "keywords": ["human-AI interaction", "mathematics"],
        "funding": [{"funder": "The Fund", "award": "F-12"}],
        "ethics_approval": "IRB of Brown University, 10999",
        "participants": "Adults in the US, from Prolific's standard sample",
        "pay": "USD 5.00 for about 25 minutes",
        "consent": "They agreed to the publication of their pseudonymous data.",
        "personal_information": ["Age"],
        "limitations": ["English only."],
        "biases": ["One country."],
        "use_cases": ["Evaluation of chatbots."],
        "social_impact": "Better tutors.",
        "maintenance": "Corrections are published as new versions.",
    }
)


def made(folder: Path, name: str = "chatbench", origin: str = "person", **more: Any) -> ExportManifest:
    found = replace(exported(folder, name, origin), **more)
    describe(found)
    return found


def metadata(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "metadata.json").read_bytes())
    return found


# The formats


def cff_schema() -> Any:
    there = files("check_jsonschema") / "builtin_schemas" / "vendor" / "citation-file-format.json"
    return json.loads(there.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "info",
    [WHOLE, DatasetInfo.model_validate({"authors": [{"family_names": "Lovelace"}]})],
    ids=["everything", "an author"],
)
def test_the_citation_file_is_valid(info: DatasetInfo, tmp_path: Path) -> None:
    made(tmp_path, dataset=info)
    found = YAML(typ="safe").load((tmp_path / "CITATION.cff").read_text(encoding="utf-8"))
    assert found["cff-version"] == "1.2.0"
    jsonschema.Draft7Validator(cff_schema(), format_checker=jsonschema.FormatChecker()).validate(found)
    assert found["type"] == "dataset"
    if info is WHOLE:
        assert found["authors"][0]["orcid"] == "https://orcid.org/0000-0002-1825-0097"
        assert (found["doi"], found["license"], found["version"]) == ("10.5281/zenodo.1234567", "CC-BY-4.0", "1.0.0")
        assert found["date-released"] == "2026-11-26"


@pytest.mark.filterwarnings("ignore:ConjunctiveGraph is deprecated:DeprecationWarning")
def test_croissant_has_no_warning_and_mlcroissant_reads_the_metadata(tmp_path: Path) -> None:
    mlcroissant = pytest.importorskip("mlcroissant", exc_type=ImportError)
    made(tmp_path, dataset=WHOLE, period=("2026-01-05", "2026-02-01"))
    found = mlcroissant.Dataset(tmp_path / "metadata.json").metadata
    assert not found.ctx.issues.errors
    assert not found.ctx.issues.warnings
    assert found.name == WHOLE.title
    assert found.license == ["https://spdx.org/licenses/CC-BY-4.0"]
    assert (found.version, found.url) == ("1.0.0", WHOLE.url)
    assert f"{found.date_published:%Y-%m-%d}" == "2026-11-26"
    assert [creator.name for creator in found.creators] == ["Josiah Carberry", "The Psychoceramics Lab"]
    assert found.cite_as == WHOLE.cited_as("How people ask: <a study>")
    assert all(text in found.data_collection for text in (WHOLE.pay, WHOLE.consent, WHOLE.participants, "10999"))
    assert found.annotator_demographics == [WHOLE.participants]
    assert found.personal_sensitive_information == ["Age"]
    assert (found.data_limitations, found.data_biases) == (["English only."], ["One country."])
    assert found.data_use_cases == ["Evaluation of chatbots."]
    assert (found.data_social_impact, found.data_release_maintenance_plan) == (WHOLE.social_impact, WHOLE.maintenance)


@pytest.mark.parametrize("name", schemas())
def test_whoever_opens_the_card_reads_of_the_dataset_and_the_hub_finds_every_file(name: str, tmp_path: Path) -> None:
    found = made(tmp_path, name)
    _, front, text = (tmp_path / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    assert len(front.splitlines()) < CARD_LINES
    assert text.lstrip().startswith("# ")
    hub = YAML(typ="safe").load((tmp_path / ".huggingface.yaml").read_text(encoding="utf-8"))
    configs = {one["data_files"]: [column["name"] for column in one["features"]] for one in hub["configs"]}
    with_rows = [file for file in found.files if file.rows]
    assert [*configs] == [(file.lines or file).path for file in with_rows]
    assert [len(columns) for columns in configs.values()] == [len(file.columns) for file in with_rows]


def test_the_card_has_the_settings_of_annotators_as_studies_write_them(tmp_path: Path) -> None:
    schema_asked = {"type": "object", "properties": {"calm": {"type": ["boolean", None]}}, "strict": True}
    settings = {"answer_schema": schema_asked, "temperature": None, "once": True, "seeds": [1, 2]}
    made(tmp_path, uses=(ModelTask("annotation", "tone", "m", ("m",), None, {"annotated": 1}, settings),))
    card = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert json.dumps(schema_asked) in card
    assert "`true`" in card
    assert "`1, 2`" in card
    assert "- temperature" not in card, "what is not set"


# Nothing is invented


# Imported files


def imported(folder: Path, name: str, *sources: dict[str, Any], **more: Any) -> ExportManifest:
    return made(folder, name, "import", sources=tuple(SOURCE | source for source in sources), **more)


@pytest.mark.parametrize("name", [name for name in schemas() if schema(name).sha256])
def test_a_file_is_the_released_one_by_its_checksum(name: str, tmp_path: Path) -> None:
    for released in schema(name).sha256:
        found = publication(imported(tmp_path / "one", name, {"sha256": released}))
        assert found.citation == schema(name).source
        assert found.license == (schema(name).licence or None)
        changed = sha256(released.encode()).hexdigest()
        two = imported(tmp_path / "two", name, {"sha256": released}, {"sha256": changed})
        assert publication(two) == DatasetInfo()
        assert original_origins(two) == ("released", "unknown")
