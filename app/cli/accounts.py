"""The commands about who may use the console: accounts, their passwords, and links with which people make their own."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from app.cli.common import app, out, settings_in_use
from app.clock import WorldClock
from app.config.secret import secret_for
from app.config.settings import Settings
from app.errors import SettingsError
from app.web.console.formatting import when
from app.web.console.known_browsers import link
from storage.accounts.accounts import Accounts
from storage.accounts.passwords import LEAST_CHARS
from storage.accounts.roles import ROLES, TERMINAL, called
from storage.db.engine import Database, open_database
from storage.errors import AccountError

user = typer.Typer(help="Who may use the console: its accounts, and links with which people make their own.")
app.add_typer(user, name="user")

Name = Annotated[str, typer.Argument(metavar="NAME", help="The account's name, such as an e-mail address.")]
Stdin = Annotated[bool, typer.Option("--password-stdin", help="Read the password from standard input.")]


@user.command(name="add")
def user_add(
    name: Name,
    role: Annotated[
        str, typer.Option(help="owner or analyst; unless given, the first account is an owner, others are analysts.")
    ] = "",
    password_stdin: Stdin = False,
) -> None:
    """Make an account; asks for its password. Owners let people in and change studies; analysts see no identity."""
    accounts = _accounts()
    role = role or ("analyst" if accounts.everybody() else "owner")
    accounts.add(name, _password(password_stdin), role, TERMINAL)
    out.print(f"{name} may use the console as {role}: {settings_in_use().console_address}", highlight=False)


@user.command(name="list")
def user_list() -> None:
    """List the accounts: name, role, and when somebody was last there."""
    found = _accounts().everybody()
    if not found:
        out.print("There is no account yet. `parley user add NAME` makes the first one, an owner's.")
        return
    table = Table("name", "role", "made", "last seen (UTC)", box=None)
    for account in found:
        table.add_row(escape(account.name), account.role, when(account.made_us), when(account.seen_us))
    out.print(table)


@user.command(name="remove")
def user_remove(name: Name) -> None:
    """Let somebody into the console no more, from this moment. What they did stays in the log."""
    _accounts().remove(name, TERMINAL)
    out.print(f"{name} is removed and logged out everywhere.", highlight=False)


@user.command(name="password")
def user_password(name: Name, password_stdin: Stdin = False) -> None:
    """Give an account another password, and log it out everywhere."""
    _accounts().set_password(name, _password(password_stdin), TERMINAL)
    out.print(f"{name} has a new password and is logged out everywhere.", highlight=False)


@user.command(name="unlock")
def user_unlock(name: Name) -> None:
    """Print a link for who is told that the login was tried too often: the browser that opens it is not held up by what
    others try. It lets nobody in without the password; `parley user password` changes that.
    """
    settings = settings_in_use()
    database = open_database(settings.database_url)
    clock = WorldClock()
    accounts = Accounts(database, clock.now_us)
    found = next((account.name for account in accounts.everybody() if account.name == called(name)), None)
    if found is None:
        raise AccountError(f"There is no account {called(name)!r}. `parley user list` shows which there are.")
    path = link(secret_for(settings, database), clock, found)
    accounts.did(TERMINAL, "created a login link", found)
    out.print(f"For {found}'s browser, within 24 hours:", highlight=False)
    out.print(f"  {settings.console_address}{path}", highlight=False, soft_wrap=True)


@user.command(name="invite")
def user_invite(
    role: Annotated[str, typer.Option(help=f"What it makes of them: {' or '.join(ROLES)}.")] = "analyst",
) -> None:
    """Print a link with which one person makes one account, within a day."""
    settings = settings_in_use()
    token = _accounts().invitations.make(role, TERMINAL)
    out.print("For one person, once, within 24 hours:")
    _print_link(settings, token)


def invite_first(settings: Settings, database: Database) -> None:
    """Print the link for the first owner, where the console has no account yet."""
    token = Accounts(database, WorldClock().now_us).invitations.first()
    if token is not None:
        out.print("The console has no account yet. With `parley console` running, make yours (once, within 24 hours):")
        _print_link(settings, token)


def _print_link(settings: Settings, token: str) -> None:
    out.print(f"  {settings.console_address}/welcome/{token}", highlight=False, soft_wrap=True)


def _accounts() -> Accounts:
    return Accounts(open_database(settings_in_use().database_url), WorldClock().now_us)


def _password(from_stdin: bool) -> str:
    if from_stdin:
        given = sys.stdin.readline().rstrip("\r\n")
        if not given:
            raise SettingsError("--password-stdin: nothing came. Pipe the password into the command, on one line.")
        return given
    if not sys.stdin.isatty():
        raise SettingsError("A password is asked for at a terminal, and here is none: pipe it into --password-stdin.")
    prompt = f"Password ({LEAST_CHARS} characters or more)"
    return str(typer.prompt(prompt, hide_input=True, confirmation_prompt="The same again"))
