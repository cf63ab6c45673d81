"""What paint promises: nothing is wiped that is shown, nothing leaks, and no author's tag reaches the page."""

import re
from dataclasses import replace

import pytest

from app.web.participant.view import NOT_WHOLE, PageUpdate, StudyContext, render_page
from experiments.study.fields import Checkbox, MultipleChoiceField, Number, Scale, ShortText, SingleChoice
from experiments.study.screen import (
    MESSAGE_DRAFT,
    ChatMessage,
    ChatView,
    DocumentView,
    Panel,
    ProblemBlock,
    ProgressView,
    ReplyView,
    RoundView,
    Screen,
    StepState,
    ToolStep,
    TranscriptBlock,
    typed,
)
from tests.fakes.parsed_html import ParsedPage

LOOK = StudyContext("A study", "en", "team@example.org")
CHAT = ChatView("AI Chatbot", (ChatMessage("You", "hello"), ChatMessage("Bot", "hi")), remaining=18, max_chars=4000)
FIELDS = (
    SingleChoice(name="colour", text="Which?", options={"r": "Red", "b": r"\(\frac{1}{2}\)"}),
    MultipleChoiceField(name="tools", text="Which ones?", options={"x": "X", "y": "Y"}, required=False),
    Number(name="age", text="How old?", minimum=18, maximum=120),
    ShortText(name="word", text="A word"),
    Checkbox(name="agreed", text="I agree"),
)


def screen_of(panel: Panel, *actions: str, path: str = "step") -> Screen:
    return Screen(path, 3, panel, ProgressView("Question 1 of 2", 0.5), actions)


def painted(screen: Screen, shown: str | None = None, **more: object) -> PageUpdate:
    return render_page(screen, study=LOOK, shown=shown, draft=more.pop("draft", {}), **more)  # type: ignore[arg-type]


def left(screen: Screen, **more: object) -> str:
    return str(painted(screen, **more)["updates"]["left"]["value"])


def controls(page: str) -> list[tuple[str, str, str, bool]]:
    """The controls of a page, as (type, name, value, is checked)."""
    found = [(tag, given) for tag, given in ParsedPage(page).tags if tag in ("input", "textarea")]
    return [(given.get("type", tag), given["name"], given.get("value", ""), "checked" in given) for tag, given in found]


def shown_after(screen: Screen) -> str:
    return str(painted(screen)["shown"])


def test_a_reply_that_arrives_leaves_the_form_and_the_box_alone() -> None:
    before = screen_of(Panel("T", fields=FIELDS, chat=replace(CHAT, waiting=True)))
    chat = replace(CHAT, messages=(*CHAT.messages, ChatMessage("You", "x"), ChatMessage("Bot", "y")), remaining=17)
    after = replace(before, seen=5, panel=replace(before.panel, chat=chat), actions=("say", "submit"))
    updates = painted(after, shown_after(before))["updates"]
    assert "left" not in updates
    assert "side" in updates
    assert "box" not in updates


@pytest.mark.parametrize(("state", "writing"), [("running", False), ("done", True)])
def test_while_a_tool_is_used_nothing_is_said_to_be_written(state: StepState, writing: bool) -> None:
    used = ChatMessage("Bot", "", steps=(ToolStep("Find", state),), interim=True)
    alone = replace(CHAT, messages=(used,), waiting=True)
    columns = replace(CHAT, columns=1, rounds=(RoundView("Hi", (ReplyView("a", "A", waiting=True, used=(used,)),)),))
    for chat, part in ((alone, "chat"), (columns, "talk")):
        page = ParsedPage(str(painted(screen_of(Panel("T", chat=chat)))["updates"][part]["value"]))
        assert [tag for tag, given in page.tags if "data-slot" in given] == ["div"] * writing
        assert [tag for tag, given in page.tags if given.get("class") == "typing"] == ["span"]


