"""A release of ChatBench in three parts, each exported from a study of its own."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from storage.datasets.exports.exporter import export
from storage.datasets.exports.plan import ExportRequest
from storage.db.engine import Database
from storage.schemas.chatbench import PARTS
from tests.fakes.databases import fill
from tests.fakes.once import database_of

FULL, FIRST, SECOND = PARTS
# The simulated participants of each part.
SIZES = {FULL: 4, FIRST: 3, SECOND: 2}


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("release")
    for part, size in SIZES.items():

        def fill_part(database: Database, part: str = part, size: int = size) -> None:
            asyncio.run(fill(database, ["chatbench"], size, part))

        own = database_of(tmp_path_factory, part, fill_part)
        export(own, ExportRequest("chatbench", "chatbench", part=part), folder / part)
    return folder
