"""The commands by which a study comes to be and changes: new, publish, versions, diff."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from app.cli.common import StudyName, app, name_of, out, settings_in_use
from app.cli.safe_console import plain
from app.clock import WorldClock
from app.errors import SettingsError
from app.studies.drafts import make
from app.studies.loader import load_study, shipped
from app.web.console.formatting import when
from experiments.study.resolve import Study
from storage.db.engine import Database, open_database
from storage.registers.studies import Studies
from storage.registers.study_status import operations_of
from storage.registers.study_versions import current, difference, publish, versions

SHORT = 12
"""Characters of a hash that are shown, and enough to name a version."""
NEXT = {
    "draft": "Nobody can begin yet: [bold]parley pilot {name}[/bold] or [bold]parley open {name}[/bold].",
    "pilot": "Who begins from now on gets this version, as a pilot.",
    "open": "Who begins from now on gets this version.",
    "paused": "The study is paused: who begins when it is opened again gets this version.",
    "closed": "The study is closed: who begins when it is opened again gets this version.",
}

Hash = Annotated[str | None, typer.Option(metavar="HASH", help="A version, by the beginning of its hash.")]


@app.command()
def new(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder to make; the study is called as it is.")],
    template: Annotated[
        str, typer.Option("--template", help=f"The study to begin with: {', '.join(shipped())}.")
    ] = "demo",
) -> None:
    """Make a study of one's own from one that comes with Parley."""
    path = make(folder, template)
    out.print(f"{path} is a study of your own now. What next:", markup=False, highlight=False, soft_wrap=True)
    for command in ("check", "serve"):
        out.print(f"  [bold]parley {command} {escape(quote(str(path)))}[/bold]", highlight=False, soft_wrap=True)


@app.command(name="publish")
def publish_(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A study file, or the name of one of Parley's own.")],
) -> None:
    """Freeze a study file as the version that who begins from now on gets; those who have begun go on under theirs."""
    study = load_study(file)
    database = open_database(settings_in_use().database_url)
    twins = [known for known in versions(database, study.name) if known.version == study.file.version]
    done = publish(database, study, by="researcher", at_us=WorldClock().now_us())
    label = f"{study.name}, version {study.file.version} ({done.hash[:SHORT]})"
    out.print(f"{label} is {'published' if done.new else 'the current version already'}.", highlight=False)
    if any(known.hash != done.hash for known in twins):
        out.print(
            f"[yellow]Another text was published as version {study.file.version}: "
            "raise `version:` with each change, so that people can tell them apart.[/yellow]"
        )
    out.print(NEXT[operations_of(database, study.name).state].format(name=study.name), highlight=False)


@app.command(name="versions")
def versions_(study: StudyName) -> None:
    """List the versions of a study that were published, the newest first."""
    database = open_database(settings_in_use().database_url)
    name = current(database, name_of(study)).name
    found = versions(database, name)
    if not found:
        out.print(f"No version of {name} was published: parley publish FILE", highlight=False)
        return
    table = Table("version", "hash", "published (UTC)", "")
    for one in found:
        table.add_row(str(one.version), one.hash[:SHORT], when(one.published_us), "current" if one.current else "")
    out.print(table)


@app.command()
def diff(
    study: Annotated[str, typer.Argument(metavar="STUDY", help="The study's name; or its file, to compare with.")],
    before: Hash = None,
    after: Hash = None,
) -> None:
    """Show what a version changed; for a file, what it would change if it were published now."""
    database = open_database(settings_in_use().database_url)
    name = name_of(study)
    if name != study and after is None:
        new_, old = load_study(study), _version(database, name, before) or current(database, name)
    else:
        new_ = _version(database, name, after) or current(database, name)
        old = _version(database, name, before) or _before(database, new_)
    print(plain(difference(old, new_)) or "They are the same.")


def _version(database: Database, name: str, start: str | None) -> Study | None:
    """The version whose hash begins so; None where none is asked for, and SettingsError for none or several."""
    if start is None:
        return None
    found = [one.hash for one in versions(database, name) if one.hash.startswith(start)]
    if len(found) != 1:
        what = "no version of" if not found else "more than one version of"
        raise SettingsError(f"{start!r} is the hash of {what} {name}. `parley versions {name}` lists them.")
    return Studies(database).get(found[0])


def _before(database: Database, study: Study) -> Study:
    """The version that was published before another."""
    hashes = [one.hash for one in versions(database, study.name)]
    earlier = hashes[hashes.index(study.hash) + 1 :] if study.hash in hashes else []
    if not earlier:
        raise SettingsError(f"There is no version of {study.name} before this one. `parley versions {study.name}`")
    return Studies(database).get(earlier[0])
