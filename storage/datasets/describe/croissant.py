"""`metadata.json`: the data described in Croissant 1.0, from which `mlcroissant` reads the rows.

A file is a record set, named by its path without the suffix; a column is a field. Copies in JSON Lines and pictures are
files without record sets. Croissant has no type for JSON values: a list of objects becomes a repeated field with their
keys, and JSON columns without a shape that Croissant can express are left out.
Nothing is guessed: what the publication metadata of the study do not give is left out. The property `origin` says where
the sessions come from; imports read it again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any

from experiments.plural import count
from experiments.study.schema import FromTag
from experiments.study.sections.recruitment import Bonus
from experiments.study.study import Study
from problems.pictures import Picture
from storage.ai_alone.model_use import ModelTask
from storage.columns import Column, JsonColumn, Kind
from storage.datasets.describe.markdown import code
from storage.datasets.describe.pictures import TABLE, exported_table
from storage.datasets.describe.publication import (
    ORIGINS,
    croissant_fields,
    has_only_models,
    is_imported,
    is_simulated,
    left_out,
    origin_mark,
    original_origins,
    participants_text,
    publication,
    summary,
    title,
)
from storage.datasets.manifest import ExportedFile, ExportManifest, LinesCopy
from storage.registers.origins import SIMULATED, Origin

Json = dict[str, Any]
CONFORMS_TO = "http://mlcommons.org/croissant/1.0"
RAI_CONFORMS_TO = "http://mlcommons.org/croissant/RAI/1.0"
PER: Mapping[str, str] = {"correct_answer": "correct answer", "answer": "answer", "completion": "completed study"}
BLANK = "A blank cell of a csv and a `null` in JSON mean that the value is unknown."
FORMATS: Mapping[str, str] = MappingProxyType(
    {
        ".csv": "text/csv",
        ".json": "application/json",
        ".jsonl": "application/jsonlines",
    }
)
TYPES: Mapping[Kind, str] = MappingProxyType(
    {"text": "sc:Text", "integer": "sc:Integer", "number": "sc:Float", "json": "sc:Text"}
)
SCALARS: Mapping[str, str] = MappingProxyType({"text": "sc:Text", "boolean": "sc:Boolean"})


def _of_croissant(*names: str) -> dict[str, str]:
    return {name: f"cr:{name}" for name in names}


CONTEXT: Mapping[str, Any] = MappingProxyType(  # as the specification prescribes it
    {
        "@language": "en",
        "@vocab": "https://schema.org/",
        **_of_croissant("citeAs", "column"),
        "conformsTo": "dct:conformsTo",
        "cr": "http://mlcommons.org/croissant/",
        "rai": "http://mlcommons.org/croissant/RAI/",
        "data": {"@id": "cr:data", "@type": "@json"},
        "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
        "dct": "http://purl.org/dc/terms/",
        "equivalentProperty": "cr:equivalentProperty",
        "examples": {"@id": "cr:examples", "@type": "@json"},
        **_of_croissant("extract", "field", "fileProperty", "fileObject", "fileSet", "format", "includes"),
        **_of_croissant("isLiveDataset", "jsonPath", "key", "md5", "parentField", "path", "recordSet", "references"),
        **_of_croissant("regex", "repeated", "replace", "samplingRate"),
        "sc": "https://schema.org/",
        **_of_croissant("separator", "source", "subField", "transform"),
    }
)


def metadata(manifest: ExportManifest) -> Json:
    files = (*manifest.files, *(exported_table(manifest) if manifest.pictures else ()))
    return {
        "@context": dict(CONTEXT),
        "@type": "sc:Dataset",
        "conformsTo": [CONFORMS_TO, RAI_CONFORMS_TO],
        "name": title(manifest),
        "description": summary(manifest),
        **croissant_fields(manifest),
        "additionalProperty": [{"@type": "sc:PropertyValue", "name": "origin", "value": origin_mark(manifest)}],
        **responsible_ai(manifest),
        "distribution": [
            *(found for file in files for found in _file_objects(file)),
            *(_picture(path, picture, size) for path, picture, size in manifest.pictures),
        ],
        "recordSet": [_record_set(file) for file in files],
    }


def record_set(path: str) -> str:
    return path.removesuffix(PurePosixPath(path).suffix)


def _file_objects(file: ExportedFile) -> Iterator[Json]:
    yield _file_object(file, f"{file.rows} rows.")
    if file.lines:
        yield _file_object(file.lines, f"The rows of {file.path}, in another format.")


def _file_object(file: ExportedFile | LinesCopy, description: str) -> Json:
    return {
        "@type": "cr:FileObject",
        "@id": file.path,
        "name": file.path,
        "description": description,
        "contentUrl": file.path,
        "contentSize": f"{file.bytes} B",
        "encodingFormat": FORMATS[PurePosixPath(file.path).suffix],
        "sha256": file.sha256,
    }


def _picture(path: str, picture: Picture, size: int) -> Json:
    return {
        "@type": "cr:FileObject",
        "@id": path,
        "name": path,
        "description": f"A picture that was shown (see {TABLE}) or sent, {picture.width} by {picture.height} pixels.",
        "contentUrl": path,
        "contentSize": f"{size} B",
        "encodingFormat": picture.type,
        "sha256": picture.sha256,
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
    about: Json = {
        "@type": "cr:Field",
        "@id": f"{record_set}/{column.sql}",
        "name": column_name(file, column),
        "description": _description(file, column),
    }
    source = {"fileObject": {"@id": file.path}, "extract": _extract(file, column)}
    if column.kind != "json" or file.path.endswith(".csv"):
        return {**about, "dataType": TYPES[column.kind], "source": source}
    match column.form.shape if isinstance(column.form, JsonColumn) else None:
        case "text" | "boolean" as scalar:
            return {**about, "dataType": SCALARS[scalar], "source": source}
        case (Mapping() as keys,) if all(isinstance(part, str) for part in keys.values()):
            parts = [_part(about["@id"], source, name, SCALARS[str(part)]) for name, part in keys.items()]
            return {**about, "repeated": True, "source": source, "subField": parts}
        case _:
            return None


def _part(field: str, source: Json, name: str, type_: str) -> Json:
    return {
        "@type": "cr:Field",
        "@id": f"{field}/{name}",
        "name": name,
        "description": f"The {name} of each message.",
        "dataType": type_,
        "source": {**source, "transform": {"jsonPath": name}},
    }


def _extract(file: ExportedFile, column: Column) -> Json:
    if not file.path.endswith(".json"):
        return {"column": column_name(file, column)}
    key = column.name if column.name.isidentifier() else f"'{column.name}'"
    return {"jsonPath": f"$[*].{key}"}


def column_name(file: ExportedFile, column: Column) -> str:
    """The column's name; for a column without one, the name that pandas and mlcroissant give it."""
    return column.name or f"Unnamed: {file.columns.index(column)}"


