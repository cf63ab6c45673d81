"""Links to preview and pilot a study: for whom nothing is missing, and what the bare address explains to others."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest

from app.session.signed_links import TRIALS_LAST_S, Trial, TrialLinks
from app.studies.loader import read_yaml
from storage.registers.study_status import set_status
from tests.fakes import studies
from tests.fakes.http_bot import HttpBot
from tests.fakes.served import SECRET, Served, serving, settings_for
from tests.wiring.reading import query

pytestmark = pytest.mark.anyio


@pytest.fixture
async def prolific(tmp_path: Path) -> AsyncIterator[Served]:
    """A server whose only study takes nobody but Prolific's participants."""
    async with serving(settings_for(tmp_path), for_prolific(tmp_path)) as served:
        yield served


def for_prolific(folder: Path) -> Path:
    return studies.write(folder, {**read_yaml(studies.chat(folder)), "recruitment": {"channels": ["prolific"]}})


def search(trial: Trial, study: str = "talk", secret: str = SECRET) -> str:
    return "?" + TrialLinks(secret).link(trial, study, "").partition("?")[2]


@pytest.mark.parametrize("state", ["", "paused", "closed"])
@pytest.mark.parametrize("trial", TRIALS_LAST_S)
async def test_a_trial_needs_no_recruiter_and_is_a_pilot(prolific: Served, trial: Trial, state: str) -> None:
    if state:
        set_status(prolific.database, "talk", state, {"why": "test"}, by="researcher", at_us=1)  # type: ignore[arg-type]
    async with HttpBot(prolific.url, "researcher") as bot:
        await bot.arrive("talk", search(trial))
        await bot.finish()
    assert query(prolific.database, "SELECT origin FROM session") == [("pilot",)]


async def test_a_pilot_is_continued_and_a_preview_begins_anew(prolific: Served) -> None:
    async with HttpBot(prolific.url, "colleague") as bot:
        streams = {}
        for trial in TRIALS_LAST_S:
            for turn in range(2):
                await bot.arrive("talk", search(trial))
                streams[trial, turn] = bot.stream
        assert streams["pilot", 0] == streams["pilot", 1]
        assert len(set(streams.values())) == 3
        await bot.arrive("talk", "?PROLIFIC_PID=abc123")
        assert bot.stream not in streams.values(), "a trial does not keep the browser from taking part"


async def test_a_link_that_is_expired_or_of_another_study_starts_nothing(
    prolific: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = search("pilot")
    wrong = [
        search("preview", "other"),
        search("pilot", secret="another secret of thirty-two chars"),
        "?parley_pilot=x",
    ]
    wrong.append(search("preview").replace("preview=", "pilot="))
    async with httpx2.AsyncClient(base_url=prolific.url, timeout=60) as client:
        assert (await client.get(f"/s/talk{late}")).status_code == 200
        assert [(await client.get(f"/s/talk{link}")).status_code for link in wrong] == [403] * len(wrong)
        later = time.time() + TRIALS_LAST_S["pilot"] + 1
        monkeypatch.setattr("itsdangerous.timed.time.time", lambda: later)
        assert (await client.get(f"/s/talk{late}")).status_code == 403
