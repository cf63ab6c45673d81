"""The command that writes a folder from which a host runs Parley."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.markup import escape

from app.cli.commands import command
from app.cli.common import out, settings_in_use
from app.deploy.deployment import HostFolder, Kind, plan
from app.deploy.folder import render, require_free, write
from app.deploy.package import LOCK, ROOT, build, require_source
from app.deploy.study_files import files_of
from app.deploy.targets import TARGETS
from app.errors import SettingsError
from app.studies.loader import find, load_study
from problems.errors import DISTRIBUTION, did_you_mean
from storage.db.database_url import sqlite_path

WHEEL = "parley_studies-{version}-py3-none-any.whl"
DatabaseChoice = Literal["sqlite", "postgresql"]


@command("deploy")
def deploy(
    target: Annotated[str, typer.Argument(metavar="HOST", help=f"The host: {', '.join(TARGETS)}.")],
    study: Annotated[
        str | None,
        typer.Argument(metavar="STUDY", help="A study file, or the name of a study that comes with Parley."),
    ] = None,
    into: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="The folder to write. Default: deploy-HOST.")
    ] = None,
    name: Annotated[
        str, typer.Option(metavar="NAME", help="The name at the host. Default: the study's.", show_default=False)
    ] = "",
    url: Annotated[
        str | None,
        typer.Option(metavar="URL", help="The participants' address. Default: PARLEY_PUBLIC_URL, or the host's."),
    ] = None,
    console_url: Annotated[
        str | None,
        typer.Option(metavar="URL", help="The console's address. Default: PARLEY_CONSOLE_URL, or /console there."),
    ] = None,
    database: Annotated[
        DatabaseChoice | None,
        typer.Option(help="The kind of database. Default: that of PARLEY_DATABASE_URL.", show_default=False),
    ] = None,
    image: Annotated[
        str, typer.Option(metavar="IMAGE", help="Kubernetes: the image's name in your registry.", show_default=False)
    ] = "",
    source: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="The source of Parley. Default: the folder from which this Parley runs."),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Overwrite the files in FOLDER.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be written, and write nothing.")] = False,
) -> None:
    """Start with the README.md in FOLDER: it has the commands, and what this host cannot do.

    The settings in force are taken over. Secrets are not: the README.md lists those that have to be set at the host.
    """
    if target not in TARGETS:
        raise SettingsError(
            f"There is no host {target!r}; allowed: {', '.join(TARGETS)}.{did_you_mean(target, TARGETS)}"
        )
    settings = settings_in_use(public_url=url, console_url=console_url)
    kind: Kind = database or ("sqlite" if sqlite_path(settings.database_url) else "postgresql")
    number = version(DISTRIBUTION)
    found = load_study(study) if study else None
    planned = plan(target, settings, found, study or "", database=kind, version=number, name=name, image=image)
    folder = into or Path(f"deploy-{target}")
    copied = files_of(find(study)) if study and planned.own_study and planned.host.private_files else {}
    if dry_run:
        _show(folder, planned, sorted(copied))
        return
    source = source or ROOT
    require_source(source)
    require_free(folder, overwrite=overwrite)
    package = build(source)
    texts = render(planned, package.name)
    files = {path: text.encode() for path, text in texts.items()} | {
        f"study/{path}": data for path, data in copied.items()
    }
    write(folder, files | {LOCK: package.pins.encode(), package.name: package.wheel})
    out.print(f"{planned.host.title}: {len(files) + 2} files in {folder}. Next: {folder}/README.md", highlight=False)


def _show(folder: Path, planned: HostFolder, copied: list[str]) -> None:
    """Print each file that would be written."""
    wheel = WHEEL.format(version=planned.version)
    for path, text in render(planned, wheel).items():
        out.print(f"[bold]==> {escape(str(folder / path))}[/bold]", highlight=False, soft_wrap=True)
        out.print(text, markup=False, highlight=False, soft_wrap=True)
    for path in (*(f"study/{name}" for name in copied), LOCK, wheel):
        out.print(f"[bold]==> {escape(str(folder / path))}[/bold] (not shown)", highlight=False, soft_wrap=True)
