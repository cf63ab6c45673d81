"""Pictures without what their makers' devices and programs wrote into them: places, times, cameras, names, comments.

A picture keeps only the parts that a browser needs to show it: its pixels as they were encoded, colours, animation and
orientation. The parts that are kept are copied byte for byte and never encoded anew, so equal files give equal bytes
(and hashes) on every machine, and no quality is lost.

Formats: JPEG (ITU-T T.81, annex B), PNG (W3C, third edition, 5.3), GIF89a, WebP (RFC 9649).
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping

# Metadata in EXIF's form with the orientation and nothing else (TIFF 6.0, section 2; tag 0x0112).
_TIFF = b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0%c\0\0\0\0\0\0\0"
# A marker after the coded pixels of a JPEG, where FF 00 and restart markers are a part of them.
_SCAN_ENDS = re.compile(rb"\xff[^\x00\xd0-\xd7\xff]")
_PNG_SHOWN = frozenset(
    (b"tRNS", b"gAMA", b"cHRM", b"sRGB", b"iCCP", b"sBIT", b"bKGD", b"pHYs", b"cICP", b"acTL", b"fcTL", b"fdAT")
)
_WEBP_SHOWN = frozenset((b"VP8 ", b"VP8L", b"VP8X", b"ALPH", b"ANIM", b"ANMF", b"ICCP"))
# How the application segments begin that say how to show a JPEG.
_JPEG_SHOWN = (b"JFIF\0", b"ICC_PROFILE\0", b"Adobe\0")
_GIF_LOOPS = (b"NETSCAPE2.0", b"ANIMEXTS1.0")
_EXIF_FLAG, _XMP_FLAG = 0x08, 0x04
_EXTENSION, _IMAGE, _TRAILER, _COMMENT, _APPLICATION = 0x21, 0x2C, 0x3B, 0xFE, 0xFF


def without_metadata(content: bytes, type_: str, orientation: int = 1) -> bytes:
    """The picture without metadata, except for an EXIF `orientation` from 2 to 8 (1 needs none).

    `type_` is its media type. What follows the picture's end is left out. A damaged picture may stay so, or raise
    IndexError, ValueError or struct.error.
    """
    turned = _TIFF % orientation if 1 < orientation <= 8 else b""
    return b"".join(_FORMATS[type_](content, turned))


def _jpeg(content: bytes, turned: bytes) -> Iterator[bytes]:
    yield content[:2]
    exif, at = (b"Exif\0\0" + turned if turned else b""), 2
    while at + 1 < len(content) and content[at + 1] != 0xD9:  # phones append further pictures and films to the end
        if content[at + 1] == 0xFF:  # a byte that only fills
            at += 1
            continue
        marker, (size,) = content[at + 1], struct.unpack_from(">H", content, at + 2)
        end = at + 2 + size
        if content[at] != 0xFF or size < 2 or end > len(content):
            raise ValueError("not a sequence of segments")
        if marker == 0xDA:
            found = _SCAN_ENDS.search(content, end)
            end = found.start() if found else len(content)
        shown = 0xC0 <= marker <= 0xDF or (0xE0 <= marker <= 0xEF and content.startswith(_JPEG_SHOWN, at + 4))
        if exif and marker != 0xE0:  # after the header of JFIF
            yield b"\xff\xe1" + struct.pack(">H", len(exif) + 2) + exif
            exif = b""
        if shown:
            yield content[at:end]
        at = end
    yield b"\xff\xd9"


def _png(content: bytes, turned: bytes) -> Iterator[bytes]:
    yield content[:8]
    at, kind = 8, b""
    while kind != b"IEND" and at < len(content):
        size, kind = struct.unpack_from(">I4s", content, at)
        if kind == b"IDAT" and turned:
            yield struct.pack(">I4s", len(turned), b"eXIf") + turned
            yield struct.pack(">I", zlib.crc32(b"eXIf" + turned))
            turned = b""
        if kind[0:1].isupper() or kind in _PNG_SHOWN:
            yield content[at : at + size + 12]
        at += size + 12


def _webp(content: bytes, turned: bytes) -> Iterator[bytes]:
    chunks, at = [], 12
    while at < min(len(content), 8 + struct.unpack_from("<I", content, 4)[0]):
        kind, size = struct.unpack_from("<4sI", content, at)
        if kind in _WEBP_SHOWN:
            chunk = bytearray(content[at : at + 8 + size + size % 2])
            if kind == b"VP8X":
                chunk[8] = chunk[8] & ~(_EXIF_FLAG | _XMP_FLAG) | (_EXIF_FLAG if turned else 0)
            chunks.append(bytes(chunk))
        at += 8 + size + size % 2
    chunks += [struct.pack("<4sI", b"EXIF", len(turned)) + turned] if turned else []
    yield struct.pack("<4sI4s", b"RIFF", 4 + sum(map(len, chunks)), b"WEBP")
    yield from chunks


def _gif(content: bytes, _: bytes) -> Iterator[bytes]:
    at = 13 + _colours(content[10])
    yield content[:at]
    while at < len(content) and (kind := content[at]) != _TRAILER:
        label = content[at + 1]
        blocks = at + 2 if kind == _EXTENSION else at + 11 + _colours(content[at + 9])
        end = _after_blocks(content, blocks)
        own = kind == _EXTENSION and (
            label == _COMMENT or (label == _APPLICATION and not content.startswith(_GIF_LOOPS, at + 3))
        )
        if not own:
            yield content[at:end]
        at = end
    yield bytes([_TRAILER])


def _colours(packed: int) -> int:
    """The bytes of a GIF's table of colours, from the byte that describes it."""
    return 3 * 2 ** ((packed & 7) + 1) if packed & 0x80 else 0


def _after_blocks(content: bytes, at: int) -> int:
    """The end of a GIF's blocks of data that begin here; the first byte of each is its size."""
    while content[at]:
        at += content[at] + 1
    return at + 1


_FORMATS: Mapping[str, Callable[[bytes, bytes], Iterator[bytes]]] = {
    "image/jpeg": _jpeg,
    "image/png": _png,
    "image/gif": _gif,
    "image/webp": _webp,
}
