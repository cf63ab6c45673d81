"""The gallery: a page for each study that comes with Parley, with its picture, its design and its file.

docs/gallery.yaml has a sentence on each; the rest comes from the studies. docs/pictures.py takes the pictures.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.tree import Tree

from app.studies.loader import STUDIES, load_study, shipped
from app.studies.outline import outline, to_rich_tree
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
    text += f"    parley new mine --template {name}          # a copy of your own, in mine/study.yaml\n\n"
    text += f"## Its design\n\n```text\n{_tree(name)}```\n\n"
    schemas = ", ".join(f"`{schema}`" for schema in study.file.export_schemas)
    text += f"Exports: {schemas}, and the [tidy tables](../analyst.md#tidy-tables).\n"
    for path in sorted(STUDIES.glob(f"{name}.*"), key=lambda path: (path.name != f"{name}.yaml", path.name)):
        text += f"\n## {'Its file' if path.stem == name else f'`{path.name}`'}\n\n```yaml\n{_file(path)}```\n"
    return text


def _picture(entry: Mapping[str, Any]) -> str:
    return f"![{entry['picture']}](../images/gallery-{entry['study']}.png)"


def _tree(name: str) -> str:
    study = load_study(name)
    tree = Tree(f"{study.file.title} ({name})")
    to_rich_tree(outline(study), tree)
    drawn = StringIO()
    Console(file=drawn, width=110, color_system=None, force_terminal=False).print(tree, highlight=False)
    return "".join(f"{line.rstrip()}\n" for line in drawn.getvalue().splitlines())


def _file(path: Path) -> str:
    """A study file without the line that names its schema: the copy is elsewhere."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    return "".join(line for line in lines if "yaml-language-server" not in line)
