"""The links of the studies that a server offers, printed when it starts."""

from __future__ import annotations

from collections.abc import Sequence

from app.cli.printing import echo
from app.config.secret import secret_for
from app.config.settings import Settings
from app.web.participant.recruiter_links import recruitment_links
from app.web.participant.signed_links import TrialLinks
from experiments.study.study import Study
from storage.db.engine import Database
from storage.registers.studies import Studies
from storage.registers.study_versions import status_of_all


def print_links(studies: Sequence[Study], database: Database, settings: Settings) -> None:
    """Print the links of the studies that are served: those for each recruiter, and those to preview and pilot it."""
    published = {name: held for name, held in status_of_all(database).items() if held.offered}
    known = {study.name: study for study in studies}
    known |= {name: Studies(database).newest(name) for name in published if name not in known}
    trials = TrialLinks(secret_for(settings, database))
    for name, study in known.items():
        state = f" ({published[name].state})" if name in published else ""
        echo(f"  {study.file.title}{state}")
        links = recruitment_links(study, settings.address)
        for label, link in [*links, *trials.links(name, settings.address)]:
            echo(f"    {label}: {link}")
        if not links:
            echo(f"    Personal links: parley recruit links {name}")
    if not known:
        echo("  No study yet: every study is served as soon as it is published, and piloted or opened.")
