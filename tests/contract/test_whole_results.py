"""The whole analysis of a study or release in a database: every finding can be had again by the code it gives."""

from __future__ import annotations

import asyncio
import shutil
from functools import cache
from pathlib import Path

import pytest

import app.analysis as notebook
from app.analysis.forest import forest
from app.analysis.results import NAMES, results
from storage.engine import Database
from storage.imports.importing import import_files
from storage.schemas.registry import schema
from tests.fakes.databases import fill
from tests.fakes.figures import pattern_of

PLAIN = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


def check(database: Database, study: str, origin: str) -> set[str]:
    """The findings' names, each with names, code and figure that hold."""
    found = results(database, study, origin, whole=True).findings
    quick = results(database, study, origin).findings
    assert {finding.name for finding in quick} < {finding.name for finding in found}
    known = {**vars(notebook), "database": database, "study": study, "origin": origin}
    given = cache(lambda code: eval(code, dict(known)))  # many findings are given by one code
    for finding in found:
        assert finding in given(finding.code), finding.name
        assert len(forest(finding).rows) == len(finding.estimates)
        for one in finding.estimates:
            assert len(pattern_of(one.name, NAMES)) == 1, one.name
            assert set(one.name) <= PLAIN, one.name
    names = [one.name for finding in found for one in finding.estimates]
    assert len(set(names)) == len(names)
    return {finding.name for finding in found}


@pytest.mark.parametrize("study", ["mathconverse", "arena"])
def test_a_studys_whole_analysis_can_be_had_again_by_its_code(database: Database, study: str) -> None:
    asyncio.run(fill(database, [study], 4, "1"))
    assert {name.split(".")[0] for name in check(database, study, "bot")} == {study}


def test_the_published_rows_are_analysed_after_their_import(database: Database, shared: Path, tmp_path: Path) -> None:
    for name, part in (("mathconverse", "mathconverse_part.csv"), ("taxonomy", "annotated_taxonomy_part.csv")):
        path = tmp_path / schema(name).tables[0].file
        shutil.copy(shared / part, path)
        import_files(database, name, [path], "old")
    found = check(database, "old", "import")
    assert {name for about in notebook.mathconverse.QUESTIONS.values() for name in about} <= found
