"""The commands that serve studies to participants: demo, serve."""

from __future__ import annotations

import asyncio
import sys
import threading
import webbrowser
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

from app.cli.commands import command
from app.cli.common import DatabaseAddress, Host, Port, StudiesToServe, option, settings_in_use, with_saved
from app.cli.http_server import listen, require_free_port, when_up
from app.cli.printing import echo, warn
from app.cli.workers import require_settings_of_workers, supervise
from app.config.saved_servers import with_saved_servers
from app.config.secret import secret_for
from app.config.settings import Settings
from app.errors import SettingsError
from app.session.signed_links import TrialLinks
from app.studies.loader import find, load_study, shipped
from app.use_cases.remind import unsendable_reminders
from app.web.participant.recruiter_links import recruitment_links
from app.web.server import build_app
from experiments.study.study import Study
from storage.db.database_url import redact_password
from storage.db.engine import Database, open_database
from storage.db.file_lock import serving_lock
from storage.registers.studies import Studies
from storage.registers.study_versions import status_of_all


@command("demo")
def demo(
    browser: Annotated[bool, option("--browser/--no-browser", "Open the page in your browser.")] = True,
    host: Host = None,
    port: Port = None,
    database: DatabaseAddress = None,
) -> None:
    """It takes a few minutes. A tiny language model on this computer replies; where it is not installed, a script."""
    from app.backends.llama import why_unusable  # `serve` starts without them
    from app.studies.demo import with_local_model

    settings = settings_in_use(host=host, port=port, database_url=database)
    files = load_all(settings, ["demo"])
    if (why := asyncio.run(why_unusable(settings))) is None:
        files = [(file, with_local_model(study)) for file, study in files]
    else:
        echo(f"Fixed replies in place of a language model's: {why}")
    serve_studies(settings, files, demo=True, open_browser=browser)


@command("serve")
def serve(
    studies: StudiesToServe = None,
    workers: Annotated[
        int, option("--workers N", "Processes, one for each core to use. Several need PostgreSQL.", min=1, max=64)
    ] = 1,
    host: Host = None,
    port: Port = None,
    database: DatabaseAddress = None,
) -> None:
    """Each study is at /s/NAME. All studies published in the database are served, and the named ones."""
    settings = settings_in_use(host=host, port=port, database_url=database)
    serve_studies(settings, load_all(settings, studies or []), workers=workers)


def load_all(settings: Settings, references: Sequence[str]) -> list[tuple[str, Study]]:
    """Each reference with its study, without names of published studies: all are served. Raises StudyError."""
    _, database = with_saved(settings)
    published = {name for name, now in status_of_all(database).items() if now.published} if database else set()
    if database:
        database.dispose()
    names = published - {*shipped()}
    files = [reference for reference in references if reference not in names or Path(reference).exists()]
    return [(file, load_study(str(find(file, published)))) for file in files]


def serve_studies(
    settings: Settings,
    named_studies: Sequence[tuple[str, Study]],
    *,
    workers: int = 1,
    demo: bool = False,
    open_browser: bool = False,
) -> None:
    """Serve these studies and the published ones until stopped, and print the links for participants."""
    if workers > 1:
        require_settings_of_workers(settings, workers)
    require_free_port(settings, "port")
    studies = [study for _, study in named_studies]
    names = [study.name for study in studies]
    if len(set(names)) < len(names):
        raise SettingsError(
            f"Two of these studies have the same name: {', '.join(names)}. Rename one, or serve them separately."
        )
    database = open_database(settings.database_url)
    with serving_lock(database):
        server = build_app(settings, database, studies, again=demo) if workers == 1 else None
        address = settings.address
        echo(f"Parley is at {address}  (stop it with Ctrl-C)", "bold")
        print_links(studies, database, with_saved_servers(settings, database))
        echo(f"  data: {redact_password(settings.database_url)}")
        if open_browser and sys.stdout.isatty():
            shown = partial(webbrowser.open, address)
            threading.Thread(target=when_up, args=(settings, settings.port, shown), daemon=True).start()
        if server is not None:
            listen(server, settings, settings.port)
        else:
            database.dispose()
            supervise(settings, [file for file, _ in named_studies], workers)


def print_links(studies: Sequence[Study], database: Database, settings: Settings) -> None:
    published = {name: held for name, held in status_of_all(database).items() if held.offered}
    known = {study.name: study for study in studies}
    known |= {name: Studies(database).newest(name) for name in published if name not in known}
    trials = TrialLinks(secret_for(settings, database))
    for name, study in known.items():
        state = f" ({published[name].state})" if name in published else ""
        echo(f"  {study.file.title}{state}")
        for what, to_do in unsendable_reminders(study, settings):
            warn(f"{what} {to_do}")
        links = recruitment_links(study, settings.address)
        for label, link in [*links, *trials.links(name, settings.address)]:
            echo(f"    {label}: {link}")
        if not links:
            echo(f"    Personal or signed links: parley recruit links {name}")
    if not known:
        echo("  No study yet: every study is served as soon as it is published, and piloted or opened.")
