"""The header of `README.md`: the metadata by which Hugging Face's `datasets` and Hub load and list the data.

<https://huggingface.co/docs/hub/datasets-cards>. Each file is a config, unless it has no rows, which `datasets` does
not load. `datasets` reads all configs of a folder with the reader of the first one, so their files have one format: the
released one, or that of copies (`formats_of` in exports/exporter.py). A text of a closed list is a ClassLabel, in the
order of the release. Integers keep their values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any

from storage.column_types import JsonColumn, Shape
from storage.datasets.describe.croissant import column_name, record_set
from storage.datasets.describe.publication import hub_front_matter, original_origins, publication, title
from storage.datasets.manifest import ExportedFile, ExportManifest
from storage.registers.origins import Origin
from storage.schemas.base import Column

Yaml = dict[str, Any]
READ_FIRST = ("parquet", "jsonl")
"""The formats of copies that are loaded in place of the released file, the best first."""
CSV: Mapping[str, Any] = MappingProxyType({"keep_default_na": False, "na_values": [""]})
"""Without these settings, `datasets` reads texts such as `None` and `NA` as missing values."""
SPLIT = "train"
"""What `datasets` calls the rows of a file that has no splits."""
SIZES = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
ORIGIN_TAGS: Mapping[str, str] = MappingProxyType(
    {Origin.BOT: "simulated", Origin.PILOT: "pilot", Origin.REHEARSAL: "rehearsal"}
)


def header(exported: ExportManifest) -> Yaml:
    """The metadata, as far as they are known."""
    files = [file for file in exported.files if file.rows]
    features = {file.path: _features(file) for file in files}
    front: Yaml = {
        "pretty_name": title(exported),
        "language": list(dict.fromkeys(tag for study in exported.studies for tag in study.file.offered)),
        **hub_front_matter(exported),
        "task_categories": list(exported.schema.tasks),
        "tags": _tags(exported, publication(exported).keywords),
        "size_categories": [_size(sum(file.rows for file in exported.files))],
        "configs": [_config(file, features[file.path], first=not n) for n, file in enumerate(files)],
        "dataset_info": [_info(file, features[file.path]) for file in files],
    }
    return {key: value for key, value in front.items() if value}


def _tags(exported: ExportManifest, keywords: Sequence[str]) -> list[str]:
    """The study's keywords, those of the schema, and where the sessions come from if not from a study with people."""
    origins = (ORIGIN_TAGS[origin] for origin in original_origins(exported) if origin in ORIGIN_TAGS)
    return list(dict.fromkeys([*keywords, *exported.schema.tags, *origins]))


def _size(rows: int) -> str:
    """The Hub's category of so many rows."""
    words = ("1K", "10K", "100K", "1M", "10M")
    above = next((number for number, most in enumerate(SIZES) if rows < most), len(SIZES))
    if not above:
        return "n<1K"
    return f"n>{words[-1]}" if above == len(SIZES) else f"{words[above - 1]}<n<{words[above]}"


def loaded(file: ExportedFile) -> tuple[str, int]:
    """The path and size in bytes of what is loaded for a file: a copy of it, or the file itself."""
    copies = (file.copy(name) for name in READ_FIRST)
    found = next((copy for copy in copies if copy), file)
    return found.path, found.bytes


def config_name(file: ExportedFile) -> str:
    return record_set(file.path).replace("/", "-")


def _config(file: ExportedFile, features: list[Yaml], *, first: bool) -> Yaml:
    path, _ = loaded(file)
    default = {"default": True} if first else {}
    options = dict(CSV) if path.endswith(".csv") else {}
    return {"config_name": config_name(file), **default, "data_files": path, **options, "features": features}


def _info(file: ExportedFile, features: list[Yaml]) -> Yaml:
    _, size = loaded(file)
    return {
        "config_name": config_name(file),
        "features": features,
        "splits": [{"name": SPLIT, "num_bytes": size, "num_examples": file.rows}],
        "download_size": size,
        "dataset_size": size,
    }


def _features(file: ExportedFile) -> list[Yaml]:
    csv = PurePosixPath(loaded(file)[0]).suffix == ".csv"
    return [{"name": column_name(file, column), **_feature(file, column, csv=csv)} for column in file.columns]


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
