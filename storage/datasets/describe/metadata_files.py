"""`CITATION.cff` (Citation File Format 1.2.0) and `.zenodo.json` (Zenodo's deposit API), where the authors are
known."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from typing import Any

from experiments.study.sections.dataset_info import Author, DatasetInfo
from storage.datasets.describe.croissant import collection_facts
from storage.datasets.describe.publication import (
    common_license,
    license_url,
    publication,
    summary,
    title,
)
from storage.datasets.manifest import ExportManifest
from storage.yaml_text import yaml_text

CFF, ZENODO = "CITATION.cff", ".zenodo.json"


def citation_files(manifest: ExportManifest) -> Mapping[str, str]:
    """The text of each file by name, for data whose authors are known."""
    info = publication(manifest)
    zenodo = json.dumps(_zenodo(manifest, info), indent=2, ensure_ascii=False)
    return {CFF: yaml_text(_cff(manifest, info)), ZENODO: zenodo + "\n"}


def _cff(manifest: ExportManifest, info: DatasetInfo) -> dict[str, Any]:
    fields = {
        "cff-version": "1.2.0",
        "message": "If you use this dataset, please cite it by these metadata.",
        "type": "dataset",
        "title": title(manifest),
        "abstract": info.description,
        "authors": [_cff_author(author) for author in info.authors],
        "version": info.version,
        "date-released": info.date_published.isoformat() if info.date_published else None,
        "doi": info.doi,
        "url": info.url,
        "keywords": list(info.keywords),
    }
    return {key: value for key, value in (fields | _cff_license(info)).items() if value}


def _cff_license(info: DatasetInfo) -> dict[str, str | None]:
    """The licence. The format lists the identifiers of 2021, so a less common one is given by its address."""
    return {"license": info.license} if common_license(info) else {"license-url": license_url(info)}


def _cff_author(author: Author) -> dict[str, str]:
    """A person, or an entity, which has no affiliation in this format."""
    orcid = f"https://orcid.org/{author.orcid}" if author.orcid else ""
    if author.name:
        fields = {"name": author.name, "orcid": orcid}
    else:
        fields = {
            "family-names": author.family_names,
            "given-names": author.given_names,
            "orcid": orcid,
            "affiliation": author.affiliation,
        }
    return {key: value for key, value in fields.items() if value}


def _zenodo(manifest: ExportManifest, info: DatasetInfo) -> dict[str, Any]:
    """Zenodo's description is HTML, and its licences are SPDX identifiers in lower case."""
    grants = (f"{grant.funder}{f', {grant.award}' if grant.award else ''}" for grant in info.funding)
    notes = {"Funding": "; ".join(grants), "Ethics approval": collection_facts(manifest).get("Ethics approval")}
    fields = {
        "upload_type": "dataset",
        "title": title(manifest),
        "description": f"<p>{escape(summary(manifest))}</p>",
        "creators": [_zenodo_author(author) for author in info.authors],
        "license": info.license.lower() if info.license else None,
        "keywords": list(info.keywords),
        "version": info.version,
        "publication_date": info.date_published.isoformat() if info.date_published else None,
        "doi": info.doi,
        "notes": " ".join(f"{name}: {text.rstrip('.')}." for name, text in notes.items() if text),
    }
    return {key: value for key, value in fields.items() if value}


def _zenodo_author(author: Author) -> dict[str, str]:
    fields = {"name": author.last_first, "affiliation": author.affiliation, "orcid": author.orcid}
    return {key: value for key, value in fields.items() if value}
