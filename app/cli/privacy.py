"""The command that writes a study's data-protection and ethics documents."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from app.bots.dry_run import estimate_by_simulation
from app.bots.preview_session import offline
from app.cli.commands import command
from app.cli.common import StudyFile, settings_in_use, with_saved
from app.cli.printing import err, out
from app.clock import SystemClock
from app.errors import SettingsError
from app.privacy.document import data_protection_document
from app.privacy.screens import START, Arm, walk_every_arm
from app.privacy.screenshots import WIDTHS, file_of, picture_sessions, require_playwright, stage, take
from app.studies.loader import load_study
from experiments.errors import suggestion
from experiments.study.study import Study
from problems.errors import DISTRIBUTION

SIMULATED, REPLY_TOKENS = 10, 300
"""How many simulated participants the duration is taken from, and the length of replies, which does not matter here."""
INTERRUPTED = 130


@command("privacy")
def privacy(
    study: StudyFile,
    to: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="FOLDER", help="The folder for the files. Default: STUDY-privacy."),
    ] = None,
    screenshots: Annotated[
        bool, typer.Option("--screenshots/--no-screenshots", help="Take a picture of every screen, by Chromium.")
    ] = True,
    language: Annotated[
        str, typer.Option(metavar="LANGUAGE", help="The language of the pictures. Default: the study's main language.")
    ] = "",
) -> None:
    """One document in Markdown for a record of processing (GDPR Art. 30), those who ask, and an ethics board (IRB).

    What neither the study (`privacy:`) nor the settings say is called not stated. A run that was stopped goes on.
    """
    found = load_study(study)
    if language and language not in found.file.offered:
        raise SettingsError(
            f"--language {language!r}: the study is not in this language{suggestion(language, found.file.offered)}"
        )
    if screenshots:
        require_playwright()
    settings = settings_in_use()
    folder = to or Path(f"{found.name}-privacy")
    folder.mkdir(parents=True, exist_ok=True)
    try:
        arms, pictures = _screens(found, language or found.file.language, folder) if screenshots else ((), {})
    except KeyboardInterrupt:
        err.print("Stopped. The same command takes the pictures that are missing.")
        raise typer.Exit(INTERRUPTED) from None
    minutes = asyncio.run(estimate_by_simulation(found, SIMULATED, REPLY_TOKENS)).typical_minutes
    text = data_protection_document(
        found,
        with_saved(settings)[0],
        minutes=minutes,
        made_us=SystemClock().now_us(),
        parley=version(DISTRIBUTION),
        arms=arms,
        pictures=pictures,
    )
    file = folder / "data-protection.md"
    file.write_text(text, encoding="utf-8")
    out.print(f'{file}: what is called "Not stated" is for you to write.', highlight=False, markup=False)


def _screens(study: Study, language: str, folder: Path) -> tuple[Sequence[Arm], dict[str, list[str]]]:
    """The screens of every arm, and their pictures by the screens' names; raises SettingsError without Chromium."""
    own = replace(offline(study), picture_files=study.picture_files)
    arms = asyncio.run(walk_every_arm(own, language))
    into = folder / "screens" / f"{study.hash[:12]}-{language}"
    into.mkdir(parents=True, exist_ok=True)
    screens = [seen for arm in arms for seen in arm.screens]
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    bar = Progress(*columns, console=err, transient=True, disable=not err.is_terminal)
    with stage() as here, bar:
        streams = asyncio.run(picture_sessions(here.database, own, screens))
        task = bar.add_task("Pictures of screens", total=(1 + len(screens)) * len(WIDTHS))
        for _ in take(here, own, streams, into, language):
            bar.advance(task)
    names = (START, *(seen.name for seen in screens))
    paths = {name: [file_of(into, name, width) for width in WIDTHS] for name in names}
    return arms, {name: [file.relative_to(folder).as_posix() for file in files] for name, files in paths.items()}
