"""The commands for the console's accounts: accounts, passwords and invitations."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from app.cli.commands import group
from app.cli.common import AsJson, existing_database, iso, out, print_json, settings_in_use
from app.clock import SystemClock
from app.config.secret import secret_for
from app.config.settings import Settings
from app.errors import SettingsError
from app.web.console.formatting import format_time
from app.web.console.known_browsers import link
from storage.accounts.accounts import Accounts
from storage.accounts.passwords import LEAST_CHARS
from storage.accounts.roles import ROLES, TERMINAL, role_label
from storage.db.engine import Database, open_database
from storage.errors import AccountError

user = group("user")

Name = Annotated[str, typer.Argument(metavar="NAME", help="The account's name, such as an e-mail address.")]
Stdin = Annotated[bool, typer.Option("--password-stdin", help="Read the password from standard input.")]


@user.command(name="add")
def user_add(
    name: Name,
    role: Annotated[
        str,
        typer.Option(
            metavar="|".join(ROLES), help="The role. Default: owner for the first account, analyst for the others."
        ),
    ] = "",
    password_stdin: Stdin = False,
) -> None:
    """Create an account; asks for its password.

    Owners manage accounts and change studies. Analysts do not see recruiters' IDs.
    """
    accounts = _accounts()
    role = role or ("analyst" if accounts.everybody() else "owner")
    accounts.add(name, _password(password_stdin), role, TERMINAL)
    out.print(f"{name} can use the console as {role}: {settings_in_use().console_address}", highlight=False)


@user.command(name="list")
def user_list(as_json: AsJson = False) -> None:
    """List the accounts: name, role, when created and when last used."""
    found = _existing_accounts().everybody()
    if as_json:
        print_json(
            [{"name": a.name, "role": a.role, "created": iso(a.made_us), "last_used": iso(a.seen_us)} for a in found]
        )
        return
    if not found:
        out.print("There is no account yet. `parley user add NAME` creates the first one, an owner.")
        return
    table = Table("name", "role", "created", "last used (UTC)", box=None)
    for account in found:
        table.add_row(escape(account.name), account.role, format_time(account.made_us), format_time(account.seen_us))
    out.print(table)


@user.command(name="remove")
def user_remove(name: Name) -> None:
    """Remove an account and log it out everywhere. Its actions stay in the log."""
    _existing_accounts().remove(name, TERMINAL)
    out.print(f"{name} was removed and logged out everywhere.", highlight=False)


@user.command(name="password")
def user_password(name: Name, password_stdin: Stdin = False) -> None:
    """Set the password of an account, and log it out everywhere."""
    _existing_accounts().set_password(name, _password(password_stdin), TERMINAL)
    out.print(f"{name} has a new password and is logged out everywhere.", highlight=False)


@user.command(name="unlock")
def user_unlock(name: Name) -> None:
    """Print a link for a user whose login is blocked after too many attempts.

    The browser that opens it is not blocked by the attempts of others. The password is still needed;
    `parley user password` sets another one.
    """
    settings = settings_in_use()
    database = existing_database(settings)
    clock = SystemClock()
    accounts = Accounts(database, clock.now_us)
    found = next((account.name for account in accounts.everybody() if account.name == role_label(name)), None)
    if found is None:
        raise AccountError(f"There is no account {role_label(name)!r}. `parley user list` lists all accounts.")
    path = link(secret_for(settings, database), clock, found)
    accounts.record(TERMINAL, "created a login link", found)
    out.print(f"For {found}'s browser, within 24 hours:", highlight=False)
    out.print(f"  {settings.console_address}{path}", highlight=False, soft_wrap=True)


@user.command(name="invite")
def user_invite(
    role: Annotated[str, typer.Option(metavar="|".join(ROLES), help="The role of the new account.")] = "analyst",
) -> None:
    """Print an invitation: a link with which one person creates one account within 24 hours."""
    settings = settings_in_use()
    token = _accounts().invitations.make(role, TERMINAL)
    out.print("For one person and one use, within 24 hours:")
    _print_link(settings, token)


def invite_first(settings: Settings, database: Database) -> str | None:
    """Print the link for the first owner, and give it, if the console has no account yet."""
    token = Accounts(database, SystemClock().now_us).invitations.first()
    if token is None:
        return None
    out.print("The console has no account yet. Create yours with this link while the console runs (24 hours):")
    _print_link(settings, token)
    return _welcome(settings, token)


def _welcome(settings: Settings, token: str) -> str:
    return f"{settings.console_address}/welcome/{token}"


def _print_link(settings: Settings, token: str) -> None:
    out.print(f"  {_welcome(settings, token)}", highlight=False, soft_wrap=True)


def _existing_accounts() -> Accounts:
    return Accounts(existing_database(settings_in_use()), SystemClock().now_us)


def _accounts() -> Accounts:
    """The accounts, in a new database if there is none: the first account may be what begins it."""
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
            "A password can be typed at a terminal only, and this is none. Pipe it into --password-stdin."
        )
    prompt = f"Password (at least {LEAST_CHARS} characters)"
    return str(typer.prompt(prompt, hide_input=True, confirmation_prompt="Repeat the password"))
