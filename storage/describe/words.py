"""What every description of an export says alike: its title, and whose sessions it holds."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from storage.describe.markdown import count
from storage.exported import Exported

IMPORTED = "import"
SIMULATED = "bot"
PILOT = "pilot"
ORIGINS: Mapping[str, str] = MappingProxyType(
    {
        "person": "They are the sessions of people who took part.",
        SIMULATED: (
            "THEY ARE SIMULATED: no person took part. A program played them to try the study out; nothing about "
            "people follows from them."
        ),
        PILOT: "THEY ARE OF A PILOT: people tried the study out before it was opened. They are no part of its data.",
        IMPORTED: "They were imported from files, and did not come about in Parley.",
    }
)


def is_imported(exported: Exported) -> bool:
    """Whether the data are those of published files, so that what is known of the release holds for them."""
    return exported.origin == IMPORTED


def title(exported: Exported) -> str:
    """The data's title."""
    if exported.studies:
        return f"{exported.studies[-1].file.title} ({exported.study})"
    return f"{exported.schema.title} ({exported.study})"


def whose(exported: Exported) -> str:
    """Whose sessions they are, and how many."""
    about = ORIGINS.get(exported.origin, f"Their origin is {exported.origin!r}.")
    unit = ("person", "people") if is_imported(exported) else ("session", "sessions")
    found = f", {count(exported.sessions, *unit)}" if exported.sessions else ""
    return f"The data of the study `{exported.study}`{found}. {about}"


def summary(exported: Exported) -> str:
    """What the data are, in a paragraph."""
    form = f"The files have the names and columns of {exported.schema.title} ({exported.schema.source.rstrip('.')})."
    variant = (
        " Cells that a spreadsheet would run begin with an apostrophe: not an exact copy." if exported.safe else ""
    )
    return f"{whose(exported)} {form}{left_out(exported)}{variant}"


def left_out(exported: Exported) -> str:
    """Whom the export leaves out, as a sentence; empty where nobody was asked for or left out."""
    selected = exported.selected
    if selected is None:
        return ""
    why = ", ".join(f"{number:,} {reason}" for reason, number in selected.left_out)
    rules = f" Asked for: {'; '.join(selected.rules)}." if selected.rules else ""
    left = f" Left out: {why}." if why else " Nobody is left out."
    return f" {selected.number:,} of {count(selected.of, 'session')} are here.{rules}{left}"
