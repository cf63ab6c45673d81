"""Texts that all descriptions of an export share: its title, and the origin of its sessions."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from storage.datasets.describe.markdown import count
from storage.datasets.manifest import ExportManifest
from storage.registers.origins import Origin

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
        Origin.IMPORT: "They were imported from files and were not collected with Parley.",
    }
)


def is_imported(exported: ExportManifest) -> bool:
    """Whether the data were imported, not collected with Parley."""
    return exported.origin == Origin.IMPORT


def origin_text(exported: ExportManifest) -> Mapping[str, str] | None:
    """The metadata found beside the imported files; None if there were none."""
    return next((source["about"] for source in exported.sources if source.get("about")), None)


def published(exported: ExportManifest) -> Mapping[str, str]:
    """The licence, citation and URL of imported data, by Croissant's names, as far as they are known.

    They come from the metadata beside the files, or else from the schema. Empty for data collected with Parley.
    """
    if not is_imported(exported):
        return {}
    schema, told = exported.schema, origin_text(exported)
    known = told if told is not None else {"citeAs": schema.source, "license": schema.licence, "url": schema.url}
    return {key: known[key] for key in ("citeAs", "license", "url") if known.get(key)}


def title(exported: ExportManifest) -> str:
    """The data's title."""
    if exported.studies:
        return f"{exported.studies[-1].file.title} ({exported.study})"
    return f"{exported.schema.title} ({exported.study})"


def participants_text(exported: ExportManifest) -> str:
    """The number and origin of the sessions, and how many were withdrawn."""
    about = ORIGINS.get(exported.origin, f"Their origin is {exported.origin!r}.")
    unit = ("person", "people") if is_imported(exported) else ("session", "sessions")
    found = f", {count(exported.sessions, *unit)}" if exported.sessions else ""
    gone = (
        f" {count(exported.withdrawn, 'more session was', 'more sessions were')} withdrawn and erased."
        if exported.withdrawn
        else ""
    )
    said = (origin_text(exported) or {}).get("description")
    before = f' Their metadata describe them as: "{said}"' if said else ""
    return f"The data of the study `{exported.study}`{found}.{gone} {about}{before}"


def summary(exported: ExportManifest) -> str:
    """A description of the data, in a paragraph."""
    form = f"The files have the names and columns of {exported.schema.title} ({exported.schema.source.rstrip('.')})."
    variant = (
        " Cells that a spreadsheet would run begin with an apostrophe: this is not an exact copy."
        if exported.safe
        else ""
    )
    return f"{participants_text(exported)} {form}{left_out(exported)}{variant}"


def left_out(exported: ExportManifest) -> str:
    """The selection rules and the numbers left out, in sentences; empty if sessions were not restricted."""
    selected = exported.selected
    if selected is None:
        return ""
    why = ", ".join(f"{number:,} {reason}" for reason, number in selected.left_out)
    rules = f" Selected: {'; '.join(selected.rules)}." if selected.rules else ""
    left = f" Left out: {why}." if why else " No session is left out."
    return f" {selected.number:,} of {count(selected.of, 'session')} are included.{rules}{left}"
