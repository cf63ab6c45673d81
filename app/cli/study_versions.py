"""The commands that create and version studies: new, publish, versions, diff."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from app.cli.commands import command
from app.cli.common import (
    AsJson,
    StudyFile,
    StudyName,
    existing_database,
    iso,
    name_of,
    out,
    print_json,
    settings_in_use,
)
from app.cli.safe_console import plain
from app.clock import SystemClock
from app.errors import SettingsError
from app.studies.drafts import create_draft
from app.studies.loader import load_study, shipped
from app.web.console.formatting import format_time
from experiments.study.study import Study
from storage.db.engine import Database, open_database
from storage.registers.studies import Studies
from storage.registers.study_status import operations_of
from storage.registers.study_versions import current, difference, publish, versions

SHORT = 12
"""Characters of a hash that are shown, and enough to name a version."""
NEXT = {
    "draft": "No session can start yet: [bold]parley pilot {name}[/bold] or [bold]parley open {name}[/bold].",
    "pilot": "New sessions get this version, as pilot data.",
    "open": "New sessions get this version.",
    "paused": "The study is paused. New sessions get this version once it is opened again.",
    "closed": "The study is closed. New sessions get this version if it is opened again.",
}

Hash = Annotated[str | None, typer.Option(metavar="HASH", help="A version, by the first characters of its hash.")]


@command("new")
def new(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="The folder to create; its name is the study's name.")
    ],
    template: Annotated[
        str, typer.Option("--template", metavar="STUDY", help=f"The study to copy: {', '.join(shipped())}.")
    ] = "demo",
) -> None:
    """Writes FOLDER/study.yaml, with comments, and its other files."""
    path = create_draft(folder, template)
    out.print(f"Created {path}. Next:", markup=False, highlight=False, soft_wrap=True)
    for name in ("check", "serve"):
        out.print(f"  [bold]parley {name} {escape(quote(str(path)))}[/bold]", highlight=False, soft_wrap=True)


@command("publish")
def publish_(file: StudyFile) -> None:
    """New sessions get this version; running sessions keep theirs."""
    study = load_study(file)
    database = open_database(settings_in_use().database_url)
    twins = [known for known in versions(database, study.name) if known.version == study.file.version]
    done = publish(database, study, by="researcher", at_us=SystemClock().now_us())
    label = f"{study.name}, version {study.file.version} ({done.hash[:SHORT]})"
    out.print(f"{label} is {'published' if done.new else 'the current version already'}.", highlight=False)
    if done.described:
        out.print("The publication metadata (`dataset:`) of its data are recorded.", highlight=False)
    if any(known.hash != done.hash for known in twins):
        out.print(
            f"[yellow]A different file was published as version {study.file.version} before: "
            "increase `version:` with each change to tell versions apart.[/yellow]"
        )
    out.print(NEXT[operations_of(database, study.name).state].format(name=study.name), highlight=False)


@command("versions")
def versions_(study: StudyName, as_json: AsJson = False) -> None:
    """The newest version is first."""
    database = existing_database(settings_in_use())
    name = current(database, name_of(study)).name
    found = versions(database, name)
    if as_json:
        fields = ("version", "hash", "current")
        print_json([{n: getattr(one, n) for n in fields} | {"published": iso(one.published_us)} for one in found])
        return
    if not found:
        out.print(f"No version of {name} is published yet: parley publish FILE", highlight=False)
        return
    table = Table("version", "hash", "published (UTC)", "")
    for one in found:
        table.add_row(
            str(one.version), one.hash[:SHORT], format_time(one.published_us), "current" if one.current else ""
        )
    out.print(table)


@command("diff")
def diff(
    study: Annotated[
        str, typer.Argument(metavar="STUDY", help="The study's name, or a file to compare with the published version.")
    ],
    before: Hash = None,
    after: Hash = None,
    as_json: AsJson = False,
) -> None:
    """For a name: what its current version changed. For a file: what it would change if published."""
    database = existing_database(settings_in_use())
    name = name_of(study)
    if name != study and after is None:
        new_, old = load_study(study), _version(database, name, before) or current(database, name)
    else:
        new_ = _version(database, name, after) or current(database, name)
        old = _version(database, name, before) or _before(database, new_)
    if as_json:
        print_json({"study": new_.name, "before": old.hash, "after": new_.hash, "diff": difference(old, new_)})
        return
    print(plain(difference(old, new_)) or "No difference.")


def _version(database: Database, name: str, start: str | None) -> Study | None:
    """The version whose hash starts so; None without a start; raises SettingsError for no version or several."""
    if start is None:
        return None
    found = [one.hash for one in versions(database, name) if one.hash.startswith(start)]
    if len(found) != 1:
        what = "no version of" if not found else "more than one version of"
        raise SettingsError(f"The hash {start!r} matches {what} {name}. `parley versions {name}` lists all versions.")
    return Studies(database).get(found[0])


def _before(database: Database, study: Study) -> Study:
    """The version that was published before another."""
    hashes = [one.hash for one in versions(database, study.name)]
    earlier = hashes[hashes.index(study.hash) + 1 :] if study.hash in hashes else []
    if not earlier:
        raise SettingsError(f"{study.name} has no earlier version. `parley versions {study.name}` lists all versions.")
    return Studies(database).get(earlier[0])
