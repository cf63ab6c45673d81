"""Shared by all descriptions of an export: the publisher of the data, their licence, their origin, and
its sessions and study documents in words.

The metadata recorded for the study come first (`parley metadata`). Imported data that lack some of them have those of
the release only if their files are the released ones by their checksums, or those of an export whose `metadata.json`
was found beside the unchanged file. Anything else is unknown, whatever the columns look like.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from experiments.plural import count
from experiments.study.sections.dataset_info import DatasetInfo, spdx_id
from experiments.study.study import Study
from storage.datasets.manifest import ExportManifest
from storage.registers.origins import SIMULATED, Origin

# Origins of imported files besides those of sessions: the released file itself, a file whose source is only stated by
# those who imported it, and a file of unknown origin.
RELEASED, STATED, UNKNOWN = "released", "stated", "unknown"
SOURCE = ("license", "citation", "authors", "doi", "url")
# The origin of an export without sessions, which holds answers of models alone.
MODELS = "models"
# Origins that the metadata beside a file can claim. That a file is the released one is shown by its checksum only.
MARKS = (Origin.PERSON, Origin.BOT, Origin.PILOT, Origin.REHEARSAL, UNKNOWN, MODELS)
SEPARATOR = ", "
SPDX = "https://spdx.org/licenses/"
# Licences that the Hugging Face Hub knows by their SPDX identifier in lower case (docs/hub/repositories-licenses).
HUB_LICENSES = frozenset(
    {
        "apache-2.0", "cc0-1.0", "cc-by-2.0", "cc-by-2.5", "cc-by-3.0", "cc-by-4.0", "cc-by-sa-3.0", "cc-by-sa-4.0",
        "cc-by-nc-2.0", "cc-by-nc-3.0", "cc-by-nc-4.0", "cc-by-nc-nd-3.0", "cc-by-nc-nd-4.0", "cc-by-nc-sa-2.0",
        "cc-by-nc-sa-3.0", "cc-by-nc-sa-4.0", "cc-by-nd-4.0", "mit",
    }
)  # fmt: skip
# Licences for data that the Hub calls otherwise.
HUB_NAMES: Mapping[str, str] = {"ODbL-1.0": "odbl", "ODC-By-1.0": "odc-by", "PDDL-1.0": "pddl"}
STUDY = "study.json"
HASH_CHARS = 12
ORIGINS: Mapping[str, str] = MappingProxyType(
    {
        Origin.PERSON: "They are from people who took part.",
        Origin.BOT: (
            "THEY ARE SIMULATED: no person took part. A program played them to try the study out; they support no "
            "conclusion about people."
        ),
        Origin.PILOT: (
            "THEY ARE PILOT DATA: people tried the study before it was opened. They are not part of the study's data."
        ),
        Origin.REHEARSAL: (
            "THEY ARE A REHEARSAL: no person took part. A program tried the running server out; they support no "
            "conclusion about people."
        ),
        MODELS: "No person took part: models answered the questions alone.",
        Origin.IMPORT: "They were imported from files.",
        RELEASED: "The files are those of the release, by their checksums.",
        STATED: "Where they come from is stated by those who imported them; it does not follow from their checksums.",
        UNKNOWN: (
            "Who or what produced them is not known: their checksums are not those of the release, and nothing beside "
            "the files says where they come from."
        ),
    }
)


def is_imported(manifest: ExportManifest) -> bool:
    return manifest.origin == Origin.IMPORT


def has_only_models(manifest: ExportManifest) -> bool:
    """True if all rows are answers of models, and no session is in the data."""
    return not manifest.sessions and any(file.table.of_alone and file.rows for file in manifest.files)


def original_origins(manifest: ExportManifest) -> tuple[str, ...]:
    """Origins of sessions, RELEASED or UNKNOWN; several if imported files differ."""
    if has_only_models(manifest):
        return (MODELS,)
    if not is_imported(manifest):
        return (manifest.origin,)
    found = (mark for source in manifest.sources for mark in _origins(source, manifest))
    return tuple(dict.fromkeys(found)) or (UNKNOWN,)


def is_simulated(manifest: ExportManifest) -> bool:
    """True if there are sessions in the data in which no person took part."""
    return not {*SIMULATED}.isdisjoint(original_origins(manifest))


def origin_mark(manifest: ExportManifest) -> str:
    return SEPARATOR.join(original_origins(manifest))


def is_release(manifest: ExportManifest) -> bool:
    """True if all the data are imported from files whose checksums are those of the release."""
    return original_origins(manifest) == (RELEASED,)


def _origins(source: Mapping[str, Any], manifest: ExportManifest) -> tuple[str, ...]:
    if source["sha256"] in manifest.schema.sha256:
        return (RELEASED,)
    marks = str(source.get("about", {}).get("origin", "")).split(SEPARATOR)
    stated = manifest.dataset is not None and any(getattr(manifest.dataset, key) for key in SOURCE)
    other = STATED if stated else UNKNOWN
    return tuple(mark if mark in MARKS and mark != UNKNOWN else other for mark in marks)


def publication(manifest: ExportManifest) -> DatasetInfo:
    info = manifest.dataset or DatasetInfo()
    found = _release(manifest) if is_release(manifest) else _beside(manifest)
    return info.model_copy(update={key: value for key, value in found.items() if value and not getattr(info, key)})


def _release(manifest: ExportManifest) -> dict[str, str]:
    schema = manifest.schema
    return {"license": schema.licence, "citation": schema.source, "url": schema.url}


def _beside(manifest: ExportManifest) -> dict[str, str]:
    """The facts in the metadata beside the imported files, if those of all files agree."""
    said = [source.get("about", {}) for source in manifest.sources]
    names = {"name": "title", "license": "license", "citeAs": "citation", "url": "url"}
    found = {key: {about.get(name, "") for about in said} for name, key in names.items()}
    same = {key: values.pop() for key, values in found.items() if len(values) == 1}
    license_ = same.get("license", "").removeprefix(SPDX).removesuffix(".html")
    return same | {"license": spdx_id(license_) or same.get("license", "")}


def title(manifest: ExportManifest) -> str:
    """The data's title. For imported data that nothing is known of, it does not claim that they are the release."""
    schema, known = manifest.schema.title, publication(manifest).title
    if known:
        return known
    if manifest.studies:
        return f"{manifest.studies[-1].file.title} ({manifest.study})"
    return f"{schema} ({manifest.study})" if is_release(manifest) else f"{manifest.study} (in the format of {schema})"


