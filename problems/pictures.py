"""Pictures in texts: which ones a Markdown text asks for, and whether a file is one that a browser can show.

    ![A line that falls from 9 to 2](charts/line.png)

A picture is a file beside the study or its items, or a data URI. It is identified by its content, never by its name:
the bytes decide on the type, and their SHA-256 names the picture wherever it is stored or served. They are served as
they are; `has_metadata` finds photos with a place or a name in them.
"""

from __future__ import annotations

import base64
import binascii
import re
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import unquote

from cachetools import LRUCache, cached
from markdown_it import MarkdownIt

from problems.errors import ProblemError, did_you_mean
from problems.problem import Problem

# The largest picture. People on phones load it.
MOST_BYTES = 2_000_000
# The largest width and height; all browsers decode this, also on phones.
MOST_PIXELS = 4_096
TYPES: Mapping[str, str] = {
    "PNG": "image/png",
    "JPEG": "image/jpeg",
    "MPO": "image/jpeg",  # a JPEG of a phone, which holds a second one
    "GIF": "image/gif",
    "WEBP": "image/webp",
}
ALLOWED = "PNG, JPEG, GIF or WebP"
# The EXIF tag of the orientation, and its first value with width and height exchanged (EXIF 2.3, 4.6.4).
ORIENTATION, TURNED = 0x0112, 5
_DATA = re.compile(r"data:[\w-]+/[\w.+-]+(?:;[\w.=-]+)*,[\w+/=%.~-]*", re.IGNORECASE)
# A data URI where Markdown has the address of a picture or link; elsewhere it is a part of the text.
_DESTINATION = re.compile(rf"(\](?:\(|:)\s*<?)({_DATA.pattern})", re.IGNORECASE)
_KEY = re.compile(r"data-[0-9a-f]{64}")
_INLINE = re.compile(
    r"!\[((?:[^\[\]\\]|\\.|\[[^\[\]]*\])*)\]\(\s*(?:<([^<>\n]*)>|([^\s()<>]+))(?:\s+(?:\"[^\"]*\"|'[^']*'))?\s*\)"
)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
# What Pillow raises for damaged files.
DAMAGED = (
    *(ArithmeticError, AttributeError, EOFError, LookupError, MemoryError, NameError, OSError, RuntimeError),
    *(SyntaxError, TypeError, ValueError, Warning, struct.error, zlib.error),
)


@dataclass(frozen=True, slots=True)
class Picture:
    """A valid picture; width and height are those shown, in pixels."""

    sha256: str
    type: str
    width: int
    height: int

    def to_json(self) -> dict[str, object]:
        return asdict(self)


@dataclass(frozen=True, eq=False)
class PictureMap:
    """The pictures of a study by what its texts call them (`key_of`); compared by identity, for the keys of caches."""

    by_key: Mapping[str, Picture] = field(default_factory=dict)

    def find(self, key: str) -> Picture | None:
        return self.by_key.get(key)


@dataclass(frozen=True, slots=True)
class Embed:
    """A picture that a text asks for: its alternative text, and its path, address or data URI."""

    alt: str
    source: str


def shortened(text: str) -> str:
    """The text with the data URI of each picture replaced by its key: a picture has thousands of letters."""
    if "data:" not in text.lower():
        return text
    return _DESTINATION.sub(lambda match: f"{match[1]}{key_of(match[2])}", text)


def key_of(source: str) -> str:
    """The name of a picture in a study: its path as it is written, or a hash of its data URI."""
    return f"data-{sha256(source.encode()).hexdigest()}" if _DATA.fullmatch(source) else source


def described(text: str, pictures: PictureMap) -> str:
    """The text as models and simulated users read it: of these pictures only the alternative text, as `![text]`."""

    def alone(match: re.Match[str]) -> str:
        key = key_of(match[2] if match[2] is not None else match[3])
        return f"![{match[1]}]" if pictures.find(_MARKDOWN.normalizeLink(key)) else match[0]

    return shortened(_INLINE.sub(alone, text)) if pictures.by_key and "![" in text else text


def described_problem(problem: Problem, pictures: PictureMap) -> Problem:
    """The problem as a model that answers alone reads it."""
    if not pictures.by_key:
        return problem
    options = tuple(replace(option, plain=described(option.plain, pictures)) for option in problem.options)
    return replace(problem, plain=described(problem.plain, pictures), options=options)


def embeds(text: str) -> list[Embed]:
    """The pictures that a Markdown text asks for, in their order; none within code."""
    uris = {key_of(match[2]): match[2] for match in _DESTINATION.finditer(text)}
    tokens = _tokens(shortened(text)) if "![" in text else ()
    sources = ((token.content, str(token.attrs["src"])) for token in tokens if token.type == "image")
    return [Embed(alt, _KEY.sub(lambda key: uris.get(key[0], key[0]), source)) for alt, source in sources]


def is_picture(text: str) -> bool:
    """Return True if a Markdown text is one picture and nothing else."""
    return [token.type for token in _tokens(shortened(text))] == [
        "paragraph_open",
        "inline",
        "image",
        "paragraph_close",
    ]


