"""The page in a real browser, as people use it and as they should not."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from app.settings import Settings
from tests.browser.told import attempts, count, newest_facts
from tests.browser.visitor import Visitor
from tests.browser.waiting import until
from tests.fakes import studies
from tests.fakes.served import FAST, Process

pytestmark = [pytest.mark.browser, pytest.mark.slow]
NewContext = Callable[..., BrowserContext]
EXPLAIN = "Please explain the Pythagorean theorem."
TICKED = "form => [...new FormData(form)].filter(([, value]) => value !== '')"


def fits(page: Page) -> None:
    """Nothing makes the page scroll sideways."""
    wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wide <= 0, f"{wide} px too wide at {page.locator('#heading').inner_text()!r}"


def in_its_storage(page: Page) -> str:
    """All that a page can keep there: words, and the names of databases and caches, of which there is none."""
    kept = (
        "Promise.all([indexedDB.databases(), caches.keys()]).then((more) => JSON.stringify([...more, document.cookie]))"
    )
    assert page.evaluate(kept) == '[[],[],""]'
    return str(page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])"))


def test_a_whole_study_by_mouse(fast: Process, new_context: NewContext) -> None:
    """With no error in the console, no other host, no id in the address and nothing in the browser's storage."""
    page = new_context().new_page()
    violations: list[str] = []
    page.expose_function("violated", lambda what: violations.append(what))
    page.add_init_script(
        "addEventListener('securitypolicyviolation', (e) => violated(`${e.violatedDirective} ${e.blockedURI}`))"
    )
    visitor = Visitor(page, fast.url)
    visitor.arrive("demo", "?PROLIFIC_PID=5f3a0c6e9d1b2a7c")
    assert page.url == f"{fast.url}/"
    visitor.finish()
    assert "PARLEY-DEMO" in visitor.text
    assert (visitor.complaints, visitor.elsewhere, violations) == ([], set(), [])
    stored = in_its_storage(page)
    assert not [word for word in (*visitor.said, "5f3a0c6e", "went well") if word in stored]
    kinds = [event.kind for event in newest_facts(fast)]
    assert (kinds.count("finished"), kinds.count("said")) == (1, len(visitor.said))
    visitor.reload()
    assert visitor.finished


def test_the_limits_hold_up_nobody_who_takes_part(tmp_path: Path, new_context: NewContext) -> None:
    """With the limits that an operator gets who sets none, at a pace that no person has."""
    usual = {name: Settings.model_fields[name].default for name in FAST}
    env = {f"PARLEY_{name.upper()}": str(value) for name, value in usual.items()}
    process = Process(tmp_path, (studies.demo(tmp_path, first_ms=30, pace_ms=1),), env)
    process.start()
    try:
        page = new_context().new_page()
        visitor = Visitor(page, process.url)
        held_up: list[str] = []
        page.on("response", lambda one: held_up.append(one.url) if one.status >= 400 else None)
        visitor.arrive("demo", "?PROLIFIC_PID=5f3a0c6e9d1b2a7c")
        visitor.finish()
        assert (held_up, visitor.complaints) == ([], [])
    finally:
        process.stop()


@pytest.mark.parametrize(
    ("study", "width", "height"),
    [
        ("demo", 320, 640),
        pytest.param("dices", 390, 844, marks=pytest.mark.soak),
        pytest.param("demo", 390, 844, marks=pytest.mark.soak),
        pytest.param("dices", 320, 640, marks=pytest.mark.soak),
    ],
)
def test_a_whole_study_on_a_phone(fast: Process, new_context: NewContext, study: str, width: int, height: int) -> None:
    context = new_context(viewport={"width": width, "height": height}, has_touch=True, is_mobile=True)
    visitor = Visitor(context.new_page(), fast.url, fits)
    visitor.arrive(study)
    visitor.finish()
    assert visitor.complaints == []


