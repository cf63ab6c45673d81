"""The page in a real browser, as people use it and as they should not."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from app.config.settings import Settings
from tests.browser.conftest import serve
from tests.browser.told import attempts, count, newest_facts
from tests.browser.visitor import Visitor
from tests.fakes import studies
from tests.fakes.served import FAST, Process

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600)]
NewContext = Callable[..., BrowserContext]
EXPLAIN = "Please explain the Pythagorean theorem."
TICKED = "form => [...new FormData(form)].filter(([, value]) => value !== '')"


def in_its_storage(page: Page) -> str:
    """All that a page can keep there: words, and the names of databases and caches, of which there is none."""
    kept = (
        "Promise.all([indexedDB.databases(), caches.keys()]).then((more) => JSON.stringify([...more, document.cookie]))"
    )
    assert page.evaluate(kept) == '[[],[],""]'
    return str(page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])"))


@pytest.fixture
def usual(tmp_path: Path) -> Iterator[Process]:
    """A study with the limits that an operator gets who sets none."""
    env = {f"PARLEY_{name.upper()}": str(Settings.model_fields[name].default) for name in FAST}
    yield from serve(tmp_path, studies.short(tmp_path), env=env)


def test_a_whole_study_by_mouse(usual: Process, new_context: NewContext) -> None:
    """With no error in the console, no other host, no id in the address and nothing in the browser's storage; and the
    limits hold up nobody, at a pace that no person has."""
    page = new_context().new_page()
    violations: list[str] = []
    page.expose_function("violated", lambda what: violations.append(what))
    page.add_init_script(
        "addEventListener('securitypolicyviolation', (e) => violated(`${e.violatedDirective} ${e.blockedURI}`))"
    )
    held_up: list[str] = []
    page.on("response", lambda one: held_up.append(one.url) if one.status >= 400 else None)
    visitor = Visitor(page, usual.url)
    visitor.arrive("short", "?PROLIFIC_PID=5f3a0c6e9d1b2a7c")
    assert page.url == f"{usual.url}/"
    visitor.finish()
    assert "DONE" in visitor.text
    assert (visitor.complaints, visitor.elsewhere, violations, held_up) == ([], set(), [], [])
    stored = in_its_storage(page)
    assert not [word for word in (*visitor.said, "5f3a0c6e", "went well") if word in stored]
    kinds = [event.kind for event in newest_facts(usual)]
    assert (kinds.count("finished"), kinds.count("said")) == (1, len(visitor.said))
    visitor.reload()
    expect(page.locator("#completion-code")).to_be_visible()


@pytest.mark.nightly
def test_a_reply_can_be_stopped_and_the_next_outlives_a_reload(slow: Process, new_context: NewContext) -> None:
    """What was said of the stopped one stays. The next is whole after the reload, and the model was asked for it once.
    What was being typed is still in the box; what was deleted or sent does not come back, and sent at once is no draft.
    """
    page = new_context().new_page()
    visitor = Visitor(page, slow.url)
    visitor.arrive("demo")
    visitor.until("chat")
    box, replies = page.locator("#box textarea"), page.locator("#chat .message.bot")
    drafts: list[str] = []
    page.on("request", lambda request: drafts.append(request.url) if request.url.endswith("/api/draft") else None)
    visitor.say(EXPLAIN)
    expect(replies.locator(".text")).to_contain_text("a")  # and not only its label
    page.get_by_role("button", name="Stop the reply").click()
    visitor.hear_out()
    expect(page.get_by_role("button", name="Stop the reply")).to_have_count(0)
    *_, replied = (event for event in newest_facts(slow) if event.kind == "replied")
    assert replied.data["finish_reason"] == "stopped"
    assert 0 < len(replied.data["text"]) < 300
    assert replied.data["text"].split()[0] in visitor.reply  # the last may be the number of a list, or half a formula
    assert count(slow, "stopped") == 1

    visitor.say("Why is that so?")
    expect(replies.nth(1).locator(".text")).to_contain_text("a")
    with page.expect_response("**/api/draft"):
        box.press_sequentially("And what if", delay=10)
    visitor.reload()
    expect(box).to_have_value("And what if")
    assert "Why is that so?" in page.locator("#chat .message.you").last.inner_text()
    visitor.hear_out()
    expect(box).to_have_value("And what if")
    *_, said, replied = newest_facts(slow)
    assert (said.kind, replied.kind) == ("said", "replied")
    assert attempts(slow) == 2, "once for each message"
    assert len(visitor.reply) > 0.5 * len(replied.data["text"])

    with page.expect_response("**/api/draft"):
        box.fill("")
    drafts.clear()
    visitor.say("Thank you.")
    expect(replies.nth(2).locator(".text")).to_contain_text("a")  # else Stop would give the message back
    page.get_by_role("button", name="Stop the reply").click()
    expect(page.get_by_role("button", name="Stop the reply")).to_have_count(0)
    expect(box).to_have_value("")
    assert drafts == []
    visitor.reload()
    expect(box).to_have_value("")
    assert visitor.complaints == []


def test_forms_outlive_reloads_and_the_back_button_and_the_problem_is_not_copied(
    fast: Process, new_context: NewContext
) -> None:
    """Nobody waits for what was typed to be kept: the page sends what the server does not have as it is left."""
    page = new_context(permissions=["clipboard-read", "clipboard-write"]).new_page()
    visitor = Visitor(page, fast.url)
    visitor.arrive("short")
    visitor.until("What do you think")
    comment = page.locator("textarea[name=comment]")
    with page.expect_response("**/api/draft"):
        comment.fill("Half a thought")
        page.locator("label.option", has_text="Paper").click()
    visitor.reload()
    expect(comment).to_have_value("Half a thought")
    expect(page.locator("input[value=Paper]")).to_be_checked()
    comment.fill("A whole thought")
    visitor.reload()
    expect(comment).to_have_value("A whole thought")

    visitor.until("Please read the following question")
    was, problem = visitor.text, page.locator(".problem .text").inner_text().split("\n")[0][:40]
    page.evaluate("navigator.clipboard.writeText('before')")
    page.locator(".problem .text").click(click_count=3)
    page.keyboard.press("Control+c")
    page.evaluate("getSelection().selectAllChildren(document.querySelector('[data-nocopy]'))")
    page.keyboard.press("Control+c")
    assert page.evaluate("navigator.clipboard.readText()") == "before"
    expect(page.locator("#note")).to_contain_text("cannot be copied")
    page.keyboard.press("Control+a")
    page.keyboard.press("Control+c")
    assert problem not in page.evaluate("navigator.clipboard.readText()")

    page.go_back()
    again = page.get_by_role("button", name="Continue where I left off")
    again.or_(page.locator("#heading")).wait_for()
    if again.count():
        again.click()
        visitor.ready()
    assert visitor.text == was
    page.go_back()
    page.go_forward()
    visitor.ready()
    assert visitor.text == was
    assert count(fast, "enrolled") == 1


@pytest.mark.nightly
def test_what_people_write_is_shown_as_written_and_ticked_twice_is_a_draft(
    fast: Process, new_context: NewContext
) -> None:
    """No script of a participant's runs, no image is fetched, and `a<b and c>d` reads so. The second reply is rated as
    the first was, and the page reloaded before that is sent."""
    page = new_context().new_page()
    visitor = Visitor(page, fast.url)
    visitor.arrive("rated")
    visitor.until("chat")
    nasty = "<img src=x onerror=alert(1)> a<b and c>d ![](https://evil.example/x.png) <script>alert(2)</script>"
    alerts: list[str] = []
    page.on("dialog", lambda dialog: (alerts.append(dialog.message), dialog.dismiss()))
    rating = page.locator("#side form")
    visitor.say(nasty)
    rating.wait_for()
    shown = page.locator("#chat .message.you").inner_text()
    assert "a<b and c>d" in shown
    assert "<script>alert(2)</script>" in shown
    assert json.dumps(nasty)[1:-1] in json.dumps([dict(e.data) for e in newest_facts(fast)], ensure_ascii=False)
    visitor.rate()
    visitor.say(EXPLAIN)
    rating.wait_for()
    with page.expect_response("**/api/draft"):
        visitor.fill_in("#side form")
    ticked = rating.evaluate(TICKED)
    visitor.reload()
    expect(rating.locator("input:checked")).to_have_count(len(ticked))
    assert rating.evaluate(TICKED) == ticked != []
    assert (alerts, visitor.elsewhere) == ([], set())
