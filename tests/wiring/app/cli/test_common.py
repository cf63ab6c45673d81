"""The studies that commands accept: files, those that come with Parley, and those in the database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

from typer.main import get_command

from app.cli import app
from app.cli.common import StudyFile
from tests.fakes import studies
from tests.fakes.commanding import parley


def commands(group: Any, at: str = "") -> Iterator[tuple[str, Any]]:
    for name, one in group.commands.items():
        yield from commands(one, f"{at}{name} ") if hasattr(one, "commands") else [(f"{at}{name}", one)]


def test_a_published_study_is_known_by_its_name_wherever_no_file_is_needed(tmp_path: Path) -> None:
    file = studies.chat(tmp_path, "mine", system="")
    assert parley("publish", str(file), folder=tmp_path).returncode == 0
    file.unlink()
    takes_a_study: dict[tuple[str, ...], int] = {
        ("preview", "mine"): 0,
        ("simulate", "mine", "-n", "1"): 0,
        ("check", "mine", "--bots", "0"): 0,
        ("models", "mine"): 0,
        ("privacy", "mine", "--no-screenshots"): 0,
        ("show", "translations", "mine", "-l", "de"): 0,
        ("preview", "mein"): 2,
        ("simulate", "mine", "-n", "three"): 2,
    }
    done = {words: parley(*words, folder=tmp_path) for words in takes_a_study}
    assert {words: one.returncode for words, one in done.items()} == takes_a_study, done
    assert "'mine'" in done["preview", "mein"].stderr
    assert "integer" not in done["simulate", "mine", "-n", "three"].stderr
    file_only = get_args(StudyFile)[1].help
    helped = {
        name: [getattr(one, "help", "") for one in command.params] for name, command in commands(get_command(app))
    }
    assert [name for name, told in helped.items() if file_only in told] == ["publish"]
