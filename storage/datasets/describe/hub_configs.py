"""`.huggingface.yaml`: how Hugging Face's `datasets`, and by it the Hub's viewer, load each file of an export.

What else stands as `configs` at the top of README.md. Both read it from this file too (`datasets` since 2.17): with the
types of all columns it has hundreds of lines, and people open README.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any

from storage.columns import Column, JsonColumn, Shape
from storage.datasets.describe.croissant import column_name, record_set
from storage.datasets.manifest import ExportedFile, ExportManifest

Yaml = dict[str, Any]
# Without these settings, `datasets` reads texts such as `None` and `NA` as missing values.
CSV: Mapping[str, Any] = MappingProxyType({"keep_default_na": False, "na_values": [""]})


def hub_configs(manifest: ExportManifest) -> Yaml:
    """The configs that load each file with rows, the first by default."""
    files = [file for file in manifest.files if file.rows]
    return {"configs": [_config(file, first=not number) for number, file in enumerate(files)]} if files else {}


def _config(file: ExportedFile, *, first: bool) -> Yaml:
    path = (file.lines or file).path
    csv = PurePosixPath(path).suffix == ".csv"
    return {
        "config_name": record_set(file.path).replace("/", "-"),
        **({"default": True} if first else {}),
        "data_files": path,
        **(CSV if csv else {}),
        "features": [{"name": column_name(file, one), **_feature(file, one, csv=csv)} for one in file.columns],
    }


def _feature(file: ExportedFile, column: Column, *, csv: bool) -> Yaml:
    form = column.form
    if form.choices:
        return {"dtype": {"class_label": {"names": {str(n): text for n, text in enumerate(form.choices)}}}}
    if isinstance(form, JsonColumn) and form.shape is not None and not csv:
        return _nested(form.shape)
    if column.kind == "integer" and csv and column.name in file.as_texts:
        return {"dtype": "string"}
    if column.kind == "integer" and csv and column.name in file.as_floats:
        return {"dtype": "float64"}
    return {"dtype": {"integer": "int64", "number": "float64"}.get(column.kind, "string")}


def _nested(shape: Shape) -> Yaml:
    match shape:
        case "text":
            return {"dtype": "string"}
        case "boolean":
            return {"dtype": "bool"}
        case (item,) if isinstance(item, Mapping):
            return {"list": _nested(item)["struct"]}
        case (item,):
            return {"list": _nested(item)["dtype"]}
        case Mapping():
            return {"struct": [{"name": name, **_nested(part)} for name, part in shape.items()]}
    raise AssertionError(shape)
