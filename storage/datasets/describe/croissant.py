"""`metadata.json`: the data described in Croissant 1.0, from which `mlcroissant` reads the rows.

A file is a record set, named by its path without the suffix; a column is a field. Croissant has no type for JSON
values: a conversation becomes a list of records with `role` and `content`, and other JSON columns are left out.
Nothing is guessed: what the publication metadata of the study do not give is left out. The property `origin` says where
the sessions come from; imports read it again.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any

from storage.column_types import ColumnType, Kind
from storage.datasets.describe.publication import croissant_fields, origin_mark, title
from storage.datasets.describe.responsible_ai import CONFORMS_TO as RAI_CONFORMS_TO
from storage.datasets.describe.responsible_ai import responsible_ai
from storage.datasets.describe.summary_text import summary
from storage.datasets.manifest import ExportedFile, ExportManifest
from storage.schemas.base import Column

Json = dict[str, Any]
CONFORMS_TO = "http://mlcommons.org/croissant/1.0"
FORMATS: Mapping[str, str] = MappingProxyType(
    {".csv": "text/csv", ".json": "application/json", ".jsonl": "application/jsonlines"}
)
TYPES: Mapping[Kind, str] = MappingProxyType(
    {"text": "sc:Text", "integer": "sc:Integer", "number": "sc:Float", "json": "sc:Text"}
)
MESSAGE = ("role", "content")
"""The keys of each message of a conversation."""
CONTEXT: Mapping[str, Any] = MappingProxyType(
    {
        "@language": "en",
        "@vocab": "https://schema.org/",
        "citeAs": "cr:citeAs",
        "column": "cr:column",
        "conformsTo": "dct:conformsTo",
        "cr": "http://mlcommons.org/croissant/",
        "rai": "http://mlcommons.org/croissant/RAI/",
        "data": {"@id": "cr:data", "@type": "@json"},
        "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
        "dct": "http://purl.org/dc/terms/",
        "equivalentProperty": "cr:equivalentProperty",
        "examples": {"@id": "cr:examples", "@type": "@json"},
        "extract": "cr:extract",
        "field": "cr:field",
        "fileProperty": "cr:fileProperty",
        "fileObject": "cr:fileObject",
        "fileSet": "cr:fileSet",
        "format": "cr:format",
        "includes": "cr:includes",
        "isLiveDataset": "cr:isLiveDataset",
        "jsonPath": "cr:jsonPath",
        "key": "cr:key",
        "md5": "cr:md5",
        "parentField": "cr:parentField",
        "path": "cr:path",
        "recordSet": "cr:recordSet",
        "references": "cr:references",
        "regex": "cr:regex",
        "repeated": "cr:repeated",
        "replace": "cr:replace",
        "samplingRate": "cr:samplingRate",
        "sc": "https://schema.org/",
        "separator": "cr:separator",
        "source": "cr:source",
        "subField": "cr:subField",
        "transform": "cr:transform",
    }
)
"""The context as the specification prescribes it."""


def metadata(exported: ExportManifest) -> Json:
    """The description of an export, as JSON-LD."""
    return {
        "@context": dict(CONTEXT),
        "@type": "sc:Dataset",
        "conformsTo": [CONFORMS_TO, RAI_CONFORMS_TO],
        "name": title(exported),
        "description": summary(exported),
        **croissant_fields(exported),
        "additionalProperty": [{"@type": "sc:PropertyValue", "name": "origin", "value": origin_mark(exported)}],
        **responsible_ai(exported),
        "distribution": [_file_object(file) for file in exported.files],
        "recordSet": [_record_set(file) for file in exported.files],
    }


def record_set(path: str) -> str:
    """The name of a file's record set."""
    return path.removesuffix(PurePosixPath(path).suffix)


def _file_object(file: ExportedFile) -> Json:
    return {
        "@type": "cr:FileObject",
        "@id": file.path,
        "name": file.path,
        "description": f"{file.rows} rows.",
        "contentUrl": file.path,
        "contentSize": f"{file.bytes} B",
        "encodingFormat": FORMATS[PurePosixPath(file.path).suffix],
        "sha256": file.sha256,
    }


def _record_set(file: ExportedFile) -> Json:
    name = record_set(file.path)
    fields = {column.name: _field(name, file, column) for column in file.columns}
    missing = [column for column, found in fields.items() if found is None]
    left_out = f" Croissant has no type for {', '.join(missing)}; see the codebook." if missing else ""
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": f"The rows of {file.path}.{left_out}",
        "field": [found for found in fields.values() if found is not None],
    }


def _field(record_set: str, file: ExportedFile, column: Column) -> Json | None:
    """The field of a column; None if no Croissant type fits."""
    about = {
        "@type": "cr:Field",
        "@id": f"{record_set}/{column.sql}",
        "name": _name(file, column),
        "description": _description(file, column),
    }
    source = {"fileObject": {"@id": file.path}, "extract": _extract(file, column)}
    if column.kind != "json" or file.path.endswith(".csv"):
        return {**about, "dataType": TYPES[column.kind], "source": source}
    if _takes(column.form, True):
        return {**about, "dataType": "sc:Boolean", "source": source}
    if _takes(column.form, [dict.fromkeys(MESSAGE, "user")]):
        parts = [_part(about["@id"], source, name) for name in MESSAGE]
        return {**about, "repeated": True, "source": source, "subField": parts}
    return None


def _part(field: str, source: Json, name: str) -> Json:
    return {
        "@type": "cr:Field",
        "@id": f"{field}/{name}",
        "name": name,
        "description": f"The {name} of each message.",
        "dataType": "sc:Text",
        "source": {**source, "transform": {"jsonPath": name}},
    }


def _extract(file: ExportedFile, column: Column) -> Json:
    if not file.path.endswith(".json"):
        return {"column": _name(file, column)}
    key = column.name if column.name.isidentifier() else f"'{column.name}'"
    return {"jsonPath": f"$[*].{key}"}


def _name(file: ExportedFile, column: Column) -> str:
    """The column's name; for a column without one, the name that pandas and mlcroissant give it."""
    return column.name or f"Unnamed: {file.columns.index(column)}"


def _takes(form: ColumnType, value: Any) -> bool:
    try:
        form.take(value)
    except ValueError:
        return False
    return True


def _description(file: ExportedFile, column: Column) -> str:
    labels = "; ".join(f"{value}: {label}" for value, label in column.form.labels.items() if label)
    called = _name(file, column)
    nameless = "" if column.name else f" The column has no name in the file; pandas and mlcroissant call it {called!r}."
    said = f"{column.meaning} From: {column.source}. Allowed: {column.form.allowed}."
    return said + (f" {labels}." if labels else "") + nameless