def read_picture(source: str, folders: Sequence[Path]) -> tuple[Picture, bytes]:
    """The picture of a data URI, or of a path in the first of the folders that has it, and its bytes; raises
    ProblemError for what is no picture, is too large, or lies outside the folders."""
    if source[:5].lower() == "data:":
        content, name = _decoded(source), f"{source[:30]}..."
    else:
        name = unquote(source)
        content = _bytes(_file(source, folders), name)
    return picture_from_bytes(content, name), content


def has_metadata(content: bytes) -> bool:
    """Return True if a picture holds EXIF data other than its orientation, as photos do: place, time, camera."""
    from PIL import Image

    with Image.open(BytesIO(content)) as image:
        return bool(image.getexif().keys() - {ORIENTATION})


@cached(LRUCache(4_096), key=lambda content, name: sha256(content).digest(), lock=Lock())
def picture_from_bytes(content: bytes, name: str) -> Picture:
    """The picture that these bytes are; raises ProblemError. `name` is for the error."""
    if len(content) > MOST_BYTES:
        raise _too_large(len(content), name)
    from PIL import Image  # slow to import, and few studies have pictures

    try:
        with Image.open(BytesIO(content), formats=("PNG", "JPEG", "GIF", "WEBP")) as image:
            kind, (width, height) = TYPES[str(image.format)], image.size
            if max(width, height) > MOST_PIXELS:
                raise ProblemError(
                    f"{name!r} has {width} x {height} pixels; at most {MOST_PIXELS} x {MOST_PIXELS} are allowed. "
                    "Make it smaller"
                )
            image.load()
            if int(image.getexif().get(ORIENTATION, 1)) >= TURNED:
                width, height = height, width
    except (*DAMAGED, Image.DecompressionBombError) as error:
        raise _damaged(name) from error
    return Picture(sha256(content).hexdigest(), kind, width, height)


def _tokens(text: str) -> Iterator[Any]:
    """The tokens of a text, those within paragraphs too; code is one token of its own kind."""
    for token in _MARKDOWN.parse(text):
        yield token
        yield from token.children or ()


def _damaged(name: str) -> ProblemError:
    return ProblemError(f"{name!r} is damaged, or no picture that can be shown. Save it anew. Allowed: {ALLOWED}")


def _too_large(size: int, name: str) -> ProblemError:
    return ProblemError(
        f"{name!r} has {size:,} bytes; at most {MOST_BYTES:,} are allowed. Save it smaller, or as JPEG or WebP"
    )


def _decoded(uri: str) -> bytes:
    head, _, coded = uri.partition(",")
    name = f"{uri[:30]}..."
    if not head.lower().endswith(";base64"):
        raise ProblemError(f"{name!r} is not in base64. Write data:image/png;base64,... or put a file beside the study")
    try:
        return base64.b64decode(unquote(coded), validate=True)
    except (binascii.Error, ValueError) as error:
        raise ProblemError(f"{name!r} is not valid base64 ({error}). Put the file beside the study instead") from error


def _file(source: str, folders: Sequence[Path]) -> Path:
    name = unquote(source)
    if fault := _no_path(name):
        raise ProblemError(fault)
    roots, outside = [folder.resolve() for folder in folders], False
    for root in roots:
        try:
            found = (root / name).resolve()
            there = found.is_file()
        except (OSError, ValueError, RuntimeError):  # no name of a file, or links in a circle
            continue
        if there and any(found.is_relative_to(one) for one in roots):
            return found
        outside = outside or there
    if outside:
        raise ProblemError(f"{name!r} leads out of the study's folder; put the file there")
    hint = "Write `/` between folders" if "\\" in name else "Put it beside the study file or its items"
    raise ProblemError(f"there is no file {name!r}. {hint}.{_near(name, roots)}")


def _no_path(name: str) -> str:
    """The reason why a name is no path of a picture; empty if it may be one."""
    if "{{" in name:
        return f"{name!r} has a {{{{name}}}} in it; pictures are fixed. Write a text for each picture"
    if re.match(r"https?:|//", name, re.IGNORECASE):
        return (
            f"{name!r} is on the web, and participants' browsers load nothing from other sites. Save the picture "
            "beside the study file and write its name, such as ![what it shows](chart.png)"
        )
    if _SCHEME.match(name) or name.startswith("/"):
        return (
            f"{name!r} is not a path in the study's folder. Put the file there and write its name, as in "
            "![what it shows](chart.png)"
        )
    return ""


def _near(name: str, roots: Sequence[Path]) -> str:
    """The hint on a file whose name is close, in the folder that the name leads to."""
    there: set[str] = set()
    for root in roots:
        try:
            folder = (root / name).parent.resolve()
            there |= {file.name for file in folder.iterdir()} if folder.is_relative_to(root) else set()
        except (OSError, ValueError, RuntimeError):
            continue
    return did_you_mean(Path(name).name, there)


def _bytes(path: Path, name: str) -> bytes:
    try:
        if (size := path.stat().st_size) > MOST_BYTES:
            raise _too_large(size, name)
        return path.read_bytes()
    except OSError as error:
        raise ProblemError(f"{name!r} cannot be read ({error.strerror}). Check its permissions") from error


class _Markdown(MarkdownIt):
    def validateLink(self, url: str) -> bool:
        """Find pictures and links of every scheme, to report those that cannot be shown."""
        return True


_MARKDOWN = _Markdown("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable("reference")
