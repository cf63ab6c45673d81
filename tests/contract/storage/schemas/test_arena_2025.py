"""The arena's votes as released in 2025: sessions with numbered votes, and messages as lists of parts."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from storage.db.engine import Database
from tests.fakes.databases import export, fill
from tests.fakes.once import database_of

pytestmark = pytest.mark.nightly

Votes = list[dict[str, Any]]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Database:
    fill_it = lambda database: asyncio.run(fill(database, ["arena"], 12, "1"))  # noqa: E731
    return database_of(tmp_path_factory, "arena-votes", fill_it)


@pytest.fixture(scope="module")
def votes(filled: Database, tmp_path_factory: pytest.TempPathFactory) -> Votes:
    folder = tmp_path_factory.mktemp("votes")
    export(filled, "arena", "arena-2025", folder)
    return json.loads((folder / "arena_human_preference.json").read_bytes())


@pytest.fixture(scope="module")
def pairs(filled: Database, tmp_path_factory: pytest.TempPathFactory) -> Votes:
    """These votes in the form of 2023."""
    folder = tmp_path_factory.mktemp("pairs")
    export(filled, "arena", "arena", folder)
    return json.loads((folder / "arena_conversations.json").read_bytes())


def text(message: dict[str, Any]) -> str:
    (part,) = message["content"]
    assert part.keys() == {"type", "text", "image", "mimeType"}
    assert (part["type"], part["image"], part["mimeType"]) == ("text", None, None)
    return part["text"]


def test_votes_are_those_of_the_older_form(votes: Votes, pairs: Votes) -> None:
    assert len(votes) == len(pairs) > 0
    names = {"tie (bothbad)": "both_bad"}
    for vote, pair in zip(votes, pairs, strict=True):
        assert vote["winner"] == names.get(pair["winner"], pair["winner"])
        assert (vote["model_a"], vote["model_b"]) == (pair["model_a"], pair["model_b"])
        at = datetime.fromisoformat(vote["timestamp"]).replace(tzinfo=UTC)
        assert at.timestamp() == pytest.approx(pair["tstamp"], abs=1e-5)
        assert UUID(vote["id"]).version == UUID(vote["evaluation_session_id"]).version == 4
    assert len({vote["id"] for vote in votes}) == len(votes)


def test_votes_of_a_conversation_are_numbered_and_together_have_all_of_it(votes: Votes, pairs: Votes) -> None:
    sessions: dict[str, list[int]] = defaultdict(list)
    for number, vote in enumerate(votes):
        sessions[vote["evaluation_session_id"]].append(number)
    assert max(map(len, sessions.values())) > 1
    for numbers in sessions.values():
        assert [votes[number]["evaluation_order"] for number in numbers] == list(range(1, len(numbers) + 1))
        for side in "ab":
            told = [m for number in numbers for m in votes[number][f"conversation_{side}"]]
            whole = pairs[numbers[-1]][f"conversation_{side}"]
            assert [(m["role"], text(m)) for m in told] == [(m["role"], m["content"]) for m in whole]
            both = votes[numbers[-1]]["full_conversation"]
            replies = [text(one[f"model_side_{side}"]) for one in both]
            assert replies == [m["content"] for m in whole if m["role"] == "assistant"]
            assert [text(one["user"]) for one in both] == [m["content"] for m in whole if m["role"] == "user"]
