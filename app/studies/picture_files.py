"""The pictures in a draft's folder, which a researcher uploads, replaces and removes.

A picture is kept only if participants' browsers can show it (`problems/pictures.py`), whatever its name.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from app.studies.draft_files import check_name, keep_file, names_in, version_of
from problems.errors import ProblemError
from problems.pictures import Picture, picture_from_bytes, read_picture

ENDINGS = (".png", ".jpg", ".jpeg", ".gif", ".webp")
MOST_PICTURES = 200
PREVIEW = 96


@dataclass(frozen=True, slots=True)
class PictureFile:
    """A picture in a draft's folder. `picture` is None and `fault` says why if participants could not be shown it."""

    name: str
    bytes: int
    picture: Picture | None = None
    preview: str = ""
    fault: str = ""


class PictureFiles:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def names(self) -> tuple[str, ...]:
        return names_in(self._folder, ENDINGS)

    def all(self) -> tuple[PictureFile, ...]:
        return tuple(_described(self._folder / name, version_of(self._folder / name)) for name in self.names())

    def keep(self, name: str, content: bytes) -> Picture:
        """Replace one of the same name; raises ProblemError, and keeps it, if this is not shown or too large."""
        check_name(name, ENDINGS, "picture that Parley shows")
        picture = picture_from_bytes(content, name)
        return keep_file(self._folder, name, content, ENDINGS, MOST_PICTURES, lambda _: picture)

    def remove(self, name: str, asked: Iterable[str]) -> None:
        """Raises ProblemError if it is among `asked`, the pictures that the study's texts ask for."""
        if name not in self.names():
            raise ProblemError(f"There is no picture {name!r} in this draft. Reload the page to see its files.")
        if name in {str(PurePosixPath(unquote(one))) for one in asked}:
            raise ProblemError(
                f"The study's texts show {name}. Take it out of them first, or upload a file of the same name to "
                "replace this one."
            )
        (self._folder / name).unlink()


@lru_cache(maxsize=2 * MOST_PICTURES)
def _described(path: Path, version: tuple[int, ...]) -> PictureFile:
    try:
        picture, content = read_picture(path.name, [path.parent])
    except ProblemError as error:
        return PictureFile(path.name, version[-1], fault=str(error))
    return PictureFile(path.name, version[-1], picture, _preview(content))


def _preview(content: bytes) -> str:
    from PIL import Image, ImageOps  # slow to import

    with Image.open(BytesIO(content)) as image:
        small = ImageOps.exif_transpose(image).convert("RGBA")
    small.thumbnail((PREVIEW, PREVIEW))
    out = BytesIO()
    small.save(out, "PNG")
    return f"data:image/png;base64,{b64encode(out.getvalue()).decode()}"
