"""QR codes of links, for phones: as text for a terminal, and as a picture for a page."""

from __future__ import annotations

from io import StringIO

import segno
from markupsafe import Markup

QUIET_ZONE = 4
"""The margin in modules that ISO/IEC 18004 asks for."""


def as_text(link: str) -> str:
    """Half blocks, light on dark, two modules a line."""
    text = StringIO()
    segno.make_qr(link).terminal(out=text, compact=True, border=QUIET_ZONE)
    return text.getvalue()


def as_svg(link: str, label: str) -> Markup:
    """A picture of any size with a text in place of it; black on white, also on a dark page."""
    svg = segno.make_qr(link).svg_inline(border=QUIET_ZONE, light="#fff", svgclass=None, lineclass=None, omitsize=True)
    words = Markup('<svg role="img" aria-label="{}"').format(label)
    return Markup(svg.replace("<svg", words, 1))  # noqa: S704  (of segno, from the modules of the code alone)
