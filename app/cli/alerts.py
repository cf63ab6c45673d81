"""The command that lists open alerts, and tests how they are sent."""

from __future__ import annotations

from typing import Annotated

import typer

from app.alerts import explained, link, post, since
from app.cli.commands import command
from app.cli.common import AsJson, existing_database, finish, option, settings_in_use
from app.cli.printing import echo, show, warn
from app.config.settings import env_name
from app.errors import NotDelivered, SettingsError
from storage.registers.alerts import open_alerts

HOOK = env_name("alert_webhook_url")


@command("alerts")
def alerts(
    test: Annotated[bool, option("--test", "Send a test alert, and print what the server answered.")] = False,
    as_json: AsJson = False,
) -> None:
    """`parley serve` and `parley up` check conditions and send alerts. With --test the exit code is 1 if the alert
    was not delivered."""
    settings = settings_in_use()
    hook = settings.alert_webhook_url
    if test:
        if hook is None:
            raise SettingsError(f"{HOOK} is not set, so alerts are in the console only.")
        try:
            answer = finish(post(hook.get_secret_value(), "Test: This is a test of Parley alerts"))
        except NotDelivered as error:
            warn(f"Not delivered: {error}")
            raise typer.Exit(1) from None
        echo(f"Delivered: {answer}")
        return
    rows = []
    for alert in open_alerts(existing_database(settings)):
        what, to_do = explained(alert)
        told = {"what": what, "to_do": to_do, "since": since(alert), "undelivered": dict(alert.undelivered)}
        page = {"link": link(alert.key, settings.console_address)}
        rows.append({"id": alert.id, **alert.key._asdict(), "data": dict(alert.data), **told, **page})
    if as_json:
        show(rows, as_json)
        return
    show([{name: row[name] for name in ("since", "what", "to_do", "undelivered", "link")} for row in rows], as_json)
    echo("Alerts are posted to the webhook." if hook else f"Alerts are in the console only. Set {HOOK}.", "dim")
