"""Models that fail, as participants meet it: one calm sentence and a button, and nothing of the cause anywhere."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from experiments.events import Event
from experiments.session.conversation import STOPPED
from tests.browser.visitor import Visitor
from tests.fakes import failing
from tests.fakes.model_server import Server
from tests.fakes.model_server import serve as serve_models
from tests.fakes.served import Served, serving_aside
from tests.wiring.reading import facts, query

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600)]
NewContext = Callable[..., BrowserContext]
HELLO = "Good day, could you help me?"
CALM = "No reply could be generated. Your message is saved."
WAY_ON = "You can also continue without a reply."
ACTIONS: dict[str, dict[str, Any]] = {
    "retry": {"action": "retry"},
    "skip": {"action": "skip"},
    "stop": {"action": "stop", "stop_code": "NO-REPLY"},
}
# What a study says of failures, and a model that fails for good: its server does, or it refuses each message.
WAYS = (("retry", "content-filter"), ("skip", "500"), ("stop", "500"))
CAUSES = (
    "fault:", "openai", "scripted", "Backend", "httpx", "Traceback", "status_", "timeout_", "too_long", "refused with",
    "content_filter", "content filter", "boom", "Rate limit", "PARLEY_", "sk-", '"reason"', '"cause"',
)  # fmt: skip
KEEP = """window.heard = [];
const asked = window.fetch;
window.fetch = async (...given) => {
  const response = await asked(...given);
  response.clone().text().then((text) => heard.push(`${response.status} ${text}`), () => {});
  return response;
};"""


@dataclass(frozen=True)
class Place:
    """Parley with a study for each class of failure, and its model servers."""

    served: Served
    models: Server

    def newest(self) -> list[Event]:
        """The facts of the conversation that was begun last."""
        sql = "SELECT stream FROM event WHERE seq = 1 ORDER BY at_us DESC LIMIT 1"
        ((stream,),) = query(self.served.database, sql)
        kinds = ("said", "failed", "retried", "replied", "stopped")
        return [event for event in facts(self.served.database, stream) if event.kind in kinds]

    def attempts(self) -> list[tuple[Any, ...]]:
        """The attempts of the session that has made the last one: their reasons and causes."""
        newest = "SELECT stream FROM attempt ORDER BY started_us DESC LIMIT 1"
        sql = f"SELECT reason, cause FROM attempt WHERE stream = ({newest}) ORDER BY started_us"
        return query(self.served.database, sql)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("failures")
    one = failing.model
    files = [
        failing.talk(folder, f"case-{fault}", {"only": one(fault)}) for fault in ("500", "break", "content-filter")
    ]
    files.append(
        failing.talk(folder, "case-hang", {"only": one("hang")}, {"on_failure": {"action": "stop", "after_retries": 0}})
    )
    files += [
        failing.talk(
            folder, f"{action}-{fault}", {"only": one(fault)}, {"min_messages": 2, "on_failure": ACTIONS[action]}
        )
        for action, fault in WAYS
    ]
    files.append(failing.talk(folder, "case-none", {"only": one("")}))
    with serve_models() as models:
        settings = failing.settings(folder, models.base_url, model_attempts=2, retry_wait_s=0.1)
        with serving_aside(settings, *dict.fromkeys(files)) as served:
            yield Place(served, models)


@pytest.fixture(autouse=True)
def broken(place: Place) -> Iterator[None]:
    """Each test begins with all faults and leaves none mended."""
    yield
    place.models.mended = False


@pytest.fixture
def visitor(place: Place, new_context: NewContext) -> Visitor:
    page = new_context().new_page()
    page.add_init_script(KEEP)
    return Visitor(page, place.served.url)


def come(visitor: Visitor, study: str) -> Page:
    """Come to the chat and say something."""
    visitor.arrive(study)
    visitor.until("chat")
    visitor.say(HELLO)
    return visitor.page


def bubbles(page: Page) -> list[str]:
    """The messages on the screen, each with its sender."""
    found = page.locator("#chat .message.you, #chat .message.bot").all()
    return [
        f"{(one.get_attribute('class') or '').split()[1]}: {one.locator('.text').inner_text().strip()}" for one in found
    ]


def seen(page: Page) -> tuple[object, ...]:
    """All that is said of the conversation."""
    expect(page.locator("#side .failed")).to_be_visible()
    expect(page.locator("#chat .message.bot")).to_have_count(0)
    expect(page.locator("#note")).to_have_text("")
    buttons = [one.inner_text() for one in page.locator("#side button").all()]
    return bubbles(page), page.locator("#side").inner_text().split("\n"), buttons


def tells(place: Place, page: Page) -> list[str]:
    """What the page or what went over the network to it says of the cause."""
    where = [page.content(), *page.evaluate("heard")]
    words = (*CAUSES, place.models.base_url.split("/")[2])
    return [f"{word} in {text[:60]!r}" for word in words for text in where if word in text]


def test_a_failure_is_one_calm_sentence_and_a_button(place: Place, visitor: Visitor) -> None:
    page = come(visitor, "case-500")
    before = seen(page)
    assert before == ([f"you: {HELLO}"], [CALM, "", "Try again"], ["Try again"])
    expect(page.locator("#say"), "nothing can be said before this is settled").to_be_hidden()
    expect(page.locator("#side .failed")).to_be_focused()
    assert tells(place, page) == []
    statuses = {one.split(" ")[0] for one in page.evaluate("heard")}
    visitor.reload()
    assert seen(page) == before
    page.locator("#side .failed").focus()
    assert tells(place, page) == []
    place.models.mended, asked = True, len(place.models.requests)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    visitor.hear_out()
    expect(page.locator("#side .failed")).to_have_count(0)
    assert len(place.models.requests) == asked + 1
    expect(page.locator("#chat [role=log]")).to_be_focused()
    user, bot = bubbles(page)
    assert (user, bot.startswith("bot: You said: Good")) == (f"you: {HELLO}", True), "what was said stands there once"
    assert tells(place, page) == []
    said, failed, retried, replied = place.newest()
    assert [one.kind for one in (said, failed, retried, replied)] == ["said", "failed", "retried", "replied"]
    assert (failed.data["reason"], bool(failed.data["cause"])) == ("status_500", True)
    *tries, last = place.attempts()
    assert {reason for reason, _ in tries} == {"status_500"}
    assert all(cause for _, cause in tries)
    assert last == (None, None)
    assert (statuses - {"204"}, visitor.complaints, visitor.elsewhere) == ({"200"}, [], set())


@pytest.mark.nightly
def test_a_refused_message_is_in_the_box_again_until_it_is_answered(place: Place, visitor: Visitor) -> None:
    page = come(visitor, "case-content-filter")
    box, refused = page.locator("#box textarea"), page.locator("#side .failed [role=alert]")
    for number in (1, 2):
        expect(page.locator("#chat .message.you .not-whole")).to_have_count(number)
        way_on = f" {WAY_ON}" if number > 1 else ""
        again = f"Your message could not be answered. You can change it and send it again.{way_on}"
        expect(refused).to_have_text(again)
        expect(box).to_have_value(HELLO)
        expect(box).to_be_focused()
        expect(page.get_by_role("button", name="Try again")).to_have_count(0)
        if number == 1:
            page.keyboard.press("Enter")
    assert (bubbles(page), tells(place, page)) == ([f"you: {HELLO}"] * 2, [])
    visitor.reload()
    expect(box).to_have_value(HELLO)
    place.models.mended = True
    box.fill("Could you help me?")
    box.press("Enter")
    visitor.hear_out()
    expect(box).to_have_value("")
    expect(refused).to_have_count(0)
    assert [one.split(":")[0] for one in bubbles(page)] == ["you", "you", "you", "bot"]
    assert [event.kind for event in place.newest()] == ["said", "failed", "said", "failed", "said", "replied"]
    sent = [one["content"] for one in place.models.requests[-1].body["messages"] if one["role"] == "user"]
    assert sent == ["Could you help me?"]
    assert (tells(place, page), visitor.complaints) == ([], [])


@pytest.mark.parametrize(("action", "fault"), WAYS)
@pytest.mark.nightly
def test_a_model_that_fails_for_good_is_walked_past_to_the_end(
    place: Place, visitor: Visitor, action: str, fault: str
) -> None:
    """Two messages are asked for, and none is answered."""
    page = come(visitor, f"{action}-{fault}")
    on = page.get_by_role("button", name="Continue")
    card = page.locator("#side .failed")
    expect(card).to_be_visible()
    expect(card).not_to_contain_text(WAY_ON)
    expect(on).to_be_disabled()
    if fault == "500":
        page.get_by_role("button", name="Try again").click()
    else:
        page.locator("#box textarea").press("Enter")
    if (action, fault) == ("stop", "500"):
        expect(page.locator("#completion-code")).to_have_text("NO-REPLY")
        return
    expect(card).to_contain_text(WAY_ON)
    if action == "skip":
        page.get_by_role("button", name="Skip this problem").click()
    else:
        page.locator("label.option").first.click()
        on.click()
    expect(page.locator("#completion-code")).to_have_text("DONE")
    assert (tells(place, page), visitor.complaints) == ([], [])


@pytest.mark.nightly
def test_a_long_wait_is_told_once_and_stopping_it_is_no_failure(place: Place, new_context: NewContext) -> None:
    """The page's clock is put forward; the study would end the session for a failure."""
    page = new_context(own=True).new_page()
    visitor = Visitor(page, place.served.url)
    visitor.arrive("case-hang")
    visitor.until("chat")
    page.clock.install()
    visitor.say(HELLO)
    line = page.locator("[data-late]")
    expect(line).to_have_text("")
    assert line.get_attribute("role") == "status"
    page.clock.fast_forward(9_000)
    expect(line).to_have_text("The reply is taking longer than usual. Your message is saved.")
    page.get_by_role("button", name="Stop the reply").click()
    expect(page.locator("#side .failed p")).to_have_text(STOPPED)
    box = page.locator("#box textarea")
    expect(box).to_have_value(HELLO)
    expect(box).to_be_focused()
    assert [event.kind for event in place.newest()] == ["said", "stopped", "failed"]


@pytest.mark.nightly
def test_what_could_be_read_of_a_reply_that_broke_off_stays_beside_a_button(visitor: Visitor) -> None:
    page = come(visitor, "case-break")
    expect(page.locator("#side .failed [data-act=retry]")).to_be_visible()
    expect(page.locator("#chat .message.bot .text")).to_contain_text("word word")
