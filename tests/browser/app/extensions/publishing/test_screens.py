"""Pictures of a study's screens: of all, in both widths, shown by the document."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from app.extensions.publishing.screens import WIDTHS
from tests.fakes.commanding import parley

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("chromium"), pytest.mark.timeout(300), pytest.mark.nightly]

STUDY = """
study: tiny
title: Tiny
languages: [en, de]
recruitment: {channels: [prolific]}
factors: {arm: [alone, helped]}
translations: {de: {"Tiny": "Winzig", "Do you agree?": "Einverstanden?"}}
flow:
  - {step: consent, text: "Do you agree?"}
  - {step: info, text: "You get help.", when: {arm: helped}}
  - {step: finish, code: DONE}
"""
# In each width: consent, (info,) the end without consent, and the end; and the start page.
PICTURES = 3 + 4 + 1


def _pictures(folder: Path) -> set[Path]:
    """The pictures that the command has taken."""
    done = parley("privacy", "tiny.yaml", "-o", "papers", "--language", "de", folder=folder)
    assert done.returncode == 0, done.stderr
    assert sorted(file.name for file in folder.iterdir()) == ["papers", "tiny.yaml"], "no database was made"
    return set(folder.rglob("*.png"))


def test_every_screen_is_pictured_once_in_both_widths_and_shown_by_the_document(tmp_path: Path) -> None:
    (tmp_path / "tiny.yaml").write_text(STUDY, encoding="utf-8")
    first = _pictures(tmp_path)
    assert len(first) == PICTURES * len(WIDTHS)
    for file in first:
        with Image.open(file) as picture:
            assert picture.width == int(file.stem.rpartition("-")[2])
            assert len(picture.convert("RGB").getcolors(1_000_000) or range(99)) > 20, f"{file.name} is blank"
    document = (tmp_path / "papers" / "data-protection.md").read_text(encoding="utf-8")
    links = [part.partition(">")[0] for part in document.split("](<")[1:]]
    assert {tmp_path / "papers" / link for link in links} == first
    assert len(links) == len(first)
