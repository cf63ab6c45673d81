"""`README.md`: the dataset card, from the template `dataset_card.md.j2`. It lists what is not known; nothing is
guessed."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple
from types import MappingProxyType
from typing import Any

from experiments.study.problem_answer import shuffled_pools
from experiments.study.sections.dataset_info import Author, DatasetInfo
from experiments.study.sections.model_spec import ModelSpec
from experiments.study.study import Study
from storage.ai_alone.model_use import ModelTask
from storage.datasets.describe.croissant import collection_facts, record_set
from storage.datasets.describe.markdown import code, rendered, table
from storage.datasets.describe.publication import (
    STATED,
    UNKNOWN,
    citation,
    file_name,
    hub_front_matter,
    is_imported,
    is_release,
    is_simulated,
    license_url,
    original_origins,
    publication,
    summary,
    title,
)
from storage.datasets.manifest import ExportedFile, ExportManifest
from storage.datasets.tidy.columns import NAME as TIDY
from storage.registers.origins import Origin
from storage.yaml_text import yaml_text

Yaml = dict[str, Any]
SIZES = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
ORIGIN_TAGS: Mapping[str, str] = MappingProxyType(
    {Origin.BOT: "simulated", Origin.PILOT: "pilot", Origin.REHEARSAL: "rehearsal"}
)
WARNINGS: Mapping[str, str] = {
    Origin.BOT: "> **SIMULATED DATA. No person took part in this study.** Do not report it as human behaviour.",
    Origin.REHEARSAL: "> **REHEARSAL. No person took part.** Do not report it as data.",
    Origin.PILOT: "> **PILOT DATA. These data are from a trial run.** Do not report them as results of the study.",
}
# What readers look for, with the metadata of which one has to be given.
GAPS: Mapping[str, tuple[str, ...]] = {
    "The licence.": ("license",),
    "The authors.": ("authors",),
    "The citation.": ("citation", "authors"),
    "The date of publication.": ("date_published",),
}
PEOPLE_GAPS: Mapping[str, str] = {
    "participants": "Who took part, and how they were selected.",
    "pay": "What participants were paid.",
    "ethics_approval": "Whether an ethics board approved the study.",
}
# The characters from which on a setting of a model is shown as a block.
LONG = 60


def dataset_card(manifest: ExportManifest) -> str:
    info, files = publication(manifest), manifest.files
    annotators = Counter(use.task for use in manifest.uses)
    return rendered(
        "dataset_card",
        exported=manifest,
        info=info,
        header=yaml_text(header(manifest)),
        title=title(manifest),
        origins=original_origins(manifest),
        warnings=WARNINGS,
        summary=summary(manifest).strip("\n"),
        publication=_publication(info),
        collection=collection_facts(manifest),
        shuffled=sorted({name for study in manifest.studies for name in shuffled_pools(study)}),
        work=_work,
        several=[code(task) for task in sorted(annotators) if annotators[task] > 1],
        settings_of=_settings_of,
        copies=[file.lines.path for file in files if file.lines],
        files=[(file.path, file.rows, len(file.columns)) for file in files],
        steps=[astuple(step) for step in manifest.filtered],
        studies=[_study(study, manifest) for study in manifest.studies],
        sources=[_source(source, manifest) for source in manifest.sources],
        study_files=[file_name(study, manifest.studies) for study in manifest.studies],
        tidy=manifest.schema.name == TIDY,
        whole=[file.path for file in files if file.table.of_study],
        filtered=[file.path for file in files if file.table.filters],
        models=dict.fromkeys((name, _settings(m)) for s in manifest.studies for name, m in s.file.models.items()),
        reading=_line,
        record_set=record_set,
        formulas=[
            (code(file.path), code(name) if name else "(without a name)", number)
            for file in files
            for name, number in file.formulas.items()
            if number
        ],
        use=_use(info),
        citing=_citing(manifest, info),
        of_schema=_of_schema(manifest),
        gaps=tuple(_gaps(manifest, info)),
    )


def _known(facts: Mapping[str, str | None]) -> dict[str, str]:
    return {name: text for name, text in facts.items() if text}


def _publication(info: DatasetInfo) -> dict[str, str]:
    facts = {
        "Authors": "; ".join(map(_author, info.authors)),
        "Licence": f"{info.license} ({license_url(info)})" if info.license != license_url(info) else info.license,
        "Version": info.version,
        "Published": info.date_published.isoformat() if info.date_published else "",
        "DOI": f"https://doi.org/{info.doi}" if info.doi else "",
        "Address": info.url,
        "Funding": "; ".join(", ".join(filter(None, (grant.funder, grant.award))) for grant in info.funding),
    }
    return _known(facts)


def _author(author: Author) -> str:
    orcid = f"https://orcid.org/{author.orcid}" if author.orcid else ""
    more = ", ".join(filter(None, (author.affiliation, orcid)))
    return f"{author.last_first} ({more})" if more else author.last_first


def _work(tasks: Sequence[ModelTask]) -> str:
    head = ("annotator" if tasks[0].kind == "annotation" else "method", "model", "asked as", "days", *tasks[0].counts)
    rows = [
        (use.task, use.model, ", ".join(map(code, use.served)) or "-", " to ".join(dict.fromkeys(use.days or "-")))
        for use in tasks
    ]
    return table(head, ((*row, *use.counts.values()) for row, use in zip(rows, tasks, strict=True)), coded=2)


def _study(study: Study, manifest: ExportManifest) -> tuple[str, int, str, str]:
    name = file_name(study, manifest.studies)
    return study.file.title, study.file.version, code(study.hash), code(name)


def _source(source: Mapping[str, Any], manifest: ExportManifest) -> tuple[str, int, str, str]:
    path, sha256 = "/".join(filter(None, (source["part"], source["file"]))), source["sha256"]
    return code(path), source["rows"], code(sha256), "yes" if sha256 in manifest.schema.sha256 else "not known"


def _settings_of(tasks: Sequence[ModelTask]) -> dict[str, Mapping[str, Any]]:
    """The settings of each task: those that fit a line, and the others."""
    found: dict[str, Mapping[str, Any]] = {}
    for task, given in {use.task: use.settings for use in tasks}.items():
        texts = {name: _value(value) for name, value in given.items()}
        short = {name: text for name, text in texts.items() if "\n" not in text and len(text) < LONG}
        found[task] = {
            "given": given,
            "short": {name: text for name, text in short.items() if given[name] not in (None, "")},
            "long": {name: text for name, text in texts.items() if name not in short},
        }
    return found


def _settings(model: ModelSpec) -> str:
    """The settings of a model; those that are not listed were left to the model server."""
    given = model.model_dump(exclude_none=True, exclude={"options", "system"}) | dict(model.options)
    return ", ".join(f"{name} {code(_value(value))}" for name, value in given.items() if value not in ("", (), {}))


def _value(value: Any) -> str:
    """A setting of the study file: a text unchanged, several after each other, and anything else as JSON."""
    if isinstance(value, list | tuple):
        return ", ".join(map(_value, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _line(file: ExportedFile) -> str:
    name = re.sub(r"\W", "_", record_set(file.path))
    if file.path.endswith(".json"):
        return f'{name} = json.loads(Path("{file.path}").read_text(encoding="utf-8"))'
    return f'{name} = pd.read_csv("{file.path}", keep_default_na=False, na_values=[""])'


def _use(info: DatasetInfo) -> dict[str, str]:
    """The uses that the data are meant for, and their limits, in their authors' words."""
    facts = {
        "Intended uses": " ".join(info.use_cases),
        "Limitations": " ".join(info.limitations),
        "Biases": " ".join(info.biases),
        "Personal and sensitive information": " ".join(info.personal_information),
        "Social impact": info.social_impact,
        "Maintenance": info.maintenance,
    }
    return _known(facts)


