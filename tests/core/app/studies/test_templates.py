"""One's own studies as templates: a copy has the files of its draft; a draft of a published study is that study."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.studies.drafts import Drafts, check_text
from app.studies.loader import FILE, load_study, shipped
from app.studies.templates import copy_draft, draft_of
from experiments.study.resolve import restore
from experiments.study.study import Study
from storage.registers.studies import StoredPicture

NONE: dict[str, StoredPicture] = {}
OWN = """# of Ada
study: sums
title: Sums
version: 4
languages: [en, de]
translations: {de: words.yaml}
problems:
  numbers: {path: numbers.csv, groups: {tag: batch, within: topic, size: 1}}
  few: {items: [{question: Why?, topic: x}]}
models: {tutor: {backend: scripted}}
flow:
  - {each: question, of: numbers, do: own}
  - {step: finish}
"""
CSV = "question,a,b,answer,topic\nWas ist 1 + 1?,2,3,A,x\n\u2028Was ist 2 + 2?,4,5,A,x\n"


@pytest.fixture
def drafts(tmp_path: Path) -> Drafts:
    """Drafts, one of which has a file of items, one of words and a protocol."""
    folder = tmp_path / "sums"
    (folder / "protocols").mkdir(parents=True)
    files = {
        FILE: OWN,
        "numbers.csv": CSV,
        "words.yaml": "Sums: Summen\n",
        "protocols/own.yaml": "protocol: own\nflow: [{step: answer, text: Answer.}]\n",
        ".hidden": "x",
    }
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return Drafts(tmp_path)


def study_of(drafts: Drafts, name: str) -> Study:
    checked = check_text(drafts.text(name), drafts.folder(name))
    assert checked.study is not None, checked.faults
    return checked.study


def same_but_named(one: Study, other: Study) -> bool:
    told = [json.loads(study.document) | {"file": None} for study in (one, other)]
    files = [study.file.model_copy(update={"study": "", "version": 1, "problems": {}}) for study in (one, other)]
    return told[0] == told[1] and files[0] == files[1]


def test_a_copy_of_a_draft_has_its_files_and_its_comments(drafts: Drafts) -> None:
    copy_draft(drafts, "other", "sums")
    assert drafts.text("other") == OWN.replace("study: sums", "study: other").replace("version: 4", "version: 1")
    assert same_but_named(study_of(drafts, "other"), study_of(drafts, "sums"))
    assert not (drafts.folder("other") / ".hidden").exists()
    (drafts.folder("other") / "numbers.csv").write_text("question\nNew?\n", encoding="utf-8")
    assert len(study_of(drafts, "sums").pools["numbers"]) == 2, "a change of the copy changes nothing else"


def test_a_draft_of_a_published_study_needs_no_file_of_it(drafts: Drafts, tmp_path: Path) -> None:
    published = restore(study_of(drafts, "sums").document)
    others = Drafts(tmp_path / "elsewhere")
    for name, version in (("other", 1), ("sums", 4)):
        draft_of(others, name, published, NONE.get)
        made = study_of(others, name)
        assert (made.name, made.file.version) == (name, version)
        assert same_but_named(made, published)
        assert made.pools == published.pools


@pytest.mark.parametrize("name", shipped())
def test_a_draft_of_a_study_that_comes_with_parley_is_the_same_study(name: str, tmp_path: Path) -> None:
    published = restore(load_study(name).document)
    drafts = Drafts(tmp_path)
    draft_of(drafts, name, published, NONE.get)
    assert study_of(drafts, name).hash == published.hash


def test_a_draft_of_a_published_study_has_the_instruments_that_are_its_own(drafts: Drafts) -> None:
    folder = drafts.folder("sums")
    (folder / "instruments").mkdir()
    own = "instrument: own\ntitle: Own\nsource: x\nlicence: x\nlicence_url: x\nscale: {minimum: 1, maximum: 5}\n"
    own += "items: [{id: a, text: A}]\nscores: [{name: s}]\n"
    (folder / "instruments" / "own.yaml").write_text(own, encoding="utf-8")
    asks = "flow:\n  - {step: survey, questions: [{instrument: own}, {instrument: sus}]}\n"
    (folder / FILE).write_text(OWN.replace("flow:\n", asks), encoding="utf-8")
    published = restore(study_of(drafts, "sums").document)
    draft_of(drafts, "again", published, NONE.get)
    assert [path.name for path in (drafts.folder("again") / "instruments").iterdir()] == ["own.yaml"]
    assert same_but_named(study_of(drafts, "again"), published)
