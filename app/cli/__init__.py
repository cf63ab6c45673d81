"""The command line: `parley`, its commands, and how errors look.

One of the three edges where everything is caught: an error of ours is a message, not a traceback.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any

from app.errors import ArgumentInvalid
from problems.errors import ParleyError

STOPPED = "Stopped. What was finished is saved."


def __getattr__(name: str) -> Any:
    """`app` is the command line with all of its commands."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from app.cli.commands import MODULES, app

    for module in MODULES:
        import_module(module)
    return app


def main() -> None:
    """Run a command; an error of ours, or of a file or folder, becomes a message and exit code 2."""
    try:
        from app.cli.commands import app

        _check_arguments(sys.argv[1:])
        app()
    except (ParleyError, OSError) as error:
        _print(_message_of(error), style="red")
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        _print(STOPPED)
        raise SystemExit(130) from None
    except SystemExit as ended:
        # Within a command typer turns Ctrl-C into an exit without a message.
        if isinstance(getattr(ended.__context__, "__cause__", None), KeyboardInterrupt):
            _print(STOPPED)
        raise
    finally:
        sys.excepthook = sys.__excepthook__  # typer has put its own there


def _check_arguments(words: list[str]) -> None:
    """Raise ArgumentInvalid for bytes that are not UTF-8: Python passes them on as surrogates (PEP 383)."""
    for word in words:
        if any("\ud800" <= char <= "\udfff" for char in word):
            raise ArgumentInvalid(
                f"The argument {ascii(os.fsencode(word))[1:]} is not in UTF-8. Use a terminal with UTF-8; if "
                "it names a file, give the file another name."
            )


def _message_of(error: ParleyError | OSError) -> str:
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{error.filename}: {error.strerror}"
    return str(error)


def _print(text: str, style: str = "") -> None:
    from app.cli.printing import err

    err.print(text, style=style, markup=False, highlight=False)
