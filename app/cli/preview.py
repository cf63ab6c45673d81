"""The command `parley preview`: take part in a study from any step."""

from __future__ import annotations

from typing import Annotated

from app.bots.preview_session import PreviewTarget, advance_to_step
from app.cli.commands import command
from app.cli.common import AnyStudy, Language, Where, any_study, cell_of, option, settings_in_use
from app.cli.session import act_on
from app.config.secret import secret_for
from app.errors import SettingsError
from app.session.signed_links import PreviewLinks
from experiments.errors import suggestion
from storage.db.engine import open_database
from storage.registers.studies import Studies


@command("preview")
def preview(
    study: AnyStudy,
    step: Annotated[
        str,
        option("--step PATH", "The step to start at, such as `phase-1/question[*]/answer`. Default: the first one."),
    ] = "",
    where: Where = None,
    language: Language = "",
) -> None:
    """The link is valid for one hour, and needs `parley serve` over the same database.

    A simulated participant fills in the steps before, at no cost. The session is marked as pilot data.
    """
    settings = settings_in_use()
    found = any_study(study, settings)
    target = PreviewTarget(step, cell_of(found, where), language)
    if language and language not in found.file.offered:
        raise SettingsError(
            f"--language {language!r}: the study is not in this language{suggestion(language, found.file.offered)}"
        )
    database = open_database(settings.database_url)
    Studies(database).register(found)
    stream = act_on(database, lambda sessions: advance_to_step(sessions, found, target))
    print(PreviewLinks(secret_for(settings, database)).link(settings.address, stream))
