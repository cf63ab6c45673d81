"""Drafts: made from templates, kept in their folder, checked as one types with the line of each fault."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest

from app.bots.dry_run import estimate_by_simulation
from app.studies.drafts import LARGEST_BYTES, Drafts, check_text
from app.studies.loader import FILE, load_study, shipped
from experiments.errors import StudyError

TEXT = """
study: small
title: Small
problems:
  mine: {source: jsonl, path: mine.jsonl}
models:
  gpt-4.1: {backend: scripted, temperature: 0.5}
flow:
  - {step: consent, text: Agree.}
  - step: survey
    questions:
      - type: single_choice
        name: colour
        options: [red, blue]
  - each: one
    of: mine
    do: user-alone
  - step: finish
"""
PROBLEM = '{"id": "a", "text": "What is 1?", "answer": "A", "options": [{"key": "A", "text": "1"}]}\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine.jsonl").write_text(PROBLEM, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("template", shipped())
def test_a_study_made_from_a_template_can_be_checked_and_simulated(
    template: str, tmp_path: Path, seed: int, soak: bool
) -> None:
    kept = Drafts(tmp_path / "studies")
    kept.create("my-own", template)
    told = check_text(kept.text("my-own"), kept.folder("my-own"))
    assert (told.faults, told.study and told.study.name) == ((), "my-own")
    file = kept.folder("my-own") / FILE
    assert load_study(str(file)).hash == told.study.hash, "a text is read as its file is"
    if soak or template == random.Random(seed).choice(shipped()):
        assert asyncio.run(estimate_by_simulation(told.study, 2, 300)).typical_minutes > 0


@pytest.mark.parametrize("name", ["..", "../up", "a/b", "/etc", "", ".hidden", "a\nb", "a\n", "x" * 61, "1st", "a\0"])
def test_a_name_leads_nowhere_else(name: str, tmp_path: Path) -> None:
    kept = Drafts(tmp_path / "studies")
    acts = (kept.folder, kept.text, lambda name: kept.save(name, "x"), lambda name: kept.create(name, "demo"))
    for act in acts:
        with pytest.raises(StudyError, match="is not a name"):
            act(name)
    assert list(tmp_path.iterdir()) == []


def test_a_text_that_cannot_be_saved_leaves_the_one_before(tmp_path: Path) -> None:
    kept = Drafts(tmp_path)
    kept.create("mine", "demo")
    before = kept.text("mine")
    with pytest.raises(StudyError, match="at most"):
        kept.save("mine", "x" * (LARGEST_BYTES + 1))
    assert kept.text("mine") == before
    kept.save("mine", "a: \r\n\u2028ö\ud800\n")
    assert kept.text("mine") == "a: \n\u2028ö\ufffd\n"
    assert {path.name for path in kept.folder("mine").iterdir()} == {FILE, "demo.de.yaml", "demo.ar.yaml"}


def test_a_copy_of_a_draft_has_its_files_and_its_comments(folder: Path) -> None:
    drafts, written = Drafts(folder.parent), f"# of Ada\n{TEXT.strip()}\nversion: 4\n".replace("small", folder.name)
    (folder / FILE).write_text(written, encoding="utf-8")
    (folder / ".hidden").touch()
    drafts.copy("other", folder.name)
    copied = written.replace(f"study: {folder.name}", "study: other").replace("version: 4", "version: 1")
    assert drafts.text("other") == copied
    assert {path.name for path in drafts.folder("other").iterdir()} == {FILE, "mine.jsonl"}
    (drafts.folder("other") / "mine.jsonl").write_text("changed", encoding="utf-8")
    assert (folder / "mine.jsonl").read_text(encoding="utf-8") == PROBLEM


FAULTS = {
    "an unknown key": ("title: Small", "titel: Small", [(3, "titel"), (2, "title")]),
    "a key that is missing in a step": ("        options: [red, blue]\n", "", [(12, "flow[1].questions[0]")]),
    "a fault in a step": (
        "name: colour",
        "nam: colour",
        [(13, "flow[1].questions[0].nam"), (12, "flow[1].questions[0].name")],
    ),
    "a protocol that is not there": ("do: user-alone", "do: user-alnoe", [(17, "flow[2].do")]),
    "a file that is not there": ("mine.jsonl", "mien.jsonl", [(5, "problems.mine")]),
    "no YAML": ("title: Small", "title: Small: x", [(3, "")]),
    "a file elsewhere": ("mine.jsonl", "../mine.jsonl", [(5, "problems.mine.path")]),
    "a file of the server": ("mine.jsonl", "/etc/passwd", [(5, "problems.mine.path")]),
    "a translation elsewhere": ("title: Small", "title: S\ntranslations: {en: ../x.yaml}", [(4, "translations.en")]),
}


@pytest.mark.parametrize("case", FAULTS, ids=lambda case: case.replace(" ", "_"))
def test_a_fault_is_told_with_its_line(case: str, folder: Path) -> None:
    old, new, wanted = FAULTS[case]
    assert old in TEXT
    told = check_text(TEXT.replace(old, new), folder)
    assert told.study is None
    assert sorted((fault.line, fault.where) for fault in told.faults) == sorted(wanted)
