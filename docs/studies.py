"""The gallery: the studies that come with Parley, each with its picture and its file.

docs/gallery.yaml has a sentence on each; the rest comes from the studies. docs/pictures.py takes the pictures.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from app.studies.loader import find, load_study, shipped
from app.studies.yaml_loader import parse_yaml

ENTRIES = Path(__file__).with_name("gallery.yaml")
BEFORE = """# Gallery

The studies that come with Parley, as a participant sees them. All run offline, with the scripted models of their
files, and export the [tidy tables](../analyst.md#tidy-tables) besides the schemas named:

    parley serve NAME                        # take part, at http://127.0.0.1:7860/s/NAME
    parley check NAME                        # its structure, and how long it takes
    parley new mine --template NAME          # a copy of your own, in mine/study.yaml

"""


@cache
def entries() -> tuple[Mapping[str, Any], ...]:
    """The studies in order, each with `study`, `about`, `step` (that its picture shows) and `picture` (in words)."""
    found: list[dict[str, Any]] = parse_yaml(ENTRIES.read_text(encoding="utf-8")).value
    if missing := {*shipped()} - {entry["study"] for entry in found}:
        raise ValueError(f"{ENTRIES.name} has no entry for {', '.join(sorted(missing))}")
    return tuple(found)


def gallery() -> str:
    return BEFORE + "\n".join(map(_study, entries()))


def _study(entry: Mapping[str, Any]) -> str:
    name = entry["study"]
    schemas = ", ".join(f"`{schema}`" for schema in load_study(name).file.export_schemas)
    exports = f" Exports: {schemas}." if schemas else ""
    file = find(name).relative_to(ENTRIES.parents[1])
    return f"## {name}\n\n{entry['about']}{exports} [{name}.yaml](../../{file})\n\n{_picture(entry)}\n"


def _picture(entry: Mapping[str, Any]) -> str:
    return f"![{entry['picture']}](../images/gallery-{entry['study']}.png)"
