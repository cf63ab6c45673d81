"""What of a study's reminders cannot be sent from here is said before anybody waits for one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.cli.serve import print_links
from app.studies.loader import load_study
from storage.db.engine import open_database
from tests.fakes import reminders, studies
from tests.fakes.commanding import parley
from tests.fakes.let_go import let_go
from tests.fakes.served import settings_for

MAIL = {"PARLEY_MAIL_HOST": "127.0.0.1", "PARLEY_MAIL_FROM": "lab@example.org", "PARLEY_MAIL_SECURITY": "none"}


@pytest.mark.parametrize("settings", [{}, MAIL])
def test_reminders_that_cannot_be_sent_are_said_by_check_publish_and_serve(
    settings: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    past = [reminders.FILE["waves"][0], reminders.FILE["waves"][1] | {"opens": {"on": "2026-01-01"}}]
    file = studies.write(tmp_path, reminders.FILE | {"waves": past, "reminders": {"channels": ["mail"], "send": [{}]}})
    checked = json.loads(parley("check", str(file), "--bots", "0", "--json", folder=tmp_path, **settings).stdout)
    published = parley("publish", str(file), folder=tmp_path, **settings)
    with_settings = settings_for(
        tmp_path, **{key.removeprefix("PARLEY_").lower(): one for key, one in settings.items()}
    )
    database = open_database(with_settings.database_url)
    print_links([load_study(str(file))], database, with_settings)
    let_go(database)
    said = " ".join(checked["advice"]), published.stdout + published.stderr, "".join(capsys.readouterr())
    assert ["PARLEY_MAIL_HOST" in text for text in said] == [not settings] * 3
    assert ["waves[1].opens.on: " in text for text in said] == [True, True, False]
