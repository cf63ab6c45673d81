"""Pictures in a draft's folder: kept only if a page can show them, under names that lead nowhere else."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from app.studies.picture_files import PictureFiles
from problems.errors import ProblemError
from problems.pictures import MOST_BYTES, MOST_PIXELS, read_picture
from tests.fakes.pictures import FORMATS, drawn


@pytest.mark.parametrize("format_", FORMATS)
def test_a_picture_is_kept_shown_replaced_and_removed(format_: str, tmp_path: Path) -> None:
    files = PictureFiles(tmp_path)
    picture = files.keep("Bild für alle.png", drawn(format_=format_))
    assert (picture, drawn(format_=format_)) == read_picture("Bild für alle.png", [tmp_path])
    assert stat.S_IMODE((tmp_path / "Bild für alle.png").stat().st_mode) == 0o600
    (one,) = files.all()
    assert (one.name, one.bytes, one.picture) == ("Bild für alle.png", len(drawn(format_=format_)), picture)
    assert one.preview.startswith("data:image/png;base64,")
    files.keep("Bild für alle.png", drawn(rising=True))
    (other,) = files.all()
    assert other.picture not in (None, picture)
    with pytest.raises(ProblemError, match="texts show"):
        files.remove("Bild für alle.png", ["Bild%20f%C3%BCr%20alle.png"])
    with pytest.raises(ProblemError, match="texts show"):
        files.remove("Bild für alle.png", ["./Bild für alle.png"])
    files.remove("Bild für alle.png", ["charts/Bild für alle.png"])
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ProblemError, match="no picture"):
        files.remove("Bild für alle.png", [])


REFUSED = [
    ("a.png", b"<svg xmlns='http://www.w3.org/2000/svg'/>", "no picture"),
    ("a.png", drawn()[:200], "damaged"),
    ("a.png", b"\x89PNG\r\n\x1a\n" + bytes(MOST_BYTES), "at most"),
    ("a.png", drawn(MOST_PIXELS + 1, 1), "pixels"),
    ("a.svg", drawn(), r"allowed: \.png"),
    ("study.yaml", drawn(), r"allowed: \.png"),
    *((name, drawn(), "not a name for a file") for name in ("", ".png", "../a.png", "a/b.png", "\\a.png", "a\0.png")),
]


@pytest.mark.parametrize(("name", "content", "says"), REFUSED)
def test_what_cannot_be_shown_leaves_the_picture_before(name: str, content: bytes, says: str, tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(drawn())
    with pytest.raises(ProblemError, match=says) as refused:
        PictureFiles(tmp_path).keep(name, content)
    assert str(tmp_path) not in str(refused.value)
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [drawn()]
