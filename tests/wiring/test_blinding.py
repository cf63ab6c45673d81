"""The blinding report over real sessions: whose replies told who wrote them, and whose guesses were right."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Iterator, Mapping
from pathlib import Path

import pytest

from app.backends.base import Backend, Delta, Request, StreamEnd, TextDelta, system_of
from app.clock import VirtualClock
from app.errors import BackendRejected
from storage.reports.blinding import Blinding, GuessCount, blinding
from tests.fakes.backends import registered
from tests.fakes.sitting import Sitting

pytestmark = pytest.mark.anyio
LABELS = {"gpt": "ChatGPT", "claude": "Claude", "open": "An open model"}
TRUTH = {"alpha": "gpt", "beta": "claude", "gone": "open"}
ASK = {"step": "guess", "options": LABELS, "truth": TRUTH}


class Leaky(Backend):
    """A backend whose models tell who they are when they are told to; the model `gone` never replies."""

    async def stream(self, request: Request) -> AsyncGenerator[Delta]:
        if request.model == "gone":
            raise BackendRejected("no such model", reason="status_404")
        yield TextDelta("I am ChatGPT, made by OpenAI." if "Boast" in system_of(request.messages) else "Let us see.")
        yield StreamEnd("stop", request.model, 1, 1)


@pytest.fixture(scope="module", autouse=True)
def _leaky() -> Iterator[None]:
    with registered("leaky", Leaky):
        yield


class Blinded(Sitting):
    """Somebody who takes part, and guesses as they are told."""

    async def guess(self, key: str) -> None:
        shown = repr(self.live.screen)
        assert not any(word in shown for word in (*TRUTH, *(f"'{key}'" for key in LABELS), "truth"))
        words = {**LABELS, "unsure": "I do not know"}
        (asked,) = self.live.screen.panel.fields
        letters = {label: letter for letter, label in asked.options.items()}  # type: ignore[attr-defined]
        await self.click("submit", guess=letters[words[key]])

    async def walk(self, keys: tuple[str, str, str]) -> None:
        """The whole study, with a talk of two messages before the first guess and none before the second."""
        await self.click("say", text="Hello")
        await self.click("say", text="And?")
        await self.click("submit")
        await self.guess(keys[0])
        await self.click("submit")
        await self.guess(keys[1])
        await self.click("say", text="Both of you?")
        await self.click("vote", winner="tie")
        await self.click("submit")
        await self.guess(keys[2])


def blind(folder: Path) -> Blinded:
    """A talk and a guess in a loop, two models side by side, and a guess at the end."""
    system = {"by": "tone", "pick": {"loud": "Boast.", "quiet": "Hush."}}
    raw = {
        "study": "blind",
        "title": "Blind",
        "problems": {"questions": {"source": "chatbench"}},
        "models": {
            "alpha": {"backend": "leaky", "system": system},
            "beta": {"backend": "leaky", "system": ""},
            "gone": {"backend": "leaky", "system": system, "fallback": ["beta"]},
        },
        "factors": {"tone": ["loud", "quiet"], "model": ["alpha", "gone"]},
        "flow": [
            {"each": "question", "of": "questions", "take": 2, "flow": [{"step": "chat"}, ASK]},
            {"step": "compare", "models": ["alpha", "beta"]},
            {**ASK, "id": "at_end"},
            {"step": "finish"},
        ],
    }
    return Blinded(folder, raw, VirtualClock(0))


PLANS = (
    ("gpt", "open", "claude"),
    ("claude", "unsure", "gpt"),
    ("open", "gpt", "open"),
    ("unsure", "claude", "unsure"),
)


async def taken_part(blinded: Blinded, count: int) -> list[Mapping[str, str]]:
    """Sessions that guess by PLANS in turn; the factors of each."""
    found = []
    for number in range(count):
        found.append((await blinded.begin(f"person{number}")).live.state.factors)
        await blinded.walk(PLANS[number % len(PLANS)])
    return found


def row(report: Blinding, step: str, by: str = "", value: str = "") -> GuessCount:
    (found,) = [row for row in report.guesses if (row.step, row.by, row.value) == (step, by, value)]
    return found


async def test_replies_and_guesses_are_counted_by_condition(tmp_path: Path) -> None:
    async with blind(tmp_path) as blinded:
        drawn = await taken_part(blinded, 12)
        report = blinding(blinded.database, "blind")
    assert (report.origin, report.sessions) == ("person", 12)

    loud = [one for one in drawn if one["tone"] == "loud"]
    told = {model: sum(one["model"] == model for one in loud) for model in ("alpha", "gone")}
    ours = sum(one["model"] == "alpha" for one in drawn)
    leaks = {(x.model, x.by, x.value): x for x in report.leaks}
    assert {model for model, _, _ in leaks} == {"alpha", "beta"}, "who really replied; `gone` never did"
    alpha, beta = leaks["alpha", "", ""], leaks["beta", "", ""]
    assert (alpha.replies, beta.replies) == (12 + 2 * ours, 12 + 2 * (12 - ours))
    assert alpha.flagged == leaks["alpha", "tone", "loud"].flagged == len(loud) + 2 * told["alpha"]
    assert beta.flagged == 2 * told["gone"], "a fallback is given the prompt of the model in whose place it replies"
    assert leaks["alpha", "tone", "quiet"].share == 0
    assert alpha.words == {"ChatGPT": alpha.flagged, "OpenAI": alpha.flagged}
    assert ("alpha", "model", "alpha") not in leaks

    first = [PLANS[n % 4][0] for n in range(12)]
    truth = ["gpt" if one["model"] == "alpha" else "claude" for one in drawn]
    end = row(report, "at_end")
    assert (end.number, end.right, end.wrong, end.unsure) == (12, 6, 3, 3)
    assert end.chance == pytest.approx(2 / 3), "two of three options are true of the two that replied"
    assert end.share == pytest.approx(6 / 9)
    loop = row(report, "question/guess")
    assert loop.number == 24
    assert loop.nobody == 12, "in the second turn nobody had replied"
    assert loop.right == sum(a == b for a, b in zip(first, truth, strict=True))
    assert loop.unsure == 3
    assert loop.chance == pytest.approx(1 / 3)
    assert loop.given == Counter(key for n in range(12) for key in PLANS[n % 4][:2])
    of_alpha = row(report, "question/guess", "who replied", "alpha")
    assert of_alpha.number == ours
    assert row(report, "at_end", "who replied", "alpha + beta").number == 12
    assert sum(row(report, "at_end", "tone", tone).number for tone in ("loud", "quiet")) == 12