def _description(file: ExportedFile, column: Column) -> str:
    labels = "; ".join(f"{value}: {label}" for value, label in column.form.labels.items() if label)
    called = column_name(file, column)
    nameless = "" if column.name else f" The column has no name in the file; pandas and mlcroissant call it {called!r}."
    said = f"{column.meaning} From: {column.source}. Allowed: {column.form.allowed}."
    return said + (f" {labels}." if labels else "") + nameless


def responsible_ai(manifest: ExportManifest) -> dict[str, Any]:
    """The properties that are known, by their names (`rai:dataCollection`, ...)."""
    info = publication(manifest)
    people = not is_simulated(manifest)
    facts = " ".join(f"{name}: {_sentence(text)}" for name, text in collection_facts(manifest).items())
    found = {
        "dataCollection": f"{participants_text(manifest)} {facts}".strip(),
        "dataCollectionType": _types(manifest),
        "dataCollectionTimeframe": list(manifest.period or ()),
        "dataCollectionRawData": _raw_data(manifest),
        "dataCollectionMissingData": f"{BLANK}{_withdrawn(manifest)}",
        "dataPreprocessingProtocol": list(_selection(manifest)),
        "dataAnnotationPlatform": _platforms(manifest) if people else [],
        "machineAnnotationTools": [_described(use) for use in manifest.uses],
        "annotatorDemographics": [info.participants] if info.participants and people else [],
        "personalSensitiveInformation": list(info.personal_information),
        "dataLimitations": [*_warnings(manifest), *info.limitations],
        "dataBiases": list(info.biases),
        "dataUseCases": list(info.use_cases),
        "dataSocialImpact": info.social_impact,
        "dataReleaseMaintenancePlan": info.maintenance,
    }
    return {f"rai:{name}": value for name, value in found.items() if value}


