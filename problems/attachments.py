"""Pictures that people attach: encoded anew, so that nothing of a file remains but its look.

A photo is turned as its EXIF orientation says, made smaller where it is too large, and loses its metadata, its colour
profile, all frames but the first, and whatever stands behind its end.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256
from io import BytesIO
from typing import Any

from problems.errors import TooManyPixels, UnusablePicture
from problems.pictures import DAMAGED, MOST_BYTES, TYPES

# The largest picture that is read, in pixels: those of phones have up to 50 million.
MOST_AREA = 64_000_000
# The largest that is decoded at once: 4 bytes for each pixel. A JPEG is decoded at a half or less of its size.
MOST_DECODED = 25_000_000
JPEG_QUALITY = 88


@dataclass(frozen=True, slots=True)
class NewPicture:
    sha256: str
    type: str
    width: int
    height: int
    content: bytes = field(repr=False)

    @property
    def facts(self) -> dict[str, Any]:
        """All but the content, which events do not have; `bytes` is its size."""
        size = {"width": self.width, "height": self.height, "bytes": len(self.content)}
        return {"sha256": self.sha256, "type": self.type, **size}


def encoded_anew(content: bytes, max_side_px: int) -> NewPicture:
    """The picture in a file as PNG or JPEG, with at most `max_side_px` in width and height; raises UnusablePicture."""
    from PIL import Image, ImageOps  # slow to import, and few studies have pictures

    try:
        with Image.open(BytesIO(content), formats=("PNG", "JPEG", "GIF", "WEBP")) as image:
            if image.width * image.height > MOST_AREA:
                raise TooManyPixels("decoding it would take too much memory")
            photo = TYPES[str(image.format)] == "image/jpeg"
            image.draft("RGB", (max_side_px, max_side_px))
            if image.width * image.height > MOST_DECODED:
                raise TooManyPixels("decoding it would take too much memory")
            upright = ImageOps.exif_transpose(image)
            shown = upright.convert("RGBA" if upright.has_transparency_data else "RGB")
            shown.thumbnail((max_side_px, max_side_px), Image.Resampling.LANCZOS)
            return _encoded(shown, photo=photo)
    except Image.DecompressionBombError:
        raise TooManyPixels("decoding it would take too much memory") from None
    except DAMAGED as error:
        raise UnusablePicture("it is no PNG, JPEG, GIF or WebP file, or is damaged") from error


def _encoded(image: Any, *, photo: bool) -> NewPicture:
    """Encode as PNG, or as JPEG if it was one or would be too large; transparent parts are white there."""
    from PIL import Image

    clean = Image.new(image.mode, image.size)  # has nothing of the file but the pixels
    clean.paste(image)
    out = BytesIO()
    if not photo:
        clean.save(out, "PNG")
    if photo or out.tell() > MOST_BYTES:
        white = Image.new("RGB", clean.size, "white")
        white.paste(clean, mask=clean.getchannel("A") if clean.mode == "RGBA" else None)
        out, photo = BytesIO(), True
        white.save(out, "JPEG", quality=JPEG_QUALITY)
    content = out.getvalue()
    return NewPicture(sha256(content).hexdigest(), "image/jpeg" if photo else "image/png", *clean.size, content)
