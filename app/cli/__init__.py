"""The command line: `parley`, its commands, and how errors look.

One of the three edges where everything is caught: an error of ours is a message, not a traceback. The modules of the
commands are read when they are needed, because a run of hours shall not carry what only others use.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import TracebackType
from typing import Any

from problems.errors import ParleyError
from problems.plugins import whose

MODULES = (
    "accounts",
    "ai_alone",
    "annotate",
    "annotator_validation",
    "blinding",
    "console",
    "costs",
    "database",
    "datasets",
    "model_calls",
    "notes",
    "participants",
    "payments",
    "preview",
    "recruitment",
    "report",
    "screen_times",
    "simulate",
    "simulator_quality",
    "study",
    "study_versions",
    "translations",
)
APART = {"ai-alone": ("ai_alone",)}
"""Commands that need no module but these."""
STOPPED = "Stopped. What was finished is saved."


def __getattr__(name: str) -> Any:
    """`app` is the command line with all of its commands."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _with(MODULES)


def _with(modules: tuple[str, ...]) -> Any:
    for name in modules:
        import_module(f"{__name__}.{name}")
    return import_module(f"{__name__}.common").app


def main() -> None:
    """Run a command; an error of ours, or of a file or folder, is told in words and exits with 2."""
    words = tuple(sys.argv[1:2])
    try:
        _with(APART.get("".join(words), MODULES))()
    except (ParleyError, OSError) as error:
        _tell(_in_words(error), style="red")
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        _tell(STOPPED)
        raise SystemExit(130) from None
    except SystemExit as ended:
        # Within a command typer has made an exit of Ctrl-C, and said nothing of it.
        if isinstance(getattr(ended.__context__, "__cause__", None), KeyboardInterrupt):
            _tell(STOPPED)
        raise
    finally:
        sys.excepthook = _tell_whose  # typer has put its own there


def _tell_whose(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """A traceback is for who can mend it: say so where that is somebody else's package."""
    sys.__excepthook__(kind, error, trace)
    if (package := whose(error)) is not None:
        _tell(f"The fault is not Parley's, but that of {package}.", style="red")


def _in_words(error: ParleyError | OSError) -> str:
    """What went wrong, without the number that the system has for it."""
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{error.filename}: {error.strerror}"
    return str(error)


def _tell(text: str, style: str = "") -> None:
    from app.cli.common import err

    err.print(text, style=style, markup=False, highlight=False)