def citation(manifest: ExportManifest) -> str | None:
    """None if neither a citation nor authors are known."""
    return publication(manifest).cited_as(title(manifest))


def license_url(info: DatasetInfo) -> str | None:
    """The address of the licence; its name where it has no SPDX identifier."""
    return f"{SPDX}{info.license}" if info.license and spdx_id(info.license) else info.license


def common_license(info: DatasetInfo) -> str | None:
    """The Hub's name of the licence; None if the Hub has none for it."""
    name = info.license or ""
    found = HUB_NAMES.get(name, name.lower())
    return found if found in {*HUB_LICENSES, *HUB_NAMES.values()} else None


def hub_front_matter(manifest: ExportManifest) -> dict[str, Any]:
    """The licence as the Hub reads it in a card's header; its `unknown` where that of imported data is."""
    info = publication(manifest)
    front: dict[str, Any] = {"license": UNKNOWN} if is_imported(manifest) else {}
    if common := common_license(info):
        front = {"license": common}
    elif info.license:
        front = {"license": "other", "license_name": info.license, "license_link": license_url(info)}
    return front


def croissant_fields(manifest: ExportManifest) -> dict[str, Any]:
    """The metadata by their names in Croissant and schema.org, without those that are unknown."""
    info = publication(manifest)
    fields = {
        "license": license_url(info),
        "citeAs": citation(manifest),
        "url": info.url or info.link,
        "identifier": f"https://doi.org/{info.doi}" if info.doi else None,
        "version": info.version,
        "datePublished": info.date_published.isoformat() if info.date_published else None,
        "keywords": list(info.keywords),
        "creator": [_creator(author.model_dump(exclude_none=True)) for author in info.authors],
        "funding": [_grant(grant.funder, grant.award) for grant in info.funding],
    }
    return {key: value for key, value in fields.items() if value}


