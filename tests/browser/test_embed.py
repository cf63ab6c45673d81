"""A study in a page of another site, in Chromium with third-party cookies blocked: it finishes, and tells that page
alone what the study lists."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Frame, Page, expect

from app.studies.yaml_loader import parse_yaml
from tests.browser.conftest import serve
from tests.browser.visitor import Visitor
from tests.browser.waiting import until
from tests.docs.pages import ROOT, blocks
from tests.fakes import studies
from tests.fakes.host_pages import HostPages, host_pages
from tests.fakes.served import Process

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]
GUIDE = ROOT / "docs" / "embedding.md"
SERVER = "https://study.example.org"
MOST_LINES = 12
HEARD = "<script>heard = []; addEventListener('message', ({ origin, data }) => heard.push([origin, data]))</script>"
# What Gradio's own page sends to whoever frames it; it holds nothing of a study.
GRADIO = ({"type": "SET_SCROLLING", "enabled": False}, "[iFrameResizerChild]Ready")
PLAIN = '<h1>A survey</h1><p>Before.</p>{snippet}<button id="next" disabled>Next</button>'
QUALTRICS = """<div id="q"></div><script>
saved = {{}}; clicked = []; const setEmbeddedData = (k, v) => {{ saved[k] = v; }};
const question = {{ getQuestionContainer: () => document.getElementById("q") }};
for (const name of ["hideNextButton", "clickNextButton"]) question[name] = () => clicked.push(name);
Qualtrics = {{ SurveyEngine: {{ addOnload: (f) => f.call(question), setEmbeddedData }} }};
{snippet}</script>"""
REDCAP = """<div id="parley">17</div><input name="parley_outcome" onchange="changed = this.value"><script>
{snippet}</script>"""
GORILLA = """<body><script>
saved = {{}}; finished = false;
const gorilla = {{ ready: (f) => f(), metric: (m) => Object.assign(saved, m), finish: () => {{ finished = true; }} }};
{snippet}</script>"""


def snippet(language: str, server: str, study: str = "plan") -> str:
    """A snippet of the guide, for a server and a study of the test."""
    text = next(block.text for block in blocks(GUIDE, language))
    assert len(text.splitlines()) <= MOST_LINES
    assert SERVER in text
    return text.replace(SERVER, server).replace("/s/plan", f"/s/{study}")


@pytest.fixture(scope="module")
def host() -> Iterator[HostPages]:
    with host_pages() as site:
        yield site


@pytest.fixture(scope="module")
def parley(host: HostPages, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """Serves the guide's study and a longer one, for pages on `localhost`, and one that nobody may frame."""
    folder = tmp_path_factory.mktemp("embed")
    (block,) = blocks(GUIDE, "yaml")
    guide: dict[str, Any] = parse_yaml(block.text).value
    guide["models"]["guide"]["options"] = {"first_ms": 0, "pace_ms": 0}
    guide["embed"]["origins"] = [host.origin(), "https://another.example"]
    longer = parse_yaml(studies.short(folder, "longer").read_text(encoding="utf-8")).value
    longer["embed"] = {"origins": [host.origin()], "send": ["ready", "height", "outcome", "remarks.age"]}
    longer["outcomes"] = {"complete": {"code": "LONG-1", "url": "https://recruiter.example/back"}}
    served = studies.write(folder, guide), studies.write(folder, longer), studies.short(folder)
    yield from serve(folder, *served)


@pytest.fixture
def page(new_context: Callable[..., BrowserContext], host: HostPages) -> Page:
    """A page in a browser that blocks cookies of third parties, as is shown by those of a third page."""
    page = new_context().new_page()
    block_third_parties(page)
    host.pages["/third"] = host.pages["/again"] = "<p>third</p>"
    host.cookies["/third"] = ("plain=1; SameSite=None; Secure", "own=1; SameSite=None; Secure; Partitioned")
    third = host.origin("127.0.0.1")
    for path in ("/third", "/again"):
        host.pages["/check"] = f'<iframe src="{third}{path}"></iframe>'
        page.goto(f"{host.origin()}/check")
        expect(page.frame_locator("iframe").get_by_text("third")).to_be_visible()
    assert host.sent["/again"] == "own=1", "only the partitioned one is kept"
    return page


def block_third_parties(page: Page) -> None:
    controls = {"enableThirdPartyCookieRestriction": True}
    controls |= {"disableThirdPartyCookieMetadata": True, "disableThirdPartyCookieHeuristics": True}
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    session.send("Network.setCookieControls", controls)


def heard(page: Page) -> list[dict[str, Any]]:
    """The messages of Parley that the page has heard; that nothing else came but what Gradio sends itself."""
    said = [data for _, data in page.evaluate("heard")]
    return [data for data in said if data not in GRADIO]


def inside(page: Page, server: str) -> Frame:
    """The frame with the study, once its page is painted."""
    button = page.frame_locator("iframe").get_by_role("button", name="Start", exact=True)
    button.click()
    (frame,) = (frame for frame in page.frames if frame.url.startswith(server))
    until(frame, "document.documentElement?.dataset.ready === 'yes'")
    return frame


def in_frame(frame: Frame, server: str) -> Visitor:
    """Somebody who works in the frame as on a page."""
    frame.on = lambda *_: None  # type: ignore[method-assign]  # a frame has no events of its own
    return Visitor(frame, server)  # type: ignore[arg-type]


def fits(frame: Frame) -> None:
    """Wait until the frame is as high as its content, so that nothing scrolls in it."""
    until(
        frame,
        "document.scrollingElement.scrollHeight <= innerHeight && document.scrollingElement.scrollWidth <= innerWidth",
    )


