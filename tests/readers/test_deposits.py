"""What was deposited, downloaded again, loads with Hugging Face's `datasets`, from both repositories."""

from __future__ import annotations

import json
from pathlib import Path
from shutil import copytree

import pytest

from app.extensions.publishing.deposit import deposit
from app.extensions.publishing.export_folders import examine, open_export
from tests.fakes.repositories.deposited import FAKES, download, repository
from tests.readers.conftest import ExportOf, RunReader

pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module")
def folders(export_of: ExportOf, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """An export of simulated sessions, and its downloads by repository."""
    folder = tmp_path_factory.mktemp("deposits") / "data"
    copytree(export_of("chatbench", "chatbench"), folder)
    metadata = {"upload_type": "dataset", "title": "x", "description": "x", "creators": [{"name": "Lovelace, Ada"}]}
    (folder / ".zenodo.json").write_text(json.dumps(metadata), encoding="utf-8")  # as if the authors were known
    export, found = open_export(folder), {"export": folder}
    for name in FAKES:
        with repository(name) as there:
            deposit(export, examine(export), there.repository)
            found[name] = download(there.fake, tmp_path_factory.mktemp(name) / "data").path
    return found


def test_every_config_loads_with_the_rows_of_the_export(folders: dict[str, Path], run_reader: RunReader) -> None:
    loaded = run_reader("configs", *folders.values())
    wanted = loaded[str(folders["export"])]
    assert len(wanted["configs"]) > 2
    assert {name: loaded[str(folder)] == wanted for name, folder in folders.items()} == dict.fromkeys(folders, True)
