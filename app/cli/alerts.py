"""The command that lists alerts, and tests how they are sent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.markup import escape

from app.alerts.channels import Channel, channels_of
from app.alerts.lifecycle import Notice
from app.alerts.text import alert_json, link, since, what_happened, what_to_do
from app.cli.commands import command
from app.cli.common import AsJson, existing_database, finish, settings_in_use
from app.cli.printing import out, print_json
from app.clock import SystemClock
from app.config.settings import Settings, env_name
from app.errors import NotDelivered, SettingsError
from storage.registers.alerts import Alert, AlertKey, alerts_since, open_alerts

RECENT_S = 7 * 86_400


@command("alerts")
def alerts(
    recent: Annotated[bool, typer.Option("--recent", help="Also alerts that closed in the last 7 days.")] = False,
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
        _send_test(channels, as_json=as_json)
        return
    database = existing_database(settings)
    now_us = SystemClock().now_us()
    found = alerts_since(database, now_us - RECENT_S * 1_000_000) if recent else open_alerts(database)
    if as_json:
        listed = [alert_json(alert, settings.console_address) for alert in found]
        print_json({"channels": [channel.name for channel in channels], "alerts": listed})
        return
    for alert in found:
        _print(alert, settings)
    if not found:
        out.print("No alert is open.")
    by = " and ".join(channel.name for channel in channels)
    how = f"Alerts are sent by {by}." if by else f"Alerts are shown in the console only. {_set_one()}"
    out.print(f"[dim]{how}[/dim]", highlight=False)


def _send_test(channels: Sequence[Channel], *, as_json: bool) -> None:
    if not channels:
        raise SettingsError(f"No channel for alerts is set. {_set_one()}")
    now_us = SystemClock().now_us()
    notice = Notice(Alert(AlertKey("test"), {}, now_us, now_us, now_us), "test")
    results = finish(_sent(channels, notice))
    if as_json:
        print_json({name: {"delivered": delivered, "answer": said} for name, delivered, said in results})
    else:
        for name, delivered, said in results:
            style, word = ("green", "delivered") if delivered else ("red", "not delivered")
            out.print(f"{name}: [{style}]{word}[/{style}]: {escape(said)}", highlight=False)
    if not all(delivered for _, delivered, _ in results):
        raise typer.Exit(1)


async def _sent(channels: Sequence[Channel], notice: Notice) -> list[tuple[str, bool, str]]:
    """Send a message once by each channel: the channel, whether it was accepted, and what the server answered."""
    results = []
    for channel in channels:
        try:
            results.append((channel.name, True, await channel.send(notice)))
        except NotDelivered as error:
            results.append((channel.name, False, str(error)))
    return results


def _print(alert: Alert, settings: Settings) -> None:
    state = "" if alert.closed_us is None else "  [dim](closed)[/dim]"
    out.print(f"[bold]{escape(what_happened(alert))}[/bold]{state}", highlight=False)
    seen = f"; seen by {alert.seen_by}" if alert.seen_by else ""
    out.print(f"  since {since(alert)}{escape(seen)}", highlight=False)
    if alert.closed_us is None:
        out.print(f"  {escape(what_to_do(alert))}", highlight=False)
        out.print(f"  {link(alert, settings.console_address)}", highlight=False, soft_wrap=True)
    for channel, why in alert.undelivered.items():
        out.print(f"  [yellow]Not delivered by {channel}: {escape(why)}[/yellow]", highlight=False)


def _set_one() -> str:
    return f"Set {env_name('alert_webhook_url')}, or {env_name('smtp_host')} and {env_name('alert_mail_to')}."
