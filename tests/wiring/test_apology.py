"""What participants read where the server fails, and what the log tells of it."""

from __future__ import annotations

import logging

import pytest

from app.web.server import APOLOGY, BROKEN
from experiments.session.state import Location
from experiments.steps.survey import SurveyStep
from experiments.study.screen import Panel
from storage.errors import StorageError
from tests.fakes.http_bot import HttpBot

pytestmark = pytest.mark.anyio


FAULTS = pytest.mark.parametrize(
    ("error", "said", "told"),
    [
        (ZeroDivisionError("by none"), BROKEN, "ZeroDivisionError: by none"),
        (StorageError("the disk is full"), APOLOGY, "the disk is full"),
    ],
    ids=["a fault of the code", "a disk"],
)


@FAULTS
async def test_a_screen_that_fails_is_told_calmly_and_with_its_session(
    error: Exception,
    said: str,
    told: str,
    bot: HttpBot,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(self: SurveyStep, place: Location) -> Panel:
        raise error

    monkeypatch.setattr(SurveyStep, "panel", fail)
    with caplog.at_level(logging.ERROR):
        response = await bot.send("POST", "/api/act", bot.intend("submit", {"agreed": "on"}).body)
    assert response.status_code == 503
    note, _, reference = response.json()["note"].rpartition(" ")
    assert note == said
    ours = [one.getMessage() for one in caplog.records if one.name == "app.web.server"]
    assert ours == [f"POST /api/act, session {bot.stream}: {told} [{reference.strip('()')}]"]
    assert "Traceback" not in response.text
