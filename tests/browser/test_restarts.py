"""A server that goes away while people are at the page: what they read, and how they go on."""

import random
from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect

from app.web.participant.view import PAGE_WORDS
from tests.browser.told import attempts, newest_facts
from tests.browser.visitor import Visitor
from tests.browser.waiting import until
from tests.fakes.served import Process

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600)]
NewContext = Callable[..., BrowserContext]
EXPLAIN = "Please explain the Pythagorean theorem."
# A page without a style is ready as well, until it is loaded again. The start page may have lost the part.
RELOADED = """document.documentElement?.dataset.ready === 'yes' && (!sessionStorage['parley-anew']
  || performance.getEntriesByType('navigation')[0].type === 'reload')"""


def test_killed_while_the_page_is_open(slow: Process, new_context: NewContext) -> None:
    """In the middle of a reply the page goes on by itself; on a form the next click finds the new server."""
    page = new_context().new_page()
    visitor = Visitor(page, slow.url)
    visitor.arrive("demo")
    visitor.until("chat")
    page.wait_for_load_state("networkidle")  # a page that lost a part is loaded again, which is another test
    visitor.say(EXPLAIN)
    expect(page.locator("#chat .message.bot")).to_contain_text("a")
    slow.kill()
    assert [event.kind for event in newest_facts(slow)][-1] == "said"
    slow.start()
    visitor.hear_out()
    *_, said, replied = newest_facts(slow)
    assert (said.kind, replied.kind) == ("said", "replied")
    assert visitor.reply.split()[-1] in replied.data["text"]
    expect(visitor.note).not_to_contain_text("connection")
    visitor.fill_in()
    was = visitor.mark
    slow.kill()
    page.locator("#left form button[type=submit]").click()
    slow.start()
    visitor.arrived_from(was)
    expect(visitor.note).to_have_text("")
    visitor.go_on()


@pytest.mark.nightly
def test_a_page_that_lost_a_part_is_loaded_again(slow: Process, new_context: NewContext, seed: int, soak: bool) -> None:
    """As when the server is restarted meanwhile: it comes up whole once the server answers, whichever part it was.

    In short it is one of our parts or of Gradio's.
    """
    context = new_context()
    parts = parts_of(context.new_page(), slow.url)
    for part in parts if soak else [random.Random(seed).choice(parts)]:
        context.clear_cookies()
        page = context.new_page()
        page.route(part, lambda route: route.abort(), times=1)
        page.route(f"{slow.url}/", unless_asked, times=2)  # the page itself, and a question
        visitor = Visitor(page, slow.url)
        with page.expect_event("requestfailed", lambda request, part=part: request.url == part):
            visitor.arrive("rated")
        until(page, RELOADED)
        visitor.until("chat")
        expect(page.locator("#send")).to_be_enabled()
        expect(page.locator("#chat [role=log]")).to_be_visible()
        page.close()


def parts_of(page: Page, url: str) -> list[str]:
    """What a page needs: its scripts and styles."""
    parts: list[str] = []
    needed = ("script", "stylesheet")
    page.on("request", lambda request: parts.append(request.url) if request.resource_type in needed else None)
    visitor = Visitor(page, url)
    visitor.arrive("rated")
    visitor.until("chat")
    page.wait_for_load_state("networkidle")
    return list(dict.fromkeys(part for part in parts if "/s/" not in part))


def unless_asked(route: Route) -> None:
    """Not even the question whether the server is there arrives."""
    if route.request.method == "HEAD":
        route.abort()
    else:
        route.continue_()


@pytest.mark.nightly
def test_a_part_that_never_arrives_is_done_without(slow: Process, new_context: NewContext) -> None:
    """A browser may refuse it for good; the page is not loaded again and again."""
    page = new_context().new_page()
    loaded: list[str] = []
    page.on("request", lambda request: loaded.append(request.url) if request.is_navigation_request() else None)
    page.route("**/parley/page.css", lambda route: route.abort())
    visitor = Visitor(page, slow.url)
    visitor.arrive("short")
    page.wait_for_function("JSON.parse(sessionStorage['parley-anew']).length === 3")
    page.wait_for_load_state("networkidle")
    visitor.go_on()
    assert loaded.count(f"{slow.url}/") == 1 + 3


def test_without_a_connection_the_page_keeps_what_was_sent_and_goes_on_as_soon_as_there_is_one(
    slow: Process, new_context: NewContext
) -> None:
    """After the tries that it makes at once, it has no wish to be asked."""
    context = new_context()
    page = context.new_page()
    visitor = Visitor(page, slow.url)
    visitor.arrive("timed")
    visitor.until("chat")
    context.set_offline(True)
    visitor.type_message(EXPLAIN)
    visitor.send()
    expect(visitor.note).to_contain_text(PAGE_WORDS["offline"])  # and not that the connection is slow
    expect(page.get_by_role("button", name="Try again")).to_be_visible()
    expect(page.locator("#box textarea")).to_have_value(EXPLAIN)
    page.evaluate("window.same = true")
    context.set_offline(False)
    visitor.hear_out()
    expect(visitor.note).to_have_text("")
    assert page.evaluate("window.same")
    assert [event.kind for event in newest_facts(slow)][-2:] == ["said", "replied"]


def cut_after(last: str) -> Callable[[Route], None]:
    """An answer in events whose connection breaks after the first of a name."""

    def cut(route: Route) -> None:
        text = route.fetch().text()
        before, name, told = text.partition(f"event: {last}\n")
        route.fulfill(content_type="text/event-stream", body=before + name + told.partition("\n\n")[0] + "\n\n")

    return cut


@pytest.mark.nightly
def test_a_reply_whose_events_break_off_is_asked_for_again(slow: Process, new_context: NewContext) -> None:
    """After the screen, and after some words."""
    page = new_context().new_page()
    visitor = Visitor(page, slow.url)
    visitor.arrive("short")
    visitor.until("chat")
    page.wait_for_load_state("networkidle")
    page.evaluate("window.same = true")
    for number, last in enumerate(("screen", "delta"), 1):
        page.route("**/api/act", cut_after(last), times=1)
        with page.expect_request("**/api/reply*"):
            visitor.say(EXPLAIN)
        visitor.hear_out()
        *_, said, replied = newest_facts(slow)
        assert (said.kind, replied.kind) == ("said", "replied")
        assert visitor.reply.split()[-1] in replied.data["text"]
        assert len(visitor.reply) > 0.5 * len(replied.data["text"])
        expect(visitor.note).to_have_text("")
        assert (page.evaluate("window.same"), attempts(slow)) == (True, number)


@pytest.mark.nightly
def test_a_proxy_that_gathers_an_answer_keeps_only_one_click_waiting(slow: Process, new_context: NewContext) -> None:
    """From then on the page asks for the reply after the click, as it cannot have both at once."""
    page = new_context().new_page()
    visitor = Visitor(page, slow.url)
    visitor.arrive("short")
    visitor.until("chat")
    replies: list[str] = []
    page.on("request", lambda request: replies.append(request.url) if "/api/reply" in request.url else None)

    def gathers(route: Route) -> None:
        route.fulfill(response=route.fetch())

    page.route("**/api/act", gathers)
    visitor.say(EXPLAIN)
    visitor.hear_out()
    assert not replies
    with page.expect_request("**/api/reply*"):
        visitor.say(EXPLAIN)
    visitor.hear_out()
    expect(visitor.note).to_have_text("")
