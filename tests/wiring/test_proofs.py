"""An id is not a proof: whoever only knows or counts ids finds nobody, sees nothing and erases nothing."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import studies
from tests.fakes.http_bot import HttpBot
from tests.fakes.served import Served, serving, settings_for
from tests.wiring.reading import facts, query

pytestmark = pytest.mark.anyio
LINKS = {"sona": "survey_code", "panel": "pid", "connect": "participantId", "prolific": "PROLIFIC_PID"}
VICTIM = 10437
TICKET = re.compile(r'name="ticket" value="[^"]*"')


def study(folder: Path, **keys: Any) -> Path:
    """Consent, a remark, the end; with what a test needs."""
    raw: dict[str, Any] = {
        "study": "small",
        "title": "Small",
        "flow": [
            {"step": "consent", "text": "Do you agree?"},
            {"step": "survey", "questions": [{"ask": "long", "name": "remark", "text": "What do you think?"}]},
            {"step": "survey", "id": "more", "questions": [{"ask": "long", "name": "more", "text": "And more?"}]},
            {"step": "finish", "code": "DONE"},
        ],
    }
    return studies.write(folder, raw | keys)


def sessions(served: Served) -> list[str]:
    return [row[0] for row in query(served.database, "SELECT stream FROM session ORDER BY ordinal")]


@pytest.mark.parametrize("again", ["resume", "refuse", "anew"])
@pytest.mark.parametrize("stands", ["under way", "finished", "withdrawn"])
@pytest.mark.parametrize("recruiter", LINKS)
async def test_a_stranger_who_tries_ids_learns_nothing_and_harms_nobody(
    tmp_path: Path, soak: bool, recruiter: str, stands: str, again: str
) -> None:
    path = study(tmp_path, recruitment={"by": [recruiter], "again": again})
    tried = range(10_000, 100_000) if soak else range(VICTIM - 20, VICTIM + 20)
    async with (
        serving(settings_for(tmp_path), path) as served,
        HttpBot(served.url, "victim", canary="my name is Jane Doe") as victim,
    ):
        await victim.arrive("small", f"?{LINKS[recruiter]}={VICTIM}")
        await victim.until(path="more")
        if stands == "finished":
            await victim.finish()
        if stands == "withdrawn":
            await victim.do("withdraw", {})
        before = facts(served.database, victim.stream)
        pages, answers = set[tuple[int, str, int]](), set[tuple[int, str, int]]()
        for number in tried:
            link = f"/s/small?{LINKS[recruiter]}={number}"
            async with HttpBot(served.url, f"{number}") as stranger:
                answer = await stranger.send("GET", link)
                pages.add((answer.status_code, TICKET.sub("", answer.text), len(answer.content)))
                if abs(number - VICTIM) > 5:
                    continue
                answer = await stranger.send("POST", link)
                answers.add((answer.status_code, answer.text, len(answer.headers["set-cookie"])))
                await stranger.look()
                assert stranger.stream != victim.stream
                await stranger.do("withdraw", {})
                assert b"Jane Doe" not in b"".join(stranger.heard)
        assert len(pages) == 1, "the page is the same, whoever has that id"
        assert len(answers) == 1, "and so is the answer to its button"
        assert facts(served.database, victim.stream) == before
        await victim.arrive("small", f"?{LINKS[recruiter]}={VICTIM}")
        assert victim.stream == sessions(served)[0], "the browser in which somebody began knows them"
        assert len(sessions(served)) == 12
