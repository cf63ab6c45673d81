"""Metadata of pictures never reach participants; what is shown stays, to the pixel."""

from __future__ import annotations

import struct
from io import BytesIO
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from PIL import Image, ImageOps
from PIL.PngImagePlugin import PngInfo

from problems.errors import ProblemError
from problems.pictures import TYPES, picture_from_bytes
from tests.fakes.pictures import FORMATS, drawn

SECRET = "Ada Lovelace, 51.5007 N, SN 4711"
XMP = f'<x:xmpmeta xmlns:x="adobe:ns:meta/"><dc:creator>{SECRET}</dc:creator></x:xmpmeta>'.encode()
PROFILE = b"a profile of colours"
ORIENTATION = 0x0112


def exif(orientation: int = 1) -> Image.Exif:
    made = Image.Exif()
    made[0x010F] = made[0x0110] = made[0x013B] = made[0x8298] = SECRET
    made[ORIENTATION] = orientation
    made.get_ifd(0x8825).update({1: "N", 2: (51.0, 30.0, 2.5), 3: "W", 29: SECRET})
    made.get_ifd(0x8769).update({0x9003: "2026:01:02 03:04:05", 0xA431: SECRET})
    return made


def photo(format_: str, orientation: int = 1) -> bytes:
    image = Image.open(BytesIO(drawn(48, 32))).convert("RGB")
    text, out = PngInfo(), BytesIO()
    text.add_text("Author", SECRET)
    text.add_itxt("XML:com.adobe.xmp", XMP.decode(), zip=True)
    options: dict[str, dict[str, Any]] = {
        "PNG": {"pnginfo": text, "exif": exif(orientation), "icc_profile": PROFILE},
        "JPEG": {"exif": exif(orientation), "xmp": XMP, "comment": SECRET, "icc_profile": PROFILE, "progressive": True},
        "WEBP": {"exif": exif(orientation), "xmp": XMP, "icc_profile": PROFILE},
        "GIF": {"comment": SECRET, "save_all": True, "append_images": [ImageOps.mirror(image)], "loop": 3},
    }
    image.save(out, format_, **options[format_])
    content = out.getvalue()
    if format_ == "JPEG":
        iptc = b"Photoshop 3.0\0" + SECRET.encode()
        content = content[:2] + b"\xff\xed" + struct.pack(">H", len(iptc) + 2) + iptc + content[2:]
        return content + drawn(format_="JPEG") + SECRET.encode()  # as phones append a second picture or a film
    if format_ == "GIF":
        data = b"!\xff\x0bXMP DataXMP" + bytes([len(XMP)]) + XMP + b"\0"
        at = content.index(b"!\xff\x0bNETSCAPE2.0")
        return content[:at] + data + content[at:] + SECRET.encode()
    return content + SECRET.encode() if format_ == "PNG" else content


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("orientation", [1, 3, 6])
def test_metadata_are_removed_and_all_that_is_shown_stays(format_: str, orientation: int) -> None:
    before = photo(format_, orientation)
    assert SECRET.encode() in before
    picture, content = picture_from_bytes(before, "a")
    assert SECRET.encode() not in content
    assert b"xmp" not in content.lower()
    assert picture.type == TYPES[format_]
    with Image.open(BytesIO(before)) as old, Image.open(BytesIO(content)) as new:
        turned = format_ != "GIF" and orientation != 1
        assert dict(new.getexif()) == ({ORIENTATION: orientation} if turned else {})
        assert ImageOps.exif_transpose(new).size == (picture.width, picture.height)
        assert new.info.get("icc_profile") == old.info.get("icc_profile")
        assert (new.format, new.info.get("loop")) == (format_, old.info.get("loop"))
        assert getattr(new, "n_frames", 1) == (2 if format_ == "GIF" else 1)
        for frame in range(getattr(new, "n_frames", 1)):
            old.seek(frame)
            new.seek(frame)
            assert old.convert("RGBA").tobytes() == new.convert("RGBA").tobytes()
    assert picture_from_bytes(content, "a") == (picture, content), "there is nothing more to remove"


@given(st.sampled_from(FORMATS), st.integers(0, 3000), st.binary(min_size=1, max_size=3))
@example("JPEG", 5, b"\0")  # a segment shorter than its own length: nobody knows where the next one begins
def test_a_damaged_picture_is_shown_or_refused_in_words(format_: str, at: int, put: bytes) -> None:
    whole = photo(format_, 6)
    at %= len(whole)
    for content in (whole[:at], whole[:at] + put + whole[at + len(put) :]):
        try:
            taken = picture_from_bytes(content, "a")
        except ProblemError:
            continue
        assert picture_from_bytes(taken[1], "a") == taken
