"""The command that walks through a study: `parley preview`."""

from __future__ import annotations

from typing import Annotated

import typer

from app.bots.preview_session import Wish, walk_to
from app.cli.common import StudyFile, Where, app, out, settings_in_use
from app.cli.recruitment import cell_of
from app.cli.session_actions import act_on
from app.config.secret import secret_for
from app.errors import SettingsError
from app.studies.loader import load_study
from app.web.participant.preview_links import Walks
from experiments.errors import allowed
from storage.db.engine import open_database
from storage.registers.studies import Studies


@app.command(name="preview")
def walk(
    study: StudyFile,
    step: Annotated[
        str,
        typer.Option(help="Where to begin: a step's path as in `phase-1/question[*]/answer`; the start unless given."),
    ] = "",
    where: Where = None,
    language: Annotated[str, typer.Option(help="In one of the study's languages; its own unless given.")] = "",
) -> None:
    """Walk through a study as a participant, from any step: prints a link that works for an hour.

    A simulated participant goes there with the scripted model, which costs nothing; from there the study's own models
    answer. The session is marked as a pilot's. `parley serve` must run over the same database.
    """
    settings = settings_in_use()
    found = load_study(study)
    wish = Wish(step, cell_of(found, where), language)
    if language and language not in found.file.offered:
        raise SettingsError(f"--language {language!r} is none of this study's{allowed(language, found.file.offered)}")
    database = open_database(settings.database_url)
    Studies(database).register(found)
    stream = act_on(database, lambda sessions: walk_to(sessions, found, wish))
    print(Walks(secret_for(settings, database)).link(settings, stream))
    out.print("Open it in a browser within the hour; what you do there is marked as a pilot's.", style="dim")
