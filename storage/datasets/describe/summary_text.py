"""Texts and names that all descriptions of an export share: the number, the origin and the selection of its sessions,
and the names of its study documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from experiments.study.study import Study
from storage.datasets.describe.markdown import count
from storage.datasets.describe.publication import (
    MODELS,
    RELEASED,
    STATED,
    UNKNOWN,
    is_imported,
    original_origins,
    publication,
)
from storage.datasets.manifest import ExportManifest
from storage.registers.origins import Origin

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


def described_as(exported: ExportManifest) -> str:
    """The descriptions found beside the imported files, as quotations; empty if there were none."""
    said = dict.fromkeys(source.get("about", {}).get("description", "") for source in exported.sources)
    return "".join(f' Metadata beside the files describe them as: "{text}"' for text in said if text)


def participants_text(exported: ExportManifest) -> str:
    """The number and origin of the sessions, and how many were withdrawn."""
    found = f", {_counted(exported)}" if exported.sessions else ""
    gone = (
        f" {count(exported.withdrawn, 'more session was', 'more sessions were')} withdrawn, or erased by age."
        if exported.withdrawn
        else ""
    )
    imported = f" {ORIGINS[Origin.IMPORT]}" if is_imported(exported) else ""
    about = " ".join(ORIGINS.get(origin, f"Their origin is {origin!r}.") for origin in original_origins(exported))
    return f"The data of the study `{exported.study}`{found}.{gone}{imported} {about}{described_as(exported)}"


def _counted(exported: ExportManifest) -> str:
    """The number of sessions; imported files have ids of participants instead."""
    if not is_imported(exported):
        return count(exported.sessions, "session")
    match original_origins(exported):
        case (Origin.BOT,):
            return count(exported.sessions, "simulated session")
        case (Origin.REHEARSAL,):
            return count(exported.sessions, "rehearsed session")
        case (Origin.PILOT,):
            return count(exported.sessions, "pilot session")
        case ("released",) | (Origin.PERSON,):
            return count(exported.sessions, "participant")
        case _:
            return count(exported.sessions, "different participant id")


def summary(exported: ExportManifest) -> str:
    schema = exported.schema
    form = f"The files have the names and columns of {schema.title} ({schema.source.rstrip('.')})."
    if not schema.source:
        form = f"The files are {schema.title}."
    variant = (
        " Cells that a spreadsheet would run begin with an apostrophe: this is not an exact copy."
        if exported.safe
        else ""
    )
    given = publication(exported).description
    before = f"{given} " if given else ""
    return f"{before}{participants_text(exported)} {form}{left_out(exported)}{variant}"


def left_out(exported: ExportManifest) -> str:
    """The selection rules and the numbers left out, in sentences; empty if sessions were not restricted."""
    selected = exported.selected
    if selected is None:
        return ""
    why = ", ".join(f"{number:,} {reason}" for reason, number in selected.left_out)
    rules = f" Selected: {'; '.join(selected.rules)}." if selected.rules else ""
    left = f" Left out: {why}." if why else " No session is left out."
    return f" {selected.number:,} of {count(selected.of, 'session')} are included.{rules}{left}"


def file_name(study: Study, among: Sequence[Study]) -> str:
    """The name of a study's document: `study.json`, or `study-<hash>.json` if there are several."""
    return STUDY if len(among) == 1 else f"study-{study.hash[:HASH_CHARS]}.json"
