"""The analysis by the one importable name."""

import re
from importlib import import_module
from pathlib import Path

import pytest

from storage.errors import StorageError


def test_a_database_that_is_not_there_is_refused_and_not_made(tmp_path: Path) -> None:
    file = tmp_path / "nope.db"
    with pytest.raises(StorageError, match=f"There is no database {re.escape(str(file))}.*open_database"):
        import_module("parley_studies.analysis").open_database(f"sqlite:///{file}")
    assert not file.exists()
