"""Nothing that somebody wrote is drawn outside its own box, wherever it is shown: what is too large scrolls or is cut.

The texts are on the screen at once. Each kind of box is hidden in turn, which moves nothing: whatever then changes
outside these boxes was drawn there by what is in them.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageChops, ImageDraw
from playwright.sync_api import BrowserContext, Locator, Page

from app.analysis.intervals import Interval
from app.analysis.report import html
from tests.browser.hostile import Echo, Session, seeded, study
from tests.browser.researcher import AtConsole
from tests.browser.visitor import Visitor
from tests.browser.waiting import quiet
from tests.fakes.accounts import GOOD, ada_and_bob
from tests.fakes.backends import registered
from tests.fakes.hostile.overflow import OVERFLOW
from tests.fakes.reports import figure, finding, report
from tests.fakes.served import Process, Served, serving_aside, settings_for

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(900)]
NewContext = Callable[..., BrowserContext]
SIZES = {"desktop": (1280, 900), "phone": (390, 844)}
TALL = 6_000
"""A window in which a whole conversation is seen at once."""
EDGE = 6
"""How far outside a box its letters may reach, in pixels: an italic letter, the focus's frame."""
NOISE = 24
HIDE = "([boxes, how]) => document.querySelectorAll(boxes).forEach((box) => box.style.visibility = how)"
BOXES = """boxes => [...document.querySelectorAll(boxes)].map((box) => {
  const { x, y, right, bottom } = box.getBoundingClientRect();
  return [x, y, right, bottom];
})"""
UNROLL = """([outer, tall]) => document.querySelectorAll(outer).forEach((one) => {
  one.style.setProperty("height", `${tall}px`, "important");
})"""
SIDEWAYS = "document.scrollingElement.scrollWidth - document.scrollingElement.clientWidth"


@dataclass(frozen=True)
class Place:
    """The participants' server, and a session at each step."""

    served: Served
    at: dict[str, Session]


@pytest.fixture(scope="module", autouse=True)
def echo() -> Iterator[None]:
    with registered("echo", Echo):
        yield


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("overflow")
    settings = settings_for(folder, max_reply_chars=20_000)
    path = study(folder, "hostile", "quick")
    at = {step: seeded(settings, path, [OVERFLOW], step)[0] for step in ("again", "told", "talk", "rated", "both")}
    with serving_aside(settings, path) as served:
        yield Place(served, at)


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
    after = drawn(page)
    inner.evaluate(HIDE, [boxes, ""])
    changed = differs(before, after)
    changed.paste(0, mask=differs(before, drawn(page)))  # what is not theirs: a button that opened
    assert changed.getbbox() is not None, f"nothing is seen of {boxes}"
    pen = ImageDraw.Draw(changed)
    for x, y, right, bottom in places:
        corners = (left + x - EDGE, top + y - EDGE, left + right + EDGE, top + bottom + EDGE)
        if corners[2] > corners[0] and corners[3] > corners[1]:
            pen.rectangle(corners, fill=0)
    return changed.getbbox()


def opened(place: Place, step: str, new_context: NewContext, size: str) -> Page:
    width, _ = SIZES[size]
    context = new_context(viewport={"width": width, "height": TALL})
    place.at[step].sit_down(context, place.served.url)
    page = context.new_page()
    page.goto(f"{place.served.url}/")
    Visitor(page, place.served.url).ready()
    page.evaluate(UNROLL, ["#chat", TALL - 1_000])
    quiet(page)
    return page


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("step", "boxes"),
    [
        ("talk", ("#chat .message.you", "#chat .message.bot")),
        ("rated", ("#left .message.you", "#left .message.bot")),
        ("both", ("#talk .message.you", "#talk .message.bot")),
        ("again", ("#left .field",)),
        ("told", ("#left .text",)),
    ],
)
def test_nothing_is_drawn_outside_its_box(
    place: Place, new_context: NewContext, step: str, boxes: tuple[str, ...], size: str
) -> None:
    page = opened(place, step, new_context, size)
    found = {each: outside(page, each) for each in boxes}
    assert found == dict.fromkeys(boxes)
    assert page.evaluate(SIDEWAYS) <= 0


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    folder: Path = tmp_path_factory.mktemp("console")
    settings = settings_for(folder, max_reply_chars=20_000)
    seeded(settings, study(folder, "hostile", "quick"), [OVERFLOW], "both")
    process = Process(folder, (), command="console")
    with ada_and_bob(process.database_url):
        process.start()
        yield process
        process.stop()
    assert "Traceback" not in process.log


@pytest.mark.parametrize("size", SIZES)
def test_nothing_is_drawn_outside_its_box_at_the_console(console: Process, new_context: NewContext, size: str) -> None:
    """In a session's story and in its replay."""
    width, _ = SIZES[size]
    page = new_context(viewport={"width": width, "height": TALL // 2}).new_page()
    ada = AtConsole(page, console.url)
    ada.log_in("Ada", GOOD)
    page.goto(f"{console.url}/?study=hostile&tab=sessions&session=1")
    ada.reads("session-head", "Session 1")
    page.locator("#session-story .message").first.wait_for()
    quiet(page)
    for boxes in ("#session-story .message.you", "#session-story .message.bot", "#session-story dl.answers > div"):
        assert outside(page, boxes) is None, boxes
    page.get_by_role("tab", name="Replay").click()
    frame = page.locator("iframe.replay")
    frame.wait_for()
    quiet(page)
    page.evaluate(UNROLL, ["iframe.replay", TALL // 2])
    for boxes in (".message.you", ".message.bot"):
        assert outside(page, boxes, frame) is None, boxes


@pytest.mark.parametrize("size", SIZES)
def test_nothing_is_drawn_outside_its_box_in_a_report(new_context: NewContext, size: str) -> None:
    """As names of groups, which a report shows as they were typed."""
    width, _ = SIZES[size]
    page = new_context(viewport={"width": width, "height": 2 * TALL}).new_page()
    figures = [figure(f"x.{n}", one.text, Interval(0.3, 0.2, 0.4)) for n, one in enumerate(OVERFLOW)]
    page.set_content(html(report(finding("arena.win_rate", figures))))
    for boxes in ("h1, h2, h3, p, ul", "th, td:not(.plot)"):
        assert outside(page, boxes) is None, boxes
