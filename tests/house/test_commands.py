"""The command line as a whole: its list, its options, its help, and JSON wherever a table is printed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from app.cli import app, commands

# Columns for the line of a command where a terminal has 80.
WIDTH = 57
LIGHT = ("sqlalchemy", "pydantic", "gradio", "app.config", "app.studies")


ROOT: Any = typer.main.get_command(app)


def every_command() -> dict[str, Any]:
    """Each command by what is typed, with the commands of groups."""
    found: dict[str, Any] = dict(ROOT.commands)
    inner = {f"{name} {part}": one for name, group in found.items() for part, one in _parts(group).items()}
    return found | inner


def _parts(group: Any) -> dict[str, Any]:
    return getattr(group, "commands", {})


COMMANDS = every_command()


def parley(*words: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run `parley` as a process of its own."""
    code = "import sys; from app.cli import main; sys.argv[0] = 'parley'; main()"
    command = [sys.executable, "-c", code, *words]
    return subprocess.run(command, capture_output=True, text=True, env=os.environ | env, check=False)


def test_an_argument_that_is_not_utf_8_is_refused_at_the_door(tmp_path: Path) -> None:
    code = b"import sys; from app.cli import main; sys.argv[0] = 'parley'; main()"
    command = [os.fsencode(sys.executable), b"-c", code, b"check", b"caf\xe9.yaml"]
    env = os.environ | {"PYTHONPATH": str(Path.cwd())}
    done = subprocess.run(command, capture_output=True, cwd=tmp_path, env=env, check=False)
    assert (done.returncode, done.stdout, b"\\xe9" in done.stderr) == (2, b"", True), done.stderr
    assert b"Traceback" not in done.stderr
    assert [*tmp_path.iterdir()] == []


def test_the_list_has_every_command_and_nothing_else() -> None:
    assert set(ROOT.commands) == set(commands.COMMANDS)
    assert all(len(entry.does) <= WIDTH and entry.does.endswith(".") for entry in commands.COMMANDS.values())
    shown = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "80", "TERM": "dumb"}).stdout
    places = [shown.index(f"─ {panel} ─") for panel in commands.PANELS]
    assert places == sorted(places)


def test_help_names_values_by_what_they_are(capsys: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    for name, command in COMMANDS.items():
        ROOT.main([*name.split(), "--help"], prog_name="parley", standalone_mode=False)
        shown = capsys.readouterr().out
        assert f"parley {name}" in shown
        assert "<bool>" not in shown
        for item in command.params:
            named = getattr(item, "is_flag", False) or item.metavar or item.type_descriptor.is_choice
            assert item.help, f"parley {name}: {item.name}"
            assert named, f"parley {name}: {item.name}"


def test_the_help_and_the_completion_of_names_import_no_command() -> None:
    code = "import sys; from app.cli.commands import app; app(['--help'], standalone_mode=False); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.splitlines()[-1].split()
    assert not [name for name in loaded if name.startswith((*LIGHT, "app.cli.serve"))]


@pytest.mark.nightly
def test_what_takes_seconds_to_start_says_so_before_it_is_imported() -> None:
    done = parley("serve", "no-such-study", PARLEY_PORT="0")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"{commands.STARTING}\n")
    assert commands.STARTING not in parley("serve", "--help").stderr


def test_what_is_shown_is_listed_and_json_too() -> None:
    assert {name for name in COMMANDS if name.startswith("show ")} == {f"show {what}" for what in commands.SHOWN}
    lacking = [what for what in commands.SHOWN if "--json" not in _options(COMMANDS[f"show {what}"])]
    assert lacking == ["translations", "schema"], "which print a file"


def _options(command: Any) -> set[str]:
    return {name for item in command.params for name in item.opts}
