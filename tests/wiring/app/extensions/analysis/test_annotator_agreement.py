"""How far people agree with an annotator, by the command."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from app.studies.loader import load_study
from storage.db.engine import Database
from storage.reports.conversations import annotated_in, conversations
from tests.fakes.sitting import Sitting
from tests.wiring.test_annotating import BY_MODEL, LABELS, annotate, database, filled, judge

__all__ = ["database", "filled", "judge"]


async def _labelled(folder: Path, study_file: Path, answers: list[Any]) -> None:
    """People label: each session answers every conversation by what `answers` has for its rater."""
    async with Sitting(folder, load_study(str(study_file))) as labels:
        for answer in answers:
            await labels.begin("")
            while not (screen := labels.live.screen).ended:
                await labels.click(**{one.name: answer(one, screen) for one in screen.panel.fields})


def words_of(screen: Any) -> str:
    return " ".join(message.text for block in screen.panel.blocks if hasattr(block, "messages")
                    for message in block.messages)  # fmt: skip


def test_people_verify_a_random_sample_and_the_agreement_is_told(tmp_path: Path, database: Database) -> None:
    BY_MODEL["good"] = lambda prompt: json.dumps({"user_effort": LABELS[len(prompt) % 2]})
    annotate(tmp_path, "run", "talk", "--annotator", "user_effort", "--model", "judge:good")
    folder = tmp_path / "verify"
    annotate(tmp_path, "sample", "talk", "--annotator", "user_effort", "-n", "4", "--seed", "7", "-o", str(folder))
    told = annotated_in(database, "talk", "user_effort")
    said = {" ".join(message.text for message in one.said): told[one.stream, one.about].data["values"]["user_effort"]
            for one in conversations(database, "talk", "bot")}  # fmt: skip

    def agrees(field: Any, screen: Any) -> str:
        return str(said[words_of(screen)])

    def contradicts(field: Any, screen: Any) -> str:
        return "low effort"

    asyncio.run(_labelled(tmp_path, folder / "study.yaml", [agrees, agrees]))
    same = ("agreement", "talk", "--annotator", "user_effort", "--label-study", "verify-user_effort")
    found = json.loads(annotate(tmp_path, *same, "--json").stdout)["user_effort"]
    assert (found["n"], found["conversations"], found["raters"], found["agreement"]["value"]) == (8, 4, 2, 1.0)
    asyncio.run(_labelled(tmp_path, folder / "study.yaml", [contradicts, contradicts]))
    found = json.loads(annotate(tmp_path, *same, "--json").stdout)["user_effort"]
    assert (found["n"], found["raters"], found["agreement"]["value"]) == (16, 4, 0.5)
    assert found["people"]["value"] < 0.5
    told = annotate(tmp_path, *same).stdout
    low, high = (f"{found['agreement'][end]:.2f}" for end in ("low", "high"))
    assert (f"0.50 [{low}, {high}]" in told, told.count("user_effort")) == (True, 1)
