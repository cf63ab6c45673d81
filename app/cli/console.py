"""The command that serves the researchers' console."""

from __future__ import annotations

import logging

from app.cli.accounts import invite_first
from app.cli.commands import command
from app.cli.common import DatabaseAddress, Host, Port, settings_in_use
from app.cli.http_server import listen, lower_priority, require_free_port
from app.cli.printing import echo
from app.config.settings import Settings
from app.doctor import unwritable_drafts
from storage.db.database_url import redact_password
from storage.db.engine import Database, open_database

log = logging.getLogger(__name__)


@command("console")
def console(host: Host = None, port: Port = None, database: DatabaseAddress = None) -> None:
    """Researchers log in to make, run and watch studies, read sessions, and export data."""
    settings = settings_in_use(host=host, console_port=port, database_url=database)
    require_free_port(settings, "console_port")
    opened = open_database(settings.database_url)
    echo(f"The console is at {settings.console_address}  (stop it with Ctrl-C)", "bold")
    echo(f"  data: {redact_password(settings.database_url)}")
    invite_first(settings, opened)
    serve_console(settings, opened)


def serve_console(settings: Settings, database: Database) -> None:
    """Serve the console until it is stopped. What keeps drafts from being saved is logged before anybody writes one."""
    from app.web.console.server import build_console

    for finding in unwritable_drafts(settings):
        log.warning("%s %s", finding.what, finding.to_do)
    server = build_console(settings, database)
    lower_priority()
    listen(server, settings, settings.console_port)
