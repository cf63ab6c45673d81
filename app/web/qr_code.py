"""QR codes of links, for phones."""

from __future__ import annotations

import segno
from markupsafe import Markup

# The margin in modules that ISO/IEC 18004 asks for.
QUIET_ZONE = 4


def as_svg(link: str, label: str) -> Markup:
    """A picture of any size with a text in place of it; black on white, also on a dark page."""
    svg = segno.make_qr(link).svg_inline(border=QUIET_ZONE, light="#fff", svgclass=None, lineclass=None, omitsize=True)
    words = Markup('<svg role="img" aria-label="{}"').format(label)
    return Markup(svg.replace("<svg", words, 1))  # noqa: S704  (of segno, from the modules of the code alone)
