"""What is drawn outside the box that it is in.

Each kind of box is hidden in turn, which moves nothing: whatever then changes outside these boxes was drawn there by
what is in them.
"""

from __future__ import annotations

import io
from typing import Any

from PIL import Image, ImageChops, ImageDraw, ImageFilter
from playwright.sync_api import Locator, Page

from tests.browser.waiting import quiet

WIDTHS = {"desktop": 1280, "phone": 390}
# A window in which a whole conversation is seen at once.
TALL = 6_000
# Pixels of a picture to one of the page: a quarter as many to draw and to compare.
SCALE = 0.5
# How a browser is to be opened whose pages are looked at.
WINDOW = {"viewport": {"width": WIDTHS["desktop"], "height": TALL}, "device_scale_factor": SCALE}
# How far outside a box its letters may reach, in pixels: an italic letter, the focus's frame.
EDGE = 6
NOISE = 24
# Leaves out single pixels: two pictures of the same page may differ in one, and no letter or line is so small.
LONE = ImageFilter.RankFilter(3, 7)
HIDE = "([boxes, how]) => document.querySelectorAll(boxes).forEach((box) => box.style.visibility = how)"
BOXES = """boxes => [...document.querySelectorAll(boxes)].map((box) => {
  const { x, y, right, bottom } = box.getBoundingClientRect();
  return [x, y, right, bottom];
})"""
UNROLL = """([outer, tall]) => document.querySelectorAll(outer).forEach((one) => {
  one.style.setProperty("height", `${tall}px`, "important");
})"""
SIDEWAYS = "document.scrollingElement.scrollWidth - document.scrollingElement.clientWidth"


def drawn(page: Page) -> Image.Image:
    return Image.open(io.BytesIO(page.screenshot(animations="disabled", caret="hide"))).convert("RGB")


def differs(one: Image.Image, other: Image.Image) -> Image.Image:
    """Where they differ by more than the browser's rounding."""
    return ImageChops.difference(one, other).convert("L").point(lambda value: 255 * (value > NOISE))


def outside(page: Page, boxes: str, frame: Locator | None = None) -> Any:
    """Where something is drawn by what is in these boxes, and none of them is."""
    inner = (frame.element_handle().content_frame() if frame else None) or page
    inner.evaluate("boxes => document.querySelector(boxes)?.scrollIntoView()", boxes)
    around = frame.bounding_box() if frame else None
    left, top = (around["x"], around["y"]) if around else (0, 0)
    places = inner.evaluate(BOXES, boxes)
    assert places, f"there is no {boxes}"
    before = drawn(page)
    inner.evaluate(HIDE, [boxes, "hidden"])
    changed = differs(before, drawn(page))
    inner.evaluate(HIDE, [boxes, ""])
    assert changed.getbbox() is not None, f"nothing is seen of {boxes}"
    pen = ImageDraw.Draw(changed)
    for x, y, right, bottom in places:
        corners = (left + x - EDGE, top + y - EDGE, left + right + EDGE, top + bottom + EDGE)
        if corners[2] > corners[0] and corners[3] > corners[1]:
            pen.rectangle([SCALE * corner for corner in corners], fill=0)
    if changed.getbbox() is not None:
        changed.paste(0, mask=differs(before, drawn(page)))  # what is not theirs: a button that opened
    return changed.filter(LONE).getbbox()


def spilled(page: Page, *kinds: str, unrolled: str = "", frame: Locator | None = None) -> dict[str, Any]:
    """By width of the window and kind of box, what is drawn outside; and how far the page can be scrolled sideways."""
    found: dict[str, Any] = {}
    for name, width in WIDTHS.items():
        page.set_viewport_size({"width": width, "height": TALL})
        if unrolled:
            page.evaluate(UNROLL, [unrolled, TALL - 1_000])
        quiet(page)
        found |= {f"{name}, {kind}": outside(page, kind, frame) for kind in kinds}
        found[f"{name}, sideways"] = max(0, page.evaluate(SIDEWAYS))
    return {where: what for where, what in found.items() if what}
