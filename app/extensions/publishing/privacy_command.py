"""The command that writes a study's data-protection and ethics documents."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from app.bots.dry_run import estimate_by_simulation
from app.bots.preview_session import offline
from app.cli.commands import command
from app.cli.common import AnyStudy, any_study, option, settings_in_use, with_saved
from app.cli.printing import echo, progress_bar
from app.clock import SystemClock
from app.errors import SettingsError
from app.extensions.publishing.document import data_protection_document
from app.extensions.publishing.screens import WIDTHS, Arm, require_playwright, take, walk_every_arm
from experiments.errors import suggestion
from experiments.study.study import Study

# How many simulated participants the duration is taken from, and the length of replies, which does not matter here.
SIMULATED, REPLY_TOKENS = 10, 300


@command("privacy")
def privacy(
    study: AnyStudy,
    to: Annotated[Path | None, option("-o --out FOLDER", "The folder for the files. Default: STUDY-privacy.")] = None,
    screenshots: Annotated[bool, option("--screenshots/--no-screenshots", "Take pictures of all screens.")] = True,
    language: Annotated[
        str, option("--language LANGUAGE", "Of the pictures. Default: the study's main language.")
    ] = "",
) -> None:
    """For a record of processing (GDPR Art. 30), those who ask, and an ethics board (IRB)."""
    found = any_study(study)
    if language and language not in found.file.offered:
        raise SettingsError(
            f"--language {language!r}: the study is not in this language{suggestion(language, found.file.offered)}"
        )
    if screenshots:
        require_playwright()
    settings = settings_in_use()
    folder = to or Path(f"{found.name}-privacy")
    folder.mkdir(parents=True, exist_ok=True)
    arms, pictures = _screens(found, language or found.file.language, folder) if screenshots else ((), {})
    minutes = asyncio.run(estimate_by_simulation(found, SIMULATED, REPLY_TOKENS)).typical_minutes
    text = data_protection_document(
        found, with_saved(settings)[0], minutes=minutes, made_us=SystemClock().now_us(), arms=arms, pictures=pictures
    )
    file = folder / "data-protection.md"
    file.write_text(text, encoding="utf-8")
    echo(f'{file}: what is called "Not stated" is for you to write.')


def _screens(study: Study, language: str, folder: Path) -> tuple[Sequence[Arm], dict[str, list[str]]]:
    """The screens of every arm, and their pictures by the screens' names; raises SettingsError without Chromium."""
    own = replace(offline(study), picture_files=study.picture_files)
    arms = asyncio.run(walk_every_arm(own, language))
    into = folder / "screens"
    into.mkdir(exist_ok=True)
    screens = [seen for arm in arms for seen in arm.screens]
    pictures: dict[str, list[str]] = {}
    with progress_bar() as bar:
        task = bar.add_task("Pictures of screens", total=(1 + len(screens)) * len(WIDTHS))
        for name, file in take(own, screens, into, language):
            pictures.setdefault(name, []).append(f"screens/{file.name}")
            bar.advance(task)
    return arms, pictures
