"""Pictures that people attach: what is kept of a file, and what is no picture."""

from __future__ import annotations

from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from problems.attachments import NewPicture, encoded_anew
from problems.errors import TooManyPixels
from tests.fakes.pictures import FORMATS, drawn, photo

SECRET = "zq_where_it_was_taken_qz"
SIDE = 64


def opened(picture: NewPicture) -> Image.Image:
    return Image.open(BytesIO(picture.content), formats=("PNG", "JPEG"))


@given(
    st.integers(1, 200),
    st.integers(1, 200),
    st.integers(0, 8),
    st.sampled_from((*FORMATS, "photo")),
    st.text("x", max_size=9),
)
def test_nothing_is_kept_but_what_it_looks_like(
    width: int, height: int, orientation: int, format_: str, behind: str
) -> None:
    taken = format_ == "photo"
    file = photo(width, height, SECRET, orientation) if taken else drawn(width, height, format_)
    found = encoded_anew(file + SECRET.encode() + behind.encode(), SIDE)
    assert SECRET.encode() not in found.content
    with opened(found) as image:
        assert (image.size, Image.MIME[str(image.format)]) == ((found.width, found.height), found.type)
        assert not image.getexif()
        assert not {"comment", "exif", "icc_profile", "XML:com.adobe.xmp"} & image.info.keys()
    turned = (height, width) if taken and orientation >= 5 else (width, height)
    scale = min(1, SIDE / max(turned))
    assert (found.width, found.height) == tuple(pytest.approx(max(1, side * scale), abs=1) for side in turned)
    assert max(found.width, found.height) <= SIDE
    assert encoded_anew(found.content, SIDE).type == found.type, "what comes out can come in"


def test_a_photo_stands_as_it_was_taken() -> None:
    """Turned to the right by a quarter, the dark left half is above."""
    with opened(encoded_anew(photo(40, 30, orientation=6), SIDE)) as image:
        assert image.size == (30, 40)
        assert image.convert("L").getpixel((15, 2)) < 60 < 200 < image.convert("L").getpixel((15, 37))


@pytest.mark.parametrize("side", [7_900, 8_900, 20_000])
def test_a_small_file_of_many_pixels_is_refused_before_it_is_decoded(side: int) -> None:
    out = BytesIO()
    Image.new("1", (side, side)).save(out, "PNG")
    assert len(out.getvalue()) < 100_000
    with pytest.raises(TooManyPixels):
        encoded_anew(out.getvalue(), SIDE)