def collection_facts(manifest: ExportManifest) -> dict[str, str]:
    """The known facts about the collection of the data, by a word or two that name each."""
    info, studies = publication(manifest), manifest.studies
    if has_only_models(manifest):
        return {}
    found = {
        "Steps": ", ".join(dict.fromkeys(step.step for study in studies for _, step in study.steps)),
        "Conditions": "; ".join(dict.fromkeys(text for study in studies for text in _factors(study))),
    }
    if is_simulated(manifest):
        return {name: text for name, text in found.items() if text}
    bonuses = "; ".join(dict.fromkeys(_bonus(rule) for study in studies for rule in study.file.bonus))
    period = " to ".join(dict.fromkeys(manifest.period or ()))
    found = {
        "Participants": info.participants or "",
        "Recruitment channels": ", ".join(dict.fromkeys(one for s in studies for one in s.file.recruitment.channels)),
        "First and last session started": period,
        **found,
        "Consent": " ".join(filter(None, (info.consent, *dict.fromkeys(text for s in studies for text in _forms(s))))),
        "Pay": info.pay or "",
        "Bonus": bonuses,
        "Ethics approval": info.ethics_approval or "",
    }
    return {name: text for name, text in found.items() if text}


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _factors(study: Study) -> Iterator[str]:
    for name, factor in study.file.factors.items():
        yield f"{name} ({f'values of {factor.one_of}' if isinstance(factor, FromTag) else ', '.join(factor)})"


def _forms(study: Study) -> Iterator[str]:
    places = ", ".join(code(path) for path, step in study.steps if step.step == "consent")
    if places:
        yield f"Participants were asked for their consent; the form is in the study file (step {places})."


def _bonus(bonus: Bonus) -> str:
    most = f", at most {bonus.max}" if bonus.max is not None else ""
    return f"{bonus.amount} per {PER[bonus.per]}{most}, in the recruiter's currency"


def _types(manifest: ExportManifest) -> list[str]:
    """Values that RAI 1.0 recommends, as far as they follow from the study."""
    if is_simulated(manifest):
        return ["Others: simulated sessions"]
    steps = {step.step for study in manifest.studies for _, step in study.steps}
    experiment = any(study.file.factors for study in manifest.studies)
    return [name for name, fits in (("Experiments", experiment), ("Surveys", "survey" in steps)) if fits]


def _raw_data(manifest: ExportManifest) -> str:
    if is_imported(manifest):
        files = ", ".join(f"{source['file']} (SHA-256 {source['sha256']})" for source in manifest.sources)
        return f"The imported files: {files}." if files else ""
    return "The event log of Parley, from which the files are computed. It is not part of the export."


def _withdrawn(manifest: ExportManifest) -> str:
    withdrawn = manifest.withdrawn
    return f" {count(withdrawn, 'session was', 'sessions were')} withdrawn, or erased by age." if withdrawn else ""


def _selection(manifest: ExportManifest) -> Iterator[str]:
    if text := left_out(manifest).strip():
        yield text
    filtered = ", ".join(file.path for file in manifest.files if file.table.filters)
    steps = "; ".join(f"{kept.step}: {count(kept.people, 'participant')}" for kept in manifest.filtered)
    if filtered and steps:
        yield f"{filtered} is filtered. {steps}."


def _described(task: ModelTask) -> str:
    """One use in a line: the task, the model as it was asked, its version, when, and what came of it."""
    served = ", ".join(task.served) or "never asked"
    days = f", {' to '.join(dict.fromkeys(task.days))}" if task.days else ""
    counts = ", ".join(f"{number:,} {word}" for word, number in task.counts.items())
    return f"{task.task} by {task.model} (asked as {served}{days}): {counts}"


def _platforms(manifest: ExportManifest) -> list[str]:
    if is_imported(manifest):
        return []
    return ["Parley", *dict.fromkeys(name for study in manifest.studies for name in study.file.recruitment.channels)]


def _warnings(manifest: ExportManifest) -> Iterator[str]:
    yield from (ORIGINS[mark] for mark in original_origins(manifest) if mark in (Origin.PILOT, *SIMULATED))
