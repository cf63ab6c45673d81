"""Pictures of a study's screens: of all, in both widths; and a run that was stopped goes on."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from PIL import Image

from app.bots.preview_session import offline
from app.privacy.screens import START, walk_every_arm
from app.privacy.screenshots import WIDTHS, file_of, picture_sessions, stage, take
from app.studies.loader import load_study
from tests.fakes.commanding import parley

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("chromium"), pytest.mark.timeout(300)]

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


def _takes(study: Path, folder: Path) -> list[str]:
    """The pictures that are taken, in a thread of its own: Playwright keeps an event loop running."""

    def work() -> list[str]:
        own = offline(load_study(str(study)))
        screens = [seen for arm in asyncio.run(walk_every_arm(own, "de")) for seen in arm.screens]
        with stage() as here:
            streams = asyncio.run(picture_sessions(here.database, own, screens))
            return sorted(file.name for file in take(here, own, streams, folder, "de"))

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(work).result()


def test_every_screen_is_pictured_once_in_both_widths(tmp_path: Path) -> None:
    study = tmp_path / "tiny.yaml"
    study.write_text(STUDY, encoding="utf-8")
    first = _takes(study, tmp_path)
    # consent, (info,) the end without consent, and the end; and the start page
    assert len(first) == (3 + 4 + 1) * len(WIDTHS)
    for name in first:
        with Image.open(tmp_path / name) as picture:
            assert picture.width == int(name.rpartition("-")[2].removesuffix(".png"))
            assert len(picture.convert("RGB").getcolors(1_000_000) or range(99)) > 20, f"{name} is blank"
    file_of(tmp_path, START, 390).unlink()
    assert _takes(study, tmp_path) == ["start-390.png"]
    assert not list(tmp_path.glob("*.part"))


def test_the_annex_shows_them(tmp_path: Path) -> None:
    (tmp_path / "tiny.yaml").write_text(STUDY, encoding="utf-8")
    done = parley("privacy", "tiny.yaml", "-o", "papers", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    annex = (tmp_path / "papers" / "irb-annex.md").read_text(encoding="utf-8")
    links = [part.partition(">")[0] for part in annex.split("](<")[1:]]
    assert len(links) == (3 + 4 + 1) * len(WIDTHS)
    assert all((tmp_path / "papers" / link).is_file() for link in links)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["papers", "tiny.yaml"], "no database was made"
