"""The command that lists open alerts, and tests how they are sent."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.markup import escape

from app.alerts import Send, channels_of, explained, link, since
from app.cli.commands import command
from app.cli.common import AsJson, existing_database, finish, settings_in_use
from app.cli.printing import out, print_json
from app.config.settings import env_name
from app.errors import NotDelivered, SettingsError
from storage.registers.alerts import open_alerts

SET_ONE = f"Set {env_name('alert_webhook_url')}, or {env_name('smtp_host')} and {env_name('alert_mail_to')}."


@command("alerts")
def alerts(
    test: Annotated[
        bool, typer.Option("--test", help="Send a test alert by each channel, and print what the server answered.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """An alert is open while its condition holds. `parley serve` and `parley up` check conditions and send alerts.

    With --test the exit code is 1 if a channel failed.
    """
    settings = settings_in_use()
    channels = channels_of(settings)
    if test:
        _send_test(channels)
        return
    found = open_alerts(existing_database(settings))
    if as_json:
        print_json(
            [
                {"id": one.id, **one.key._asdict(), "data": dict(one.data), "what": explained(one)[0]}
                | {"to_do": explained(one)[1], "since": since(one), "undelivered": dict(one.undelivered)}
                for one in found
            ]
        )
        return
    for alert in found:
        what, to_do = explained(alert)
        out.print(f"[bold]{escape(what)}[/bold] since {since(alert)}\n  {escape(to_do)}", highlight=False)
        out.print(f"  {link(alert.key, settings.console_address)}", highlight=False, soft_wrap=True)
        for channel, why in alert.undelivered.items():
            out.print(f"  [yellow]Not delivered by {channel}: {escape(why)}[/yellow]", highlight=False)
    if not found:
        out.print("No alert is open.")
    how = f"Alerts are sent by {' and '.join(channels)}." if channels else f"They are in the console only. {SET_ONE}"
    out.print(f"[dim]{how}[/dim]", highlight=False)


def _send_test(channels: dict[str, Send]) -> None:
    if not channels:
        raise SettingsError(f"No channel for alerts is set. {SET_ONE}")
    failed = False
    for name, send in channels.items():
        try:
            out.print(f"{name}: delivered: {escape(finish(send('Test: This is a test of Parley alerts')))}")
        except NotDelivered as error:
            failed = True
            out.print(f"{name}: [red]not delivered[/red]: {escape(str(error))}", highlight=False)
    if failed:
        raise typer.Exit(1)
