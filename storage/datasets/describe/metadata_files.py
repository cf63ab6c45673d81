"""`CITATION.cff` (Citation File Format 1.2.0) and `.zenodo.json` (the metadata of Zenodo's deposit API).

Both formats require authors, so the files are not written where the authors are unknown.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import orjson

from experiments.study.sections.dataset_info import Author, DatasetInfo
from storage.datasets.describe.croissant import collection_facts
from storage.datasets.describe.publication import (
    common_license,
    croissant_fields,
    license_url,
    publication,
    summary,
    title,
)
from storage.datasets.manifest import ExportedFile, ExportManifest
from storage.datasets.tidy.columns import NAME
from storage.schemas.base import Column, Schema
from storage.yaml_text import yaml_text

CFF, ZENODO = "CITATION.cff", ".zenodo.json"
DESCRIPTION, R_SCRIPT = "dataset_description.json", "load.R"
R_LINE = f'tables <- source("{R_SCRIPT}", chdir = TRUE)$value'
# The names of Croissant's fields that Psych-DS has otherwise.
SCHEMA_ORG = {"citeAs": "citation", "creator": "author"}
# R's types of columns. Its integers have 32 bits, so whole numbers are numeric.
CLASSES = {"text": "character", "integer": "numeric", "number": "numeric", "json": "character"}


def citation_files(manifest: ExportManifest) -> Mapping[str, str]:
    """The text of each file by name; empty if the authors are unknown."""
    info = publication(manifest)
    if not info.authors:
        return {}
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


def tidy_names(schema: Schema) -> tuple[str, ...]:
    """The names of the two files; none for other exports."""
    return (DESCRIPTION, R_SCRIPT) if schema.name == NAME else ()


def tidy_documents(manifest: ExportManifest) -> Mapping[str, bytes]:
    """The content of the two files by name; empty for other exports."""
    if manifest.schema.name != NAME:
        return {}
    described = orjson.dumps(dataset_description(manifest), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    return {DESCRIPTION: described, R_SCRIPT: r_script(manifest.files).encode()}


def dataset_description(manifest: ExportManifest) -> dict[str, Any]:
    known = {SCHEMA_ORG.get(name, name): _in_schema_org(value) for name, value in croissant_fields(manifest).items()}
    return {
        "@context": "https://schema.org/",
        "@type": "Dataset",
        "name": title(manifest),
        "description": summary(manifest),
        **known,
        "variableMeasured": [_variable(name, found) for name, found in _by_name(manifest.files).items()],
    }


def _in_schema_org(value: Any) -> Any:
    """Croissant's values with their types as schema.org's context names them: `Person`, not `sc:Person`."""
    if isinstance(value, list):
        return [_in_schema_org(one) for one in value]
    if isinstance(value, dict):
        return {key: _in_schema_org(one) for key, one in value.items()}
    return value.removeprefix("sc:") if isinstance(value, str) else value


def _by_name(files: Sequence[ExportedFile]) -> dict[str, list[tuple[str, Column]]]:
    found: dict[str, list[tuple[str, Column]]] = {}
    for file in files:
        for column in file.columns:
            found.setdefault(column.name, []).append((file.table.name, column))
    return found


def _variable(name: str, columns: Sequence[tuple[str, Column]]) -> dict[str, Any]:
    texts: dict[str, list[str]] = {}
    for table, column in columns:
        texts.setdefault(f"{column.meaning} Allowed: {column.form.allowed}.", []).append(table)
    described = next(iter(texts))
    if len(texts) > 1:
        described = " ".join(f"In {', '.join(tables)}: {text}" for text, tables in texts.items())
    labels = {value: label for _, column in columns for value, label in column.form.labels.items()}
    closed = [
        {"@type": "PropertyValue", "value": value, "description": label or value} for value, label in labels.items()
    ]
    return {
        "@type": "PropertyValue",
        "name": name,
        "description": described,
        **({"valueReference": closed} if closed else {}),
    }


def r_script(files: Sequence[ExportedFile]) -> str:
    """An R script whose value is a list of data frames by the names of the tables; closed columns become factors."""
    tables = ",\n".join(f"  {file.table.name} = {_r_table(file)}" for file in files)
    return (
        f"# Reads the tables of this folder, in base R:  {R_LINE}\n"
        "read_table <- function(path, classes, levels) {\n"
        '  table <- read.csv(path, colClasses = classes, na.strings = "", check.names = FALSE, encoding = "UTF-8")\n'
        "  for (name in names(levels)) table[[name]] <- factor(table[[name]], levels = levels[[name]])\n"
        "  table\n"
        "}\n"
        f"list(\n{tables}\n)\n"
    )


def _r_table(file: ExportedFile) -> str:
    classes = ", ".join(f"{_r_text(column.name)} = {_r_text(CLASSES[column.kind])}" for column in file.columns)
    closed = [column for column in file.columns if column.form.labels and column.kind == "text"]
    levels = ", ".join(f"{_r_text(c.name)} = c({', '.join(map(_r_text, c.form.labels))})" for c in closed)
    return f"read_table({_r_text(file.path)}, c({classes}), list({levels}))"


def _r_text(text: str) -> str:
    """A text as an R string; JSON's escapes of ASCII texts are R's as well."""
    return json.dumps(text)
