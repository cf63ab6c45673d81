"""The folder of a deployment: rendered from the templates, and written all at once or not at all."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from app.deploy.deployment import HostFolder
from app.errors import SettingsError

TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
    autoescape=False,  # noqa: S701  (configuration files, no HTML; values are quoted by `quoted`)
)
TEMPLATES.filters["quoted"] = lambda value: json.dumps(value, ensure_ascii=False)
"""A string of TOML, YAML and Caddyfiles: those of JSON are strings of theirs."""
EXECUTABLE = ("start.sh",)
BLANK_LINES = re.compile(r"\n{3,}")


def render(deployment: HostFolder, wheel: str) -> dict[str, str]:
    """The files of a deployment by their path in its folder; `wheel` is the name of the file that has Parley."""
    files = {}
    for path, template in deployment.host.files.items():
        text = TEMPLATES.get_template(template).render(d=deployment, wheel=wheel)
        if text.strip():
            files[path] = BLANK_LINES.sub("\n\n", text.strip("\n")) + "\n"
    return files


def require_free(folder: Path, *, overwrite: bool) -> None:
    """Raise SettingsError if there is something in the folder that may not be overwritten."""
    if folder.exists() and not folder.is_dir():
        raise SettingsError(f"{folder} is a file. Name a folder: --into FOLDER")
    if not overwrite and folder.is_dir() and any(folder.iterdir()):
        raise SettingsError(f"{folder} is not empty. Name another folder, or overwrite its files with --overwrite")


def write(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write the files; others in the folder stay, except an older wheel."""
    for old in folder.glob("parley_studies-*.whl"):
        old.unlink()
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        if name in EXECUTABLE:
            path.chmod(0o755)