def _citing(manifest: ExportManifest, info: DatasetInfo) -> str:
    said, at = citation(manifest), info.link
    return f"{said} <{at}>" if said and at and at not in said else said or ""


def _of_schema(manifest: ExportManifest) -> str:
    """Name the source of the columns; empty for a release itself, and for tables of Parley's own."""
    schema, origins = manifest.schema, original_origins(manifest)
    if not schema.source or is_release(manifest):
        return ""
    authorship = "Those authors did not produce the data."
    if UNKNOWN in origins:
        authorship = "Whether those authors produced the data is not known."
    elif STATED in origins:  # by the importer
        authorship = ""
    return f"The names and columns of the files are those of {schema.title}: {schema.source} {authorship}".strip()


def _gaps(manifest: ExportManifest, info: DatasetInfo) -> Iterator[str]:
    if is_imported(manifest):
        if not is_release(manifest):
            yield "Whether the files are the released ones: their checksums are not among those that Parley knows."
        yield "The wording that participants saw: the imported files do not include their study."
    yield from (gap for gap, keys in GAPS.items() if not any(getattr(info, key) for key in keys))
    if not is_simulated(manifest):
        yield from (gap for key, gap in PEOPLE_GAPS.items() if not getattr(info, key))


def header(manifest: ExportManifest) -> Yaml:
    """The metadata, as far as they are known; how its files are loaded is in a file of its own (hub_configs.py)."""
    front: Yaml = {
        "pretty_name": title(manifest),
        "language": list(dict.fromkeys(tag for study in manifest.studies for tag in study.file.offered)),
        **hub_front_matter(manifest),
        "task_categories": list(manifest.schema.tasks),
        "tags": _tags(manifest, publication(manifest).keywords),
        "size_categories": [_size(sum(file.rows for file in manifest.files))],
    }
    return {key: value for key, value in front.items() if value}


def _tags(manifest: ExportManifest, keywords: Sequence[str]) -> list[str]:
    """The study's keywords, those of the schema, and where the sessions come from if not from a study with people."""
    origins = (ORIGIN_TAGS[origin] for origin in original_origins(manifest) if origin in ORIGIN_TAGS)
    return list(dict.fromkeys([*keywords, *manifest.schema.tags, *origins]))


def _size(rows: int) -> str:
    """The Hub's category for a number of rows."""
    words = ("1K", "10K", "100K", "1M", "10M")
    above = next((number for number, most in enumerate(SIZES) if rows < most), len(SIZES))
    if not above:
        return "n<1K"
    return f"n>{words[-1]}" if above == len(SIZES) else f"{words[above - 1]}<n<{words[above]}"
