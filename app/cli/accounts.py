"""`parley accounts`: the console's accounts, passwords and invitations."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from app.cli.commands import group
from app.cli.common import AsJson, argument, existing_database, option, settings_in_use
from app.cli.printing import echo, iso, show
from app.clock import SystemClock
from app.config.settings import Settings
from app.errors import SettingsError
from storage.accounts.accounts import Accounts
from storage.accounts.passwords import LEAST_CHARS
from storage.accounts.roles import ROLES, TERMINAL
from storage.db.engine import Database, open_database

commands = group("accounts")
Name = Annotated[str, argument("NAME", "The account's name, such as an e-mail address.")]
Role = Annotated[str, option(f"--role {'|'.join(ROLES)}", "Default: owner for the first account, then analyst.")]
Stdin = Annotated[bool, option("--password-stdin", "Read the password from standard input.")]


@commands.command("add")
def add(name: Name, role: Role = "", password_stdin: Stdin = False) -> None:
    """Create an account; asks for its password.

    Owners manage accounts and change studies. Analysts do not see recruiters' IDs.
    """
    accounts = _accounts()
    role = role or ("analyst" if accounts.everybody() else "owner")
    accounts.add(name, _password(password_stdin), role, TERMINAL)
    echo(f"{name} can use the console as {role}: {settings_in_use().console_address}")


@commands.command("list")
def list_(as_json: AsJson = False) -> None:
    """List the accounts: name, role, when created and when last used (UTC)."""
    rows = [
        {"name": one.name, "role": one.role, "created": iso(one.made_us), "last_used": iso(one.seen_us)}
        for one in _existing_accounts().everybody()
    ]
    show(rows, as_json)


@commands.command("remove")
def remove(name: Name) -> None:
    """Remove an account and log it out everywhere. Its actions stay in the log."""
    _existing_accounts().remove(name, TERMINAL)
    echo(f"{name} was removed and logged out everywhere.")


@commands.command("password")
def password(name: Name, password_stdin: Stdin = False) -> None:
    """Set the password of an account, and log it out everywhere."""
    _existing_accounts().set_password(name, _password(password_stdin), TERMINAL)
    echo(f"{name} has a new password and is logged out everywhere.")


@commands.command("invite")
def invite(role: Role = "analyst") -> None:
    """Print an invitation: a link with which one person creates one account within 24 hours."""
    echo(_welcome(settings_in_use(), _accounts().invitations.make(role, TERMINAL)))


def invite_first(settings: Settings, database: Database) -> str | None:
    """Print the link for the first owner, and give it, if the console has no account yet."""
    token = Accounts(database, SystemClock().now_us).invitations.first()
    if token is None:
        return None
    echo("The console has no account yet. Create yours with this link while the console runs (24 hours):")
    echo(f"  {_welcome(settings, token)}")
    return _welcome(settings, token)


def _welcome(settings: Settings, token: str) -> str:
    return f"{settings.console_address}/welcome/{token}"


def _existing_accounts() -> Accounts:
    return Accounts(existing_database(), SystemClock().now_us)


def _accounts() -> Accounts:
    """The accounts, in a new database if there is none, as the first account may be its first content."""
    return Accounts(open_database(settings_in_use().database_url), SystemClock().now_us)


def _password(from_stdin: bool) -> str:
    if from_stdin:
        given = sys.stdin.readline().rstrip("\r\n")
        if not given:
            raise SettingsError(
                "--password-stdin: standard input is empty. Pipe the password into the command, on one line."
            )
        return given
    if not sys.stdin.isatty():
        raise SettingsError(
            "A password can be typed only at a terminal, and there is none. Pipe it into --password-stdin."
        )
    prompt = f"Password (at least {LEAST_CHARS} characters)"
    return str(typer.prompt(prompt, hide_input=True, confirmation_prompt="Repeat the password"))
