"""What `parley doctor` finds at Prolific: one thing broken at a time is found where it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.errors import RecruiterDenied
from app.recruiters.prolific import WEBHOOK, Prolific
from app.studies.loader import load_study
from app.use_cases.doctor import Deployment, check_prolific
from app.use_cases.prolific_study import draft_of
from tests.fakes import studies
from tests.fakes.prolific_api import TOKEN, WORKSPACE, FakeProlific, prolific_api
from tests.fakes.served import settings_for

ADDRESS = "https://lab.example.org"
Break = Callable[[FakeProlific], object]


@pytest.fixture
def fake() -> Iterator[FakeProlific]:
    with prolific_api() as served:
        yield served


def found(fake: FakeProlific, folder: Path, broken: Break = lambda _: None, **more: str) -> list[str]:
    """The levels of the findings about a study whose draft is at Prolific, with its webhook."""
    study = load_study(str(studies.recruited(folder)))
    assert study.file.prolific is not None
    with Prolific(fake.url, TOKEN) as client:
        client.create_study(draft_of(study, study.file.prolific, ADDRESS, 20, 10))
        client.create_hook_secret(WORKSPACE)
        client.subscribe("submission.status.change", f"{ADDRESS}{WEBHOOK}", WORKSPACE)
    broken(fake)
    given = {"public_url": ADDRESS, "prolific_token": TOKEN, "prolific_url": fake.url, **more}
    return [one.level for one in check_prolific(Deployment(settings_for(folder, **given), (study,)))]


def with_another_webhook(fake: FakeProlific) -> None:
    for one in fake.hooks.values():
        one["event_type"] = "study.status.change"


def without_a_code(fake: FakeProlific) -> None:
    for one in fake.studies.values():
        one["completion_codes"].pop()


@pytest.mark.parametrize(
    ("broken", "levels"),
    [
        (lambda _: None, ["ok", "ok", "ok"]),
        (lambda fake: setattr(fake, "available", 0), ["ok", "warning", "ok"]),
        (lambda fake: fake.hooks.clear(), ["ok", "ok", "warning", "ok"]),
        (with_another_webhook, ["ok", "ok", "warning", "ok"]),
        (without_a_code, ["ok", "ok", "problem"]),
    ],
    ids=["nothing", "balance", "webhook", "webhook of another kind", "codes"],
)
def test_each_is_found(fake: FakeProlific, tmp_path: Path, broken: Break, levels: list[str]) -> None:
    assert found(fake, tmp_path, broken) == levels
    assert len(fake.changes) == 4, "the doctor changes nothing"


def test_a_foreign_workspace_and_a_wrong_token_are_found(fake: FakeProlific, tmp_path: Path) -> None:
    assert found(fake, tmp_path, prolific_workspaces=f"{WORKSPACE}, another") == ["ok", "ok", "problem", "ok"]
    with pytest.raises(RecruiterDenied):
        found(fake, tmp_path, prolific_token="wrong")