def test_a_draft_fills_the_form() -> None:
    draft = {"colour": "b", "tools": ["x", "y"], "age": "1<7", "word": 'a "b"', "agreed": "on"}
    form = left(screen_of(Panel("T", fields=FIELDS), "submit"), draft=draft)
    assert controls(form) == [
        ("radio", "colour", "r", False),
        ("radio", "colour", "b", True),
        ("checkbox", "tools", "x", True),
        ("checkbox", "tools", "y", True),
        ("text", "age", "1<7", False),
        ("text", "word", 'a "b"', False),
        ("checkbox", "agreed", "on", True),
    ]


def row(name: str, heading: str, *options: str) -> SingleChoice:
    return SingleChoice.model_validate(
        {"name": name, "text": name, "options": options or ("No", "Yes"), "matrix": heading}
    )


def test_neighbours_with_a_heading_stand_in_one_table_and_each_is_asked() -> None:
    fields = (
        row("a", "T"),
        row("b", "T"),
        ShortText(name="w"),
        row("c", "T"),
        row("d", "U"),
        row("e", "U", "No", "Maybe"),
    )
    page = left(screen_of(Panel("T", fields=fields), "submit"), draft={"b": "Yes"})
    assert page.count('<section class="card matrix') == 4
    assert page.count('role="radiogroup"') == 5
    assert [name for _, name, _, checked in controls(page) if checked] == ["b"]
    assert [name for _, name, *_ in controls(page)] == [*"aabb", "w", *"ccddee"]


@pytest.mark.parametrize(
    ("options", "kind", "ends"),
    [
        (
            ("(1) Strongly disagree", "(2)", "(3)", "(4) Strongly agree"),
            "columns row",
            ("Strongly disagree", "Strongly agree"),
        ),
        (("(1) Not at all", "(2)", "Rather strongly", "(4) Extremely"), "columns", ()),
        (("Yes", "No, and I can say in a sentence or two why that is so"), "", ()),
    ],
)
def test_a_table_of_either_type_shows_the_points_of_a_scale_side_by_side_and_the_labels_of_its_ends_once(
    options: tuple[str, ...], kind: str, ends: tuple[str, ...]
) -> None:
    scale = Scale(name="b", text="b", options={one: one for one in options}, matrix="T")
    page = left(screen_of(Panel("T", fields=(row("a", "T", *options), scale)), "submit"))
    assert page.count('<section class="card matrix') == 1
    assert f'<section class="card matrix{f" {kind}" if kind else ""}"' in page
    shown = re.findall(r'<span class="end-word">([^<]*)</span>', page)
    assert shown == [*ends, *ends]
    for option in options:
        assert page.count(f'<span class="words">{option}</span>') == 2, "a reader of the screen has the whole label"


