"""Publication metadata in the files beside exported data: valid in each format, complete, and never invented."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from ruamel.yaml import YAML
from sqlalchemy import select, update

from experiments.study.sections.dataset_info import DATA_LICENSES, DatasetInfo, spdx_id
from storage import tables
from storage.datasets.describe import describe
from storage.datasets.describe.citation_files import citation_files
from storage.datasets.describe.publication import HUB_LICENSES, original_origins, publication
from storage.datasets.exports.exporter import export
from storage.datasets.exports.plan import ExportRequest
from storage.datasets.exports.session_filter import SessionFilter
from storage.datasets.manifest import ExportManifest
from storage.db.engine import Database, writer
from storage.schemas.registry import schema, schemas
from tests.fakes.databases import fill
from tests.fakes.exported import EVERYTHING, SOURCE, exported
from tests.fakes.sessions import study

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
ZENODO_FIELDS = {
    "upload_type", "publication_date", "title", "creators", "description", "access_right", "license", "doi",
    "keywords", "notes", "related_identifiers", "contributors", "references", "communities", "grants", "version",
    "language",
}  # fmt: skip
"""Fields of a deposit of the type dataset: developers.zenodo.org, Representation, Deposit metadata."""
DAY_US = 24 * 3600 * 1_000_000
PUBLISHED = {"license", "citeAs", "url", "version", "datePublished", "creator", "keywords", "identifier", "funding"}


def made(folder: Path, name: str = "chatbench", origin: str = "person", **more: Any) -> ExportManifest:
    """An export with its describing files."""
    found = replace(exported(folder, name, origin), **more)
    describe(found)
    return found


def metadata(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "metadata.json").read_bytes())
    return found


def card(folder: Path) -> str:
    return (folder / "README.md").read_text(encoding="utf-8")


def header(folder: Path) -> dict[str, Any]:
    """The header of the card."""
    found: dict[str, Any] = YAML(typ="safe").load(card(folder).split("---\n")[1])
    return found


def section(folder: Path, name: str) -> str:
    return card(folder).partition(f"\n## {name}\n")[2].partition("\n## ")[0]


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


LICENSES = sorted({*DATA_LICENSES, *filter(None, map(spdx_id, HUB_LICENSES)), "CDLA-Permissive-2.0", "NLOD-2.0"})


def test_the_citation_file_is_valid_with_every_licence(tmp_path: Path) -> None:
    validator, found = jsonschema.Draft7Validator(cff_schema()), exported(tmp_path, "taxonomy")
    for license_ in LICENSES:
        text = citation_files(replace(found, dataset=WHOLE.model_copy(update={"license": license_})))["CITATION.cff"]
        validator.validate(YAML(typ="safe").load(text))
        assert license_ in text


def test_the_deposit_has_documented_fields_only(tmp_path: Path) -> None:
    made(tmp_path, dataset=WHOLE)
    found = json.loads((tmp_path / ".zenodo.json").read_bytes())
    assert found.keys() <= ZENODO_FIELDS
    assert found["upload_type"] == "dataset"
    assert found["creators"] == [
        {"name": "Carberry, Josiah", "affiliation": "Brown University", "orcid": "0000-0002-1825-0097"},
        {"name": "The Psychoceramics Lab", "affiliation": "Brown University"},
    ]
    assert (found["license"], found["publication_date"]) == ("cc-by-4.0", "2026-11-26")
    assert "sums &amp; proofs" in found["description"]
    assert all(text in found["notes"] for text in ("The Fund, F-12", "10999"))


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


@pytest.mark.parametrize(
    ("license_", "origin", "expected"),
    [
        ("CC-BY-4.0", "person", {"license": "cc-by-4.0"}),
        ("ODbL-1.0", "person", {"license": "odbl"}),
        (
            "CDLA-Permissive-2.0",
            "person",
            {
                "license": "other",
                "license_name": "CDLA-Permissive-2.0",
                "license_link": "https://spdx.org/licenses/CDLA-Permissive-2.0",
            },
        ),
        (None, "person", {}),
        (None, "import", {"license": "unknown"}),
    ],
)
def test_the_header_names_the_licence_as_the_hub_does(
    license_: str | None, origin: str, expected: dict[str, str], tmp_path: Path
) -> None:
    made(tmp_path, origin=origin, dataset=DatasetInfo(license=license_, keywords=("sums",)))
    found = header(tmp_path)
    assert {key: text for key, text in found.items() if key.startswith("license")} == expected
    assert found["tags"][0] == "sums"


# What the study file knows


def test_the_study_file_tells_how_the_data_were_collected(tmp_path: Path) -> None:
    made(tmp_path, period=("2026-01-05", "2026-02-01"))
    found = metadata(tmp_path)
    facts = section(tmp_path, "How the data were collected")
    for text in (found["rai:dataCollection"], facts):
        assert "0.10 per correct answer, at most 1.30" in text
        assert "condition (answer-first, direct-to-AI)" in text
        assert "consent form" in text
        assert "2026-01-05" in text
    assert found["rai:dataCollectionType"] == ["Experiments", "Surveys"]
    assert found["rai:dataCollectionTimeframe"] == ["2026-01-05", "2026-02-01"]
    assert "http://mlcommons.org/croissant/RAI/1.0" in found["conformsTo"]


def test_the_days_are_those_of_the_sessions_of_people(database: Database, tmp_path: Path) -> None:
    asyncio.run(fill(database, [EVERYTHING], 3, "1"))
    name = study(EVERYTHING).name
    assert export(database, ExportRequest(name, "taxonomy"), tmp_path / "bot").period is None
    with writer(database) as connection, connection.begin():
        connection.execute(update(tables.sessions).values(origin="person"))
        connection.execute(update(tables.seats).values(origin="person"))
        days = [DAY_US * 20_000, DAY_US * 20_001 + 5, DAY_US * 20_003 - 1]
        streams = connection.execute(select(tables.seats.c.stream)).scalars().all()
        for stream, begun_us in zip(streams, days, strict=True):
            connection.execute(
                update(tables.seats)
                .where(tables.seats.c.stream == stream)
                .values(begun_us=begun_us, outcome="complete")
            )
    assert export(database, ExportRequest(name, "taxonomy"), tmp_path / "all").period == ("2024-10-04", "2024-10-06")
    some = SessionFilter(until_us=DAY_US * 20_002)
    made_ = export(database, ExportRequest(name, "taxonomy", selection=some), tmp_path / "some")
    assert made_.period == ("2024-10-04", "2024-10-05")
    assert metadata(tmp_path / "some")["rai:dataCollectionTimeframe"] == list(made_.period)


def test_nothing_is_said_of_people_where_none_took_part(tmp_path: Path) -> None:
    made(tmp_path, origin="bot", dataset=WHOLE)
    found = metadata(tmp_path)
    assert found["license"]
    assert "rai:annotatorDemographics" not in found
    assert found["rai:dataCollectionType"] == ["Others: simulated sessions"]
    for text in (found["rai:dataCollection"], card(tmp_path), (tmp_path / ".zenodo.json").read_text(encoding="utf-8")):
        assert not any(words in text for words in (WHOLE.pay, WHOLE.consent, WHOLE.participants, "10999"))
    assert "SIMULATED" in found["rai:dataLimitations"][0]


# Nothing is invented


@pytest.mark.parametrize("origin", ["person", "bot", "pilot", "import"])
@pytest.mark.parametrize("name", schemas())
def test_what_is_not_known_is_in_no_file(name: str, origin: str, tmp_path: Path) -> None:
    made(tmp_path, name, origin)
    assert not PUBLISHED & metadata(tmp_path).keys()
    assert not {"CITATION.cff", ".zenodo.json"} & {path.name for path in tmp_path.iterdir()}
    gaps = section(tmp_path, "What is not known")
    assert all(word in gaps for word in ("licence", "authors", "citation", "date of publication"))


def test_files_for_citation_go_with_the_authors(tmp_path: Path) -> None:
    made(tmp_path, dataset=WHOLE)
    assert (tmp_path / "CITATION.cff").is_file()
    made(tmp_path, dataset=DatasetInfo(license="CC0-1.0"))
    assert not {"CITATION.cff", ".zenodo.json"} & {path.name for path in tmp_path.iterdir()}


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


@pytest.mark.parametrize("claimed", ["released", "stated", "import", "the moon"])
def test_no_metadata_can_claim_that_a_file_is_the_released_one(claimed: str, tmp_path: Path) -> None:
    found = imported(tmp_path, "chatbench", {"about": {"origin": claimed}})
    assert original_origins(found) == ("unknown",)
    assert header(tmp_path)["license"] == "unknown"


def test_a_licence_beside_some_of_the_files_is_not_that_of_all(tmp_path: Path) -> None:
    about = {"origin": "person", "license": "https://spdx.org/licenses/CC-BY-4.0", "citeAs": "Us"}
    assert publication(imported(tmp_path, "chatbench", {"about": about})).license == "CC-BY-4.0"
    assert publication(imported(tmp_path, "chatbench", {"about": about}, {"file": "other.csv"})).license is None


def test_what_the_importer_states_is_said_to_be_stated(tmp_path: Path) -> None:
    source = schema("chatbench").source
    found = imported(tmp_path, "chatbench", {}, dataset=DatasetInfo(license="CC-BY-4.0", citation=source))
    assert original_origins(found) == ("stated",)
    assert header(tmp_path)["license"] == "cc-by-4.0"
    assert metadata(tmp_path)["citeAs"] == source
