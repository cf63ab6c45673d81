"""The gallery: a page for each study that comes with Parley, with its picture and its file.

docs/gallery.yaml has a sentence on each; the rest comes from the studies. docs/pictures.py takes the pictures.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from app.studies.loader import STUDIES, load_study, shipped
from app.studies.yaml_loader import parse_yaml

ENTRIES = Path(__file__).with_name("gallery.yaml")
BEFORE = """# Gallery

Every study that comes with Parley, as a participant sees it and as its file. All of them run offline, with the scripted
models of their files: try one with `parley serve NAME`, and copy it with `parley new mine --template NAME`.

"""


@cache
def entries() -> tuple[Mapping[str, Any], ...]:
    """The studies in order, each with `study`, `about`, `step` (that its picture shows) and `picture` (in words)."""
    found: list[dict[str, Any]] = parse_yaml(ENTRIES.read_text(encoding="utf-8")).value
    if missing := {*shipped()} - {entry["study"] for entry in found}:
        raise ValueError(f"{ENTRIES.name} has no entry for {', '.join(sorted(missing))}")
    return tuple(found)


def gallery() -> str:
    """The overview."""
    text = BEFORE
    for entry in entries():
        name = entry["study"]
        text += f"## [{name}]({name}.md)\n\n{entry['about']}\n\n[{_picture(entry)}]({name}.md)\n\n"
    return text.rstrip("\n") + "\n"


def page(entry: Mapping[str, Any]) -> str:
    """The page of one study."""
    name = entry["study"]
    study = load_study(name)
    text = f"# {study.file.title}\n\n{entry['about']}\n\n{_picture(entry)}\n\n"
    text += f"    parley serve {name}                        # take part, at http://127.0.0.1:7860/s/{name}\n"
    text += f"    parley simulate {name} -n 20               # twenty simulated participants\n"
    text += f"    parley new mine --template {name}          # a copy of your own, in mine/study.yaml\n"
    text += f"    parley check {name}                        # its structure, and how long it takes\n\n"
    schemas = ", ".join(f"`{schema}`" for schema in study.file.export_schemas)
    text += f"Exports: {schemas}, and the [tidy tables](../analyst.md#tidy-tables).\n"
    text += f"\n## Its file\n\n```yaml\n{_file(STUDIES / f'{name}.yaml')}```\n"
    return text


def _picture(entry: Mapping[str, Any]) -> str:
    return f"![{entry['picture']}](../images/gallery-{entry['study']}.png)"


def _file(path: Path) -> str:
    """A study file without the line that names its schema: the copy is elsewhere."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    return "".join(line for line in lines if "yaml-language-server" not in line)
