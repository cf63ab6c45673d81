"""Pictures in texts: what is one and what is not, where they may lie, and what a study says of those it cannot show."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from app.ai_alone.plan import AiAloneRequest, cells
from app.rendering import markdown
from app.studies.loader import load_study
from experiments.errors import StudyError
from experiments.study.checks.lint import advice
from experiments.study.study import Study
from problems.errors import ProblemError
from problems.pictures import (
    MOST_BYTES,
    MOST_PIXELS,
    TYPES,
    Picture,
    PictureMap,
    described,
    embeds,
    read_picture,
)
from storage.yaml_text import yaml_text
from tests.fakes import pictures
from tests.fakes.pictures import FORMATS, drawn, uri


@pytest.mark.parametrize("format_", FORMATS)
def test_a_picture_is_what_its_bytes_say_whatever_its_name(tmp_path: Path, format_: str) -> None:
    (tmp_path / "chart.txt").write_bytes(drawn(30, 20, format_))
    found, content = read_picture("chart.txt", [tmp_path])
    assert (found.type, found.width, found.height) == (TYPES[format_], 30, 20)
    assert read_picture(uri(content, "image/png"), []) == (found, content)


NOT_SHOWN: dict[str, bytes] = {
    "svg": b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>',
    "pdf": b"%PDF-1.7\n",
    "sound": b"RIFF\x24\0\0\0WAVEfmt ",
    "video": b"\0\0\0\x18ftypmp42",
    "html": b"<!doctype html><p>no",
    "empty": b"",
    "large": b"\x89PNG\r\n\x1a\n" + bytes(MOST_BYTES),
    "cut": drawn()[:200],
    "wide": drawn(MOST_PIXELS + 1, 1),
}


@pytest.mark.parametrize("kind", NOT_SHOWN)
def test_what_is_no_picture_that_can_be_shown_is_refused(tmp_path: Path, kind: str) -> None:
    (tmp_path / "chart.png").write_bytes(NOT_SHOWN[kind])
    with pytest.raises(ProblemError, match=r"chart\.png"):
        read_picture("chart.png", [tmp_path])


def test_no_path_leaves_the_folder(tmp_path: Path) -> None:
    inside = tmp_path / "study"
    (inside / "sub").mkdir(parents=True)
    (tmp_path / "secret.png").write_bytes(drawn())
    (inside / "here.png").write_bytes(drawn())
    (inside / "link.png").symlink_to(tmp_path / "secret.png")
    (inside / "out").symlink_to(tmp_path)
    (inside / "round.png").symlink_to(inside / "round.png")
    os.mkfifo(inside / "pipe.png")
    for name in (
        *("../secret.png", "sub/../../secret.png", "%2e%2e/secret.png", "link.png", "out/secret.png", "round.png"),
        *(str(tmp_path / "secret.png"), f"file://{tmp_path}/secret.png", "//host/a.png", "https://example.org/a.png"),
        *("pipe.png", "sub", "", ".", "\0", "a" * 300, "C:\\a.png", "{{x}}.png", "talk.mp3", "film.mp4", "paper.pdf"),
    ):
        with pytest.raises(ProblemError):
            read_picture(name, [inside])
    assert read_picture("sub/../here.png", [inside])[0] == read_picture("here.png", [inside])[0]
    assert read_picture("../here.png", [inside / "sub", inside])[0] == read_picture("here.png", [inside])[0]


ASKING = {
    "![a](x.png)": ["x.png"],
    "`![a](x.png)`": [],
    "    ![a](x.png)": [],
    "[![a](x.png)](https://example.org)": ["x.png"],
    "![a][r]\n\n[r]: x.png": [],
    '![a](<my chart.png> "title")': ["my%20chart.png"],
    "| a |\n|---|\n| ![a](x.png) |": ["x.png"],
    "![a [b]](x.png) ![c](y.png)": ["x.png", "y.png"],
    "n![k": [],
}


@pytest.mark.parametrize("text", ASKING)
def test_the_pictures_of_a_text_are_those_that_the_page_would_show(text: str) -> None:
    assert [one.source for one in embeds(text)] == ASKING[text]
    there = PictureMap({name: Picture("0" * 64, "image/png", 1, 1) for name in ("x.png", "y.png", "my%20chart.png")})
    assert markdown.html(text, pictures=there).count("<img ") == len(ASKING[text])


def test_a_model_reads_the_alternative_text_and_never_an_address() -> None:
    there = PictureMap({"x.png": Picture("0" * 64, "image/png", 1, 1)})
    assert described("See ![a [line]](x.png 'no') and `![b](y.png)`.", there) == "See ![a [line]] and `![b](y.png)`."


def found_in(folder: Path, text: str, **more: Any) -> list[str]:
    raw = {
        "study": "s",
        "title": "T",
        "flow": [{"step": "info", "text": text}, {"step": "finish", "code": "X"}],
        **more,
    }
    path = folder / "study.yaml"
    path.write_text(yaml_text(raw), encoding="utf-8")
    try:
        load_study(str(path))
    except StudyError as error:
        return [f"{one.where} {one.what}" for one in error.found]
    return []


def test_each_text_whose_picture_cannot_be_shown_is_an_error_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "chart.png").write_bytes(drawn())
    assert found_in(tmp_path, "![A chart](chart.png)") == []
    for text, word in {
        "![](chart.png)": "alternative text",
        "![  ](chart.png)": "alternative text",
        "![a](chart.jpg)": "chart.png",
        "![a](https://example.org/a.png)": "https://example.org/a.png",
        "![a](data:image/svg+xml;base64,PHN2Zz4=)": "data:image/svg+xml",
        "![a](data:image/png;base64,!!)": "data:image/png",
        '<img src="chart.png" alt="a">': "<img>",
    }.items():
        (error,) = found_in(tmp_path, text)
        assert error.startswith("flow[0].text ")
        assert word in error


def test_a_photo_that_says_more_than_it_shows_is_named_by_the_check(tmp_path: Path) -> None:
    (tmp_path / "drawn.png").write_bytes(drawn())
    (tmp_path / "turned.jpg").write_bytes(pictures.photo(orientation=6))
    (tmp_path / "photo.jpg").write_bytes(pictures.photo(40, 30, "51.5 N"))
    text = "![a](drawn.png) ![a](turned.jpg) ![a](photo.jpg)"
    assert found_in(tmp_path, text) == []
    study = load_study(str(tmp_path / "study.yaml"))
    assert [line for line in advice(study, None) if "EXIF" in line and "photo.jpg" in line]
    assert not [line for line in advice(study, None) if "drawn.png" in line or "turned.jpg" in line]
    assert study.pictures.by_key["turned.jpg"].width == 30


@pytest.fixture
def charts(tmp_path: Path) -> Study:
    return load_study(str(pictures.study(tmp_path)))


def test_a_model_alone_is_asked_with_the_alternative_text(charts: Study) -> None:
    for cell in cells(
        charts, AiAloneRequest(methods=("letter_only_zero_shot", "free_text"), repeats=1, extractor="tutor")
    ):
        sent = str(cell.next(()))
        assert "A line that falls from the left to the right" in sent
        assert "right-answer" not in sent
        assert "base64" not in sent
        assert cell.problem == charts.problem("q", "line")


def test_a_message_of_a_participant_or_a_model_shows_no_picture_of_the_study(charts: Study) -> None:
    assert "<img" not in markdown.render_message(pictures.ASKED, dollars=False)