def _creator(author: Mapping[str, str]) -> dict[str, Any]:
    person = bool(author["family_names"])
    orcid = f"https://orcid.org/{author['orcid']}" if author.get("orcid") else ""
    name = " ".join(filter(None, (author["given_names"], author["family_names"]))) if person else author["name"]
    fields = {
        "@type": "sc:Person" if person else "sc:Organization",
        "name": name,
        "givenName": author["given_names"],
        "familyName": author["family_names"],
        "url": orcid,
        "identifier": orcid,
        "affiliation": {"@type": "sc:Organization", "name": author["affiliation"]} if author["affiliation"] else None,
    }
    return {key: value for key, value in fields.items() if value}


def _grant(funder: str, award: str) -> dict[str, Any]:
    number = {"identifier": award} if award else {}
    return {"@type": "sc:Grant", **number, "funder": {"@type": "sc:Organization", "name": funder}}


def described_as(manifest: ExportManifest) -> str:
    """The descriptions found beside the imported files, as quotations; empty if there were none."""
    said = dict.fromkeys(source.get("about", {}).get("description", "") for source in manifest.sources)
    return "".join(f' Metadata beside the files describe them as: "{text}"' for text in said if text)


def participants_text(manifest: ExportManifest) -> str:
    found = f", {_counted(manifest)}" if manifest.sessions else ""
    gone = (
        f" {count(manifest.withdrawn, 'more session was', 'more sessions were')} withdrawn, or erased by age."
        if manifest.withdrawn
        else ""
    )
    imported = f" {ORIGINS[Origin.IMPORT]}" if is_imported(manifest) else ""
    about = " ".join(ORIGINS.get(origin, f"Their origin is {origin!r}.") for origin in original_origins(manifest))
    return f"The data of the study `{manifest.study}`{found}.{gone}{imported} {about}{described_as(manifest)}"


def _counted(manifest: ExportManifest) -> str:
    """The number of sessions; imported files have ids of participants instead."""
    if not is_imported(manifest):
        return count(manifest.sessions, "session")
    match original_origins(manifest):
        case (Origin.BOT,):
            return count(manifest.sessions, "simulated session")
        case (Origin.REHEARSAL,):
            return count(manifest.sessions, "rehearsed session")
        case (Origin.PILOT,):
            return count(manifest.sessions, "pilot session")
        case ("released",) | (Origin.PERSON,):
            return count(manifest.sessions, "participant")
        case _:
            return count(manifest.sessions, "different participant id")


def summary(manifest: ExportManifest) -> str:
    schema = manifest.schema
    form = f"The files have the names and columns of {schema.title} ({schema.source.rstrip('.')})."
    if not schema.source:
        form = f"The files are {schema.title}."
    variant = (
        " Cells that a spreadsheet would run begin with an apostrophe: this is not an exact copy."
        if manifest.safe
        else ""
    )
    given = publication(manifest).description
    before = f"{given} " if given else ""
    return f"{before}{participants_text(manifest)} {form}{left_out(manifest)}{variant}"


def left_out(manifest: ExportManifest) -> str:
    """The selection rules and the numbers left out, in sentences; empty if sessions were not restricted."""
    selected = manifest.selected
    if selected is None:
        return ""
    why = ", ".join(f"{number:,} {reason}" for reason, number in selected.left_out)
    rules = f" Selected: {'; '.join(selected.rules)}." if selected.rules else ""
    left = f" Left out: {why}." if why else " No session is left out."
    return f" {selected.number:,} of {count(selected.of, 'session')} are included.{rules}{left}"


def file_name(study: Study, studies: Sequence[Study]) -> str:
    """The name of a study's document: `study.json`, or `study-<hash>.json` if there are several."""
    return STUDY if len(studies) == 1 else f"study-{study.hash[:HASH_CHARS]}.json"