def test_reload_in_the_middle_of_a_reply(slow: Process, new_context: NewContext) -> None:
    """The reply is whole afterwards, the model was asked once, and what was being typed is still in the box."""
    page = new_context().new_page()
    visitor = Visitor(page, slow.url)
    visitor.arrive("demo")
    visitor.until("chat")
    visitor.say(EXPLAIN)
    expect(page.locator("#chat .message.bot")).to_contain_text("a")
    with page.expect_response("**/api/draft"):
        page.locator("#box textarea").press_sequentially("And what if", delay=10)
    visitor.reload()
    expect(page.locator("#box textarea")).to_have_value("And what if")
    assert EXPLAIN in page.locator("#chat .message.you").inner_text()
    visitor.hear_out()
    expect(page.locator("#box textarea")).to_have_value("And what if")
    *_, said, replied = newest_facts(slow)
    assert (said.kind, replied.kind) == ("said", "replied")
    assert attempts(slow) == 1, "the words are those that were begun with"
    assert len(visitor.reply) > 0.5 * len(replied.data["text"])


def test_a_draft_outlives_a_reply_and_a_reload_of_a_form(fast: Process, new_context: NewContext) -> None:
    page = new_context().new_page()
    visitor = Visitor(page, fast.url)
    visitor.arrive("short")
    visitor.until("What do you think")
    with page.expect_response("**/api/draft"):
        page.locator("textarea[name=comment]").fill("Half a thought")
        page.locator("label.option", has_text="Paper").click()
    visitor.reload()
    expect(page.locator("textarea[name=comment]")).to_have_value("Half a thought")
    expect(page.locator("input[value=Paper]")).to_be_checked()


def test_what_was_typed_a_moment_ago_is_there_after_a_reload(
    fast: Process, new_context: NewContext, soak: bool
) -> None:
    """Nobody waits for it to be kept: the page sends what the server does not have as it is left."""
    page = new_context().new_page()
    visitor = Visitor(page, fast.url)
    visitor.arrive("short")
    visitor.until("What do you think")
    for turn in range(100 if soak else 5):
        page.locator("textarea[name=comment]").fill(f"Thought {turn}")
        visitor.reload()
        expect(page.locator("textarea[name=comment]")).to_have_value(f"Thought {turn}")


def test_only_what_the_server_does_not_have_is_kept_there(fast: Process, new_context: NewContext) -> None:
    """A message that was sent at once leaves no draft behind; a word that was kept and deleted does not come back."""
    page = new_context().new_page()
    visitor = Visitor(page, fast.url)
    visitor.arrive("demo")
    visitor.until("chat")
    drafts: list[str] = []
    page.on("request", lambda request: drafts.append(request.url) if request.url.endswith("/api/draft") else None)
    visitor.say(EXPLAIN)
    visitor.hear_out()
    page.wait_for_timeout(3_000)
    assert drafts == []
    for text in ("And what if", ""):
        with page.expect_response("**/api/draft"):
            page.locator("#box textarea").fill(text)
    visitor.reload()
    expect(page.locator("#box textarea")).to_have_value("")


def test_what_is_ticked_again_as_it_was_sent_is_a_draft_again(fast: Process, new_context: NewContext) -> None:
    """The second reply is rated as the first was, and the page reloaded before that is sent."""
    page = new_context().new_page()
    visitor = Visitor(page, fast.url)
    visitor.arrive("rated")
    visitor.until("chat")
    rating = page.locator("#side form")
    for turn in range(2):
        visitor.say(EXPLAIN)
        rating.wait_for()
        if not turn:
            visitor.rate()
    with page.expect_response("**/api/draft"):
        visitor.fill_in("#side form")
    ticked = rating.evaluate(TICKED)
    visitor.reload()
    assert rating.evaluate(TICKED) == ticked != []


def test_the_back_button_leads_back_to_where_one_was(fast: Process, new_context: NewContext) -> None:
    page = new_context().new_page()
    visitor = Visitor(page, fast.url)
    visitor.arrive("short")
    visitor.go_on()
    was = visitor.text
    page.go_back()
    page.get_by_role("button", name="Continue where I was").or_(page.locator("#heading")).wait_for()
    if page.get_by_role("button", name="Continue where I was").count():
        page.get_by_role("button").click()
        visitor.ready()
    assert visitor.text == was
    page.go_back()
    page.go_forward()
    visitor.ready()
    assert visitor.text == was
    assert count(fast, "enrolled") == 1
    visitor.finish()


