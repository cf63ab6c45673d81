"""Inspect's own writer and reader take the log of a simulated study, and its scorer the scores."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from app.extensions.evals.inspect import log_values, write_scores
from app.extensions.evals.samples import human_samples
from storage.datasets.exports.plan import ExportRequest
from tests.fakes.databases import fill
from tests.fakes.once import database_of
from tests.readers.conftest import RunReader

pytestmark = pytest.mark.nightly


def test_inspect_reads_the_log_and_the_scores(
    run_reader: RunReader, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    database = database_of(tmp_path_factory, "chatbench-2", lambda one: asyncio.run(fill(one, ["chatbench"], 2, "1")))
    samples = human_samples(database, ExportRequest("chatbench", "tidy"))
    values = log_values("chatbench", 1, samples, 1_764_000_000_000_000)
    (tmp_path / "values.json").write_text(json.dumps(values))
    files = dict(write_scores(samples, tmp_path))
    read, again = run_reader("read_inspect", tmp_path / "values.json", tmp_path / "answer.jsonl")
    assert read == again
    assert read["status"] == "success"
    said = {(one.problem.id, one.epoch): [event.data["text"] for event in one.messages] for one in samples}
    found = {(one["id"], one["epoch"]): [said["content"] for said in one["messages"]] for one in read["samples"]}
    assert found == said
    assert files[tmp_path / "answer.jsonl"] == sum("answer" in one.answers for one in samples)
