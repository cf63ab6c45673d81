"""What every description of an export says alike: its title, and whose sessions it holds."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from storage.datasets.describe.markdown import count
from storage.datasets.manifest import ExportManifest
from storage.registers.origins import Origin

ORIGINS: Mapping[str, str] = MappingProxyType(
    {
        Origin.PERSON: "They are the sessions of people who took part.",
        Origin.BOT: (
            "THEY ARE SIMULATED: no person took part. A program played them to try the study out; nothing about "
            "people follows from them."
        ),
        Origin.PILOT: (
            "THEY ARE OF A PILOT: people tried the study out before it was opened. They are no part of its data."
        ),
        Origin.IMPORT: "They were imported from files, and did not come about in Parley.",
    }
)


def is_imported(exported: ExportManifest) -> bool:
    """Whether the data were imported, and did not come about in Parley."""
    return exported.origin == Origin.IMPORT


def origin_text(exported: ExportManifest) -> Mapping[str, str] | None:
    """What the metadata beside imported files said of them; None where there were none."""
    return next((source["about"] for source in exported.sources if source.get("about")), None)


def published(exported: ExportManifest) -> Mapping[str, str]:
    """The licence, the citation and the address of imported data, by Croissant's names, as far as they are known: as
    their own metadata have them, or else as files of a release. Of what came about in Parley nothing is known."""
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
    """Whose sessions they are, and how many."""
    about = ORIGINS.get(exported.origin, f"Their origin is {exported.origin!r}.")
    unit = ("person", "people") if is_imported(exported) else ("session", "sessions")
    found = f", {count(exported.sessions, *unit)}" if exported.sessions else ""
    gone = f" {count(exported.withdrawn, 'more was', 'more were')} withdrawn and erased." if exported.withdrawn else ""
    said = (origin_text(exported) or {}).get("description")
    before = f' What was said of them there: "{said}"' if said else ""
    return f"The data of the study `{exported.study}`{found}.{gone} {about}{before}"


def summary(exported: ExportManifest) -> str:
    """What the data are, in a paragraph."""
    form = f"The files have the names and columns of {exported.schema.title} ({exported.schema.source.rstrip('.')})."
    variant = (
        " Cells that a spreadsheet would run begin with an apostrophe: not an exact copy." if exported.safe else ""
    )
    return f"{participants_text(exported)} {form}{left_out(exported)}{variant}"


def left_out(exported: ExportManifest) -> str:
    """Whom the export leaves out, as a sentence; empty where nobody was asked for or left out."""
    selected = exported.selected
    if selected is None:
        return ""
    why = ", ".join(f"{number:,} {reason}" for reason, number in selected.left_out)
    rules = f" Asked for: {'; '.join(selected.rules)}." if selected.rules else ""
    left = f" Left out: {why}." if why else " Nobody is left out."
    return f" {selected.number:,} of {count(selected.of, 'session')} are here.{rules}{left}"
