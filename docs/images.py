"""The guides' pictures: PNG with a palette, which a page loads fast."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

from PIL import Image

FOLDER = Path(__file__).parent / "images"
LARGEST_BYTES = 150_000


def keep(png: bytes, name: str) -> None:
    """Save a screenshot under a name; raises ValueError if it is too large for a page."""
    path = FOLDER / f"{name}.png"
    Image.open(BytesIO(png)).convert("RGB").quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)
    if path.stat().st_size > LARGEST_BYTES:
        raise ValueError(f"{path}: {path.stat().st_size} bytes, more than {LARGEST_BYTES}; show less of the page")
