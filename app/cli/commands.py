"""The commands of `parley`: each with its purpose and the module that runs it.

`parley --help` lists them from here. A command's module is imported when that command runs, so help and shell
completion are fast, and a run of hours does not carry what only other commands use.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from importlib import import_module
from inspect import getdoc
from typing import Any, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup

from app.extension import CommandEntry, extensions
from problems.errors import did_you_mean

Function = TypeVar("Function", bound=Callable[..., Any])


def _added(panel: str) -> dict[str, CommandEntry]:
    return {name: entry for one in extensions() for name, entry in one.commands.get(panel, {}).items()}


STARTING, STARTING_CONSOLE = "Starting Parley ...", "Starting the console ..."

CORE: Mapping[str, Mapping[str, CommandEntry]] = {
    "Make a study": {
        "demo": CommandEntry("app.cli.serve", "Try the demo study in a browser, without an API key.", STARTING),
        "new": CommandEntry("app.cli.publish", "Create a study from one that comes with Parley."),
        "check": CommandEntry("app.cli.check", "Check a study file, and show its structure."),
        "models": CommandEntry("app.cli.models", "Test the connection to the models of a study."),
        "preview": CommandEntry("app.cli.preview", "Print a link to take part yourself, from any step."),
        "simulate": CommandEntry("app.cli.simulate", "Run simulated participants through a study."),
        "publish": CommandEntry("app.cli.publish", "Publish a study version for new sessions."),
    },
    "Run a study": {
        "up": CommandEntry("app.cli.up", "Serve participants and the console together.", STARTING),
        "serve": CommandEntry("app.cli.serve", "Serve studies to participants.", STARTING),
        "console": CommandEntry("app.cli.up", "Serve the researchers' console.", STARTING_CONSOLE),
        "rehearse": CommandEntry("app.cli.rehearse", "Send simulated participants through the running server."),
        "recruit": CommandEntry("app.cli.recruit", "Open, pause or close a study; quotas, budgets, links."),
        "payments": CommandEntry("app.cli.payments", "Write payment files: bonuses, approvals, an overview."),
    },
    "Watch a study": {
        "show": CommandEntry("app.cli.show", "Show what there is: status, costs, calls, versions, ..."),
        "session": CommandEntry("app.cli.session", "Add a note to a session, or exclude it from the data."),
        "person": CommandEntry("app.cli.people", "Export, erase or withdraw one person's data."),
        "alerts": CommandEntry("app.cli.alerts", "List open alerts, or send a test alert."),
    },
    "Data and analysis": {
        "export": CommandEntry("app.cli.datasets", "Export a study's data as csv or JSON, with a codebook."),
        "metadata": CommandEntry("app.cli.publish", "Record the publication metadata of a dataset."),
        "import": CommandEntry("app.cli.datasets", "Import, or check, the files of a released dataset."),
        "annotate": CommandEntry("app.cli.annotate", "Annotate conversations with a model, and check agreement."),
        "ai-alone": CommandEntry("app.cli.ai_alone", "Ask models a study's questions without participants."),
    },
    "Operate": {
        "doctor": CommandEntry("app.cli.doctor", "Look for what is wrong on this machine."),
        "accounts": CommandEntry("app.cli.accounts", "Manage the accounts of the console."),
        "db": CommandEntry("app.cli.database", "Maintain the database: back up, migrate, rebuild, verify."),
    },
}
PANELS = {panel: {**entries, **_added(panel)} for panel, entries in CORE.items()}
COMMANDS = {name: entry for panel in PANELS.values() for name, entry in panel.items()}
SHOW = "show"
# After how many new objects Python looks for garbage: with its own 700 that took a fifth of the start.
COLLECT_AFTER = 20_000
MODULES = tuple(
    sorted(
        {entry.module for entry in COMMANDS.values()}
        | {entry.module for one in extensions() for entry in one.shown.values()}
    )
)
SHOWN = {
    "status": "The sessions of a study by outcome and by cell.",
    "quotas": "The participant quotas of a study and its cells.",
    "costs": "The cost of model calls, and the budgets.",
    "calls": "A study's model calls: time, outcome and errors.",
    "versions": "The published versions of a study, the newest first.",
    "diff": "The changes between two versions of a study.",
    "draws": "A check that all assignments and draws follow from their seeds.",
    "metadata": "The recorded publication metadata of a dataset.",
    "blinding": "A check of blinding: replies that name a model, guesses.",
    "items": "A table of your questions as Parley reads it.",
    "translations": "The texts of a study that lack a translation.",
    "schema": "The JSON Schema of study files, for editors.",
    "settings": "Every setting with its value.",
}
SHOWN |= {name: entry.does for one in extensions() for name, entry in one.shown.items()}


def panel_of(name: str) -> str:
    return next(panel for panel, entries in PANELS.items() if name in entries)


def _plain_flags(params: list[Any]) -> list[Any]:
    """Show no type in the help of flags, where typer would write `<bool>`."""
    for param in params:
        if param.param_type_name == "option" and param.is_flag:
            param.metavar = ""
    return params


class Command(TyperCommand):
    def get_params(self, ctx: Any) -> list[Any]:
        return _plain_flags(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            from pydantic import ValidationError

            from experiments.errors import plain_message

            if isinstance(error.__cause__, ValidationError):  # a message for who writes Python
                error.message = plain_message(error.__cause__.errors()[0])
            raise


class Group(TyperGroup):
    def get_params(self, ctx: Any) -> list[Any]:
        return _plain_flags(super().get_params(ctx))


class _Parley(Group):
    """`parley` itself, which lists all commands and imports one when it runs."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [*COMMANDS]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command; if its module is not imported yet, one that can be listed but not run."""
        if cmd_name in self.commands or cmd_name not in COMMANDS:
            return self.commands.get(cmd_name)
        return Command(cmd_name, help=COMMANDS[cmd_name].does, rich_help_panel=panel_of(cmd_name))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        entry = COMMANDS.get(args[0])
        if entry is None and not args[0].startswith("-") and not ctx.resilient_parsing:
            near = did_you_mean(args[0], COMMANDS)
            if args[0] in SHOWN:
                near = f" Did you mean 'show {args[0]}'?"
            ctx.fail(f"No such command {args[0]!r}.{near}")
        if entry is not None and args[0] not in self.commands:
            if entry.starting and "--help" not in args and not ctx.resilient_parsing:  # nor for shell completion
                typer.echo(entry.starting, err=True)
            gc.set_threshold(COLLECT_AFTER)
            import_module(entry.module)
            gc.freeze()
            for one in extensions() if args[0] == SHOW else ():
                for shown in one.shown.values():
                    import_module(shown.module)
            self.commands.update(typer.main.get_group(app).commands)
        return super().resolve_command(ctx, args)


class _Typer(typer.Typer):
    def command(self, name: str | None = None, **options: Any) -> Any:
        return super().command(name, cls=Command, **options)


app = _Typer(
    name="parley",
    cls=_Parley,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)


def command(name: str) -> Callable[[Function], Function]:
    """Register a function as the command of this name. Its docstring says more than the one line of the list."""

    def register(function: Function) -> Function:
        text = "\n\n".join(part for part in (COMMANDS[name].does, getdoc(function)) if part)
        app.command(name, help=text, rich_help_panel=panel_of(name))(function)
        return function

    return register


def group(name: str) -> typer.Typer:
    made = _Typer(cls=Group, no_args_is_help=True, rich_markup_mode="markdown")
    app.add_typer(made, name=name, help=COMMANDS[name].does, rich_help_panel=panel_of(name))
    return made


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        from problems.errors import DISTRIBUTION

        typer.echo(f"Parley {version(DISTRIBUTION)}")
        raise typer.Exit


@app.callback()
def _parley(
    _: bool = typer.Option(False, "--version", help="Show the version and exit.", callback=_version, is_eager=True),
) -> None:
    """Studies in which people work with language models. Start with `parley demo`."""