def test_a_study_finishes_in_a_page_of_another_site_which_gets_its_outcome(
    page: Page, host: HostPages, parley: Process
) -> None:
    """Each screen is seen on a desktop and on a phone, and answered on one of them."""
    widths = [1280, 390]
    host.pages["/survey"] = HEARD + PLAIN.format(snippet=snippet("html", parley.url, "longer"))
    page.goto(f"{host.origin()}/survey")
    frame = inside(page, parley.url)
    visitor = in_frame(frame, parley.url)
    while not visitor.finished:
        for width in widths:
            page.set_viewport_size({"width": width, "height": 800})
            fits(frame)
        widths.reverse()
        assert page.locator("#next").is_disabled()
        visitor.next_screen()
        expect(page.locator("#parley")).to_be_in_viewport()
    expect(page.locator("#next")).to_be_enabled()
    fits(frame)
    assert frame.locator("#completion-code").inner_text() == "LONG-1"
    assert frame.get_by_text("Return and complete").count() == 0, "the page around it goes on, not a recruiter's"
    told = heard(page)
    head = {"source": "parley", "version": 1}
    others = [one for one in told if one["type"] != "height"]
    assert others == [
        head | {"type": "ready", "study": "longer"},
        head | {"type": "answers", "answers": {"remarks.age": 42}},
        head | {"type": "outcome", "outcome": "complete"},
    ]
    heights = [one for one in told if one["type"] == "height"]
    assert all(one.keys() == {*head, "type", "height", "moved"} for one in heights)
    assert any(one["moved"] for one in heights)
    assert {origin for origin, _ in page.evaluate("heard")} == {parley.url}


@pytest.mark.nightly
def test_where_no_cookie_at_all_is_kept_a_reload_of_either_page_loses_nothing(
    page: Page, host: HostPages, parley: Process
) -> None:
    host.pages["/survey"] = HEARD + PLAIN.format(snippet=snippet("html", parley.url, "longer"))
    page.goto(f"{host.origin()}/survey")
    visitor = in_frame(inside(page, parley.url), parley.url)
    page.context.clear_cookies()
    visitor.go_on()
    heading = visitor.heading
    page.context.clear_cookies()
    for again in ("frame", "page"):
        if again == "frame":
            frame = page.frames[1]
            frame.evaluate("location.reload()")
            until(frame, "document.documentElement?.dataset.ready === 'yes'")
        else:
            page.reload()
            frame = inside(page, parley.url)
        page.context.clear_cookies()
        expect(frame.locator("#heading")).to_have_text(heading)


@pytest.mark.nightly
def test_a_foreign_origin_gets_an_empty_frame_and_hears_nothing(page: Page, host: HostPages, parley: Process) -> None:
    """The same site under another name, for an embedded study; and the named one, for a study that is not embedded."""
    host.pages["/survey"] = HEARD + PLAIN.format(snippet=snippet("html", parley.url, "longer"))
    page.goto(f"{host.origin()}/survey")
    address = inside(page, parley.url).url
    assert "#session=" in address
    foreign = host.origin("survey.localhost")
    for origin, source in (
        (foreign, f"{parley.url}/s/longer"),
        (foreign, address),  # with a session
        (host.origin(), f"{parley.url}/s/short"),
        (host.origin(), f"{parley.url}/"),
    ):
        host.pages["/foreign"] = f'{HEARD}<iframe id="parley" src="{source}"></iframe>'
        with page.expect_console_message(lambda said: "frame-ancestors" in said.text):
            page.goto(f"{origin}/foreign")
        (frame,) = page.frames[1:]
        until(page, "document.readyState === 'complete'")
        assert frame.url == "chrome-error://chromewebdata/", (origin, source)
        assert page.evaluate("heard") == []


@pytest.mark.nightly
def test_the_snippets_for_survey_services_note_the_outcome(page: Page, host: HostPages, parley: Process) -> None:
    def finish(around: str, language: str, without: str = "") -> None:
        text = snippet(language, parley.url).replace("${e://Field/ResponseID}", "R_1").replace(without, "")
        host.pages["/survey"] = around.format(snippet=text)
        page.goto(f"{host.origin()}/survey")
        visitor = in_frame(inside(page, parley.url), parley.url)
        visitor.say("Where shall I go?")
        visitor.hear_out()
        for _ in range(2):
            visitor.open_sheet()
            visitor.go_on()

    finish(QUALTRICS, "js")
    until(page, "clicked.length === 2")
    assert page.evaluate("clicked") == ["hideNextButton", "clickNextButton"]
    assert page.evaluate("saved") == {"useful": "No", "parley": "complete"}
    finish(GORILLA, "ts", 'import gorilla = require("gorilla/gorilla");\n')
    until(page, "finished")
    assert page.evaluate("saved.parley") == "complete"
    assert len(page.evaluate("saved.parley_id")) == 36


@pytest.mark.nightly
def test_the_snippet_for_redcap_fills_its_field(page: Page, host: HostPages, parley: Process) -> None:
    text = [block.text for block in blocks(GUIDE, "js")][1].replace(SERVER, parley.url)
    assert len(text.splitlines()) <= MOST_LINES
    host.pages["/survey"] = REDCAP.format(snippet=text)
    page.goto(f"{host.origin()}/survey")
    assert page.locator("iframe").get_attribute("src") == f"{parley.url}/s/plan?pid=17"
    visitor = in_frame(inside(page, parley.url), parley.url)
    visitor.press(visitor.page.get_by_role("button", name="Stop taking part"))
    visitor.press(visitor.page.get_by_role("button", name="Withdraw and delete my answers"))
    until(page, "window.changed === 'withdrawn'")