def test_the_problem_cannot_be_copied(fast: Process, new_context: NewContext) -> None:
    context = new_context(permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    visitor = Visitor(page, fast.url)
    visitor.arrive("short")
    visitor.until("Please read the following question")
    problem = page.locator(".problem .text").inner_text().split("\n")[0][:40]
    read = "navigator.clipboard.readText()"
    page.evaluate("navigator.clipboard.writeText('before')")
    page.locator(".problem .text").click(click_count=3)
    page.keyboard.press("Control+c")
    assert page.evaluate(read) == "before"
    page.evaluate("getSelection().selectAllChildren(document.querySelector('[data-nocopy]'))")
    page.keyboard.press("Control+c")
    assert page.evaluate(read) == "before"
    expect(page.locator("#note")).to_contain_text("cannot be copied")
    page.keyboard.press("Control+a")
    page.keyboard.press("Control+c")
    assert problem not in page.evaluate(read)


def test_what_people_write_is_shown_as_written(fast: Process, new_context: NewContext) -> None:
    """No script of a participant's runs, no image is fetched, and `a<b and c>d` reads so."""
    page = new_context().new_page()
    visitor = Visitor(page, fast.url)
    visitor.arrive("short")
    visitor.until("chat")
    nasty = "<img src=x onerror=alert(1)> a<b and c>d ![](https://evil.example/x.png) <script>alert(2)</script>"
    alerts: list[str] = []
    page.on("dialog", lambda dialog: (alerts.append(dialog.message), dialog.dismiss()))
    visitor.say(nasty)
    visitor.hear_out()
    shown = page.locator("#chat .message.you").inner_text()
    assert "a<b and c>d" in shown
    assert "<script>alert(2)</script>" in shown
    assert (alerts, visitor.elsewhere) == ([], set())
    assert json.dumps(nasty)[1:-1] in json.dumps([dict(e.data) for e in newest_facts(fast)], ensure_ascii=False)


def test_a_reply_can_be_stopped_and_what_was_said_of_it_stays(slow: Process, new_context: NewContext) -> None:
    page = new_context().new_page()
    visitor = Visitor(page, slow.url)
    visitor.arrive("demo")
    visitor.until("chat")
    visitor.say(EXPLAIN)
    expect(page.locator("#chat .message.bot")).to_contain_text("a")
    page.get_by_role("button", name="Stop the reply").click()
    visitor.hear_out()
    expect(page.get_by_role("button", name="Stop the reply")).to_have_count(0)
    *_, replied = (event for event in newest_facts(slow) if event.kind == "replied")
    assert replied.data["finish_reason"] == "stopped"
    assert 0 < len(replied.data["text"]) < 300
    assert replied.data["text"].replace("*", "").split()[-1] in visitor.reply
    assert count(slow, "stopped") == 1
    assert visitor.complaints == []


@pytest.mark.parametrize(("width", "columns"), [pytest.param(1280, 2, marks=pytest.mark.soak), (390, 1)])
def test_two_models_answer_side_by_side(fast: Process, new_context: NewContext, width: int, columns: int) -> None:
    """Both are read as they come, beside each other or one below the other; neither is named; a reload keeps all."""
    page = new_context(viewport={"width": width, "height": 844}).new_page()
    visitor = Visitor(page, fast.url, fits)
    visitor.arrive("arena")
    visitor.until("two AI assistants")
    visitor.ask_both(EXPLAIN)
    until(
        page,
        "[...document.querySelectorAll('#talk [data-slot]')].filter((e) => e.textContent.length > 20).length === 2",
    )
    assert page.get_by_role("button", name="Tie").count() == 0
    until(page, "document.documentElement.dataset.waiting === 'false'")
    boxes = [card.bounding_box() for card in page.locator("#talk .replies .card").all()]
    assert len({round(box["x"]) for box in boxes if box}) == columns
    visitor.vote("A is better")
    expect(page.locator("#talk .voted")).to_contain_text("A is better")
    visitor.ask_both("Why is that so?")
    visitor.reload()
    visitor.vote("Tie")
    assert page.locator("#talk .round").count() == 2
    page.get_by_role("article", name="B").last.wait_for()
    html = page.content()
    assert not [name for name in ("careful", "hasty", "scripted") if name in html]
    visitor.end_comparing()
    visitor.finish()
    assert "PARLEY-ARENA" in visitor.text
    assert visitor.complaints == []
    said = next(event for event in newest_facts(fast) if event.kind == "said")
    assert sorted(said.data["models"].values()) == ["careful", "hasty"]