HOSTILE = [
    "<script>alert(1)</script>",
    "[x](javascript:alert(1))",
    "<sub onclick=alert(1)>x</sub><br onload=alert(1)>",
    r"\(\text{<img src=x onerror=alert(1)>}\)",
    r"\(\mbox{</mtext></math><iframe/src=//evil.example></iframe>}\)",
    r"\(\unicode{<svg/onload=alert(1)>}\)",
    r"\(\href{javascript:alert(1)}{x}\)",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_no_tag_of_an_author_reaches_the_page(text: str) -> None:
    talk = TranscriptBlock(text, (ChatMessage("You", text), ChatMessage("Bot", text)), text)
    options = SingleChoice(name="o", text=text, help=text, options={"A": text, "B": "b"})
    page = left(screen_of(Panel(text, (talk,), (options,), button=text), "submit"), draft={"o": text})
    found = ParsedPage(page).tags
    assert not [tag for tag, _ in found if tag in ("script", "svg", "iframe", "marquee") or "/" in tag]
    attributes = [item for _, given in found for item in given.items()]
    assert not [value for name, value in attributes if name == "style" and "--options" not in value]
    assert not [name for name, _ in attributes if name.startswith("on")]
    assert not [value for name, value in attributes if name in ("href", "src") and "javascript" in value]


def test_a_reply_that_is_not_whole_says_so() -> None:
    for ended, mark in NOT_WHOLE.items():
        cut = ChatMessage("Bot", "hi", ended)  # type: ignore[arg-type]
        painting = painted(screen_of(Panel(chat=replace(CHAT, messages=(cut,)))))
        assert mark in painting["updates"]["chat"]["value"]
        looked_back = painted(screen_of(Panel(blocks=(TranscriptBlock("AI", (cut,)),))))
        assert mark in looked_back["updates"]["left"]["value"]


@pytest.mark.parametrize("columns", [0, 2])
def test_how_many_messages_are_left_is_told_only_where_no_rule_ends_the_conversation_before(columns: int) -> None:
    def told(*, left: int, may_end: bool) -> str:
        chat = replace(CHAT, remaining=left, may_end=may_end, columns=columns)
        return str(painted(screen_of(Panel(chat=chat), "say"))["updates"]["side"]["value"])

    assert "4" in ParsedPage(told(left=4, may_end=False)).words
    assert "4" not in ParsedPage(told(left=4, may_end=True)).words


def test_a_question_called_text_and_the_next_message_have_each_their_own_draft() -> None:
    field = ShortText(name="text", text="A word")
    screen = screen_of(Panel(fields=(field,), chat=CHAT), "say", "submit")
    draft = typed(screen, {"text": "An answer", MESSAGE_DRAFT: "A message", "other": "x"})
    updates = painted(screen, draft=draft)["updates"]
    assert [value for _, name, value, _ in controls(updates["left"]["value"]) if name == "text"] == ["An answer"]
    assert updates["box"]["value"] == "A message"


def test_the_problem_can_be_read_again_where_a_reply_is_rated() -> None:
    problem = ProblemBlock("Show that **it** ends.", copying=False)
    chat = replace(CHAT, rating=(FIELDS[0],))

    def recalled(chat: ChatView) -> list[str]:
        side = painted(screen_of(Panel(blocks=(problem,), chat=chat), "rate"))["updates"]["side"]["value"]
        return re.findall(r'<details class="recall" data-nocopy>.*?<strong>it</strong>', side, re.DOTALL)

    assert len(recalled(chat)) == 1
    assert recalled(CHAT) == []


def test_a_refused_message_is_marked_and_is_in_the_box_unless_something_was_typed_since() -> None:
    said = tuple(ChatMessage("You", "No.", "unanswered") for _ in range(2))
    chat = replace(CHAT, messages=said[:1], failed="It could not be answered.", refused="No.", minimum=1, remaining=3)
    screen = screen_of(Panel(chat=chat), "say")
    first = painted(screen)
    assert first["updates"]["box"]["value"] == "No."
    assert painted(screen, draft={MESSAGE_DRAFT: "Or else"})["updates"]["box"]["value"] == "Or else"
    assert "This message was not answered." in first["updates"]["chat"]["value"]
    side = first["updates"]["side"]["value"]
    assert ('role="alert">It could not be answered.' in side, "Try again" in side, "data-none" in side) == (
        True,
        False,
        False,
    )
    assert "Messages still needed before you can continue: 1" in side, "it does not count"
    marks = first["marks"]["box"]
    again = screen_of(Panel(chat=replace(chat, messages=said)), "say")
    assert "box" not in painted(screen, shown=marks)["updates"]
    assert painted(again, shown=marks)["updates"]["box"]["value"] == "No.", "it was refused once more"


def test_a_document_is_on_its_own_page_alone() -> None:
    """Its part of the page is the same for all but for the text, which no other page may get."""
    views = [DocumentView("Text", text, 0, 100) for text in ("\nOne person's.", "Another's.")]
    pages = [left(screen_of(Panel(document=view), "edit", "submit")) for view in views]
    assert ["One person&#39;s." in page for page in pages] == [True, False]
    assert ["Another&#39;s." in page for page in pages] == [False, True]
    updates = [painted(screen_of(Panel(document=view), "edit", "submit")) for view in views]
    assert updates[0]["marks"]["left"] == updates[1]["marks"]["left"]
