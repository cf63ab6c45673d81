"""Renders texts of participants and models for researchers, within a budget for each page: a message can be written so
that rendering it takes seconds or blocks a browser tab. Beyond it, texts are shown as typed, as code."""

from __future__ import annotations

from dataclasses import replace

from markupsafe import Markup, escape

from app.rendering import markdown
from app.rendering.markdown import MOST_MARKS, as_code, markup, too_complex
from experiments.study.screen import ChatMessage, ChatView, ReplyView, RoundView, Screen, TranscriptBlock
from problems.pictures import PictureMap, shortened

MOST_MARKS_A_PAGE = 16_000
MOST_MARKS_A_LINE = 100
MOST_CHARS = 20_000
MOST_CHARS_A_PAGE = 1_000_000
CUT = "… shortened here: the data have {more:,} more characters."


class BudgetedRenderer:
    """With `dollars` a single $ delimits maths. `pictures` are shown in the study's own texts (`written`, `line`)."""

    def __init__(self, *, dollars: bool = False, pictures: PictureMap | None = None) -> None:
        self._dollars = dollars
        self._pictures = pictures
        self._marks = MOST_MARKS_A_PAGE
        self._chars = MOST_CHARS_A_PAGE

    def __call__(self, text: str, *, typed: bool = False) -> Markup:
        """A text as blocks of HTML; `typed` if a person typed it."""
        # markdown.py escapes what a text has of HTML
        return Markup(markdown.html(self.light(text), authored=False, dollars=self._dollars, typed=typed))  # noqa: S704

    def line(self, text: str) -> Markup:
        """A question or an option as inline HTML, with the study's pictures; it may contain a participant's text."""
        text = shortened(text)
        marks = markup(text)
        if marks > min(MOST_MARKS_A_LINE, self._marks):
            return escape(text)
        self._marks -= marks
        return Markup(markdown.line(text, dollars=self._dollars, pictures=self._pictures))  # noqa: S704  (as above)

    def written(self, text: str, *, typed: bool = False) -> Markup:
        """A text of the study as blocks of HTML, with its pictures; `typed` as above."""
        how = {"authored": False, "dollars": self._dollars, "typed": typed, "pictures": self._pictures}
        return Markup(markdown.html(self.light(shortened(text)), **how))  # noqa: S704

    def light(self, text: str) -> str:
        """The text, or Markdown that shows it as typed if rendering it would exceed the budget."""
        most = max(0, min(MOST_CHARS, self._chars))
        shown, more = text[:most], len(text) - most
        self._chars -= len(shown)
        if more > 0:
            return f"{as_code(shown)}\n\n{CUT.format(more=more)}"
        if too_complex(shown, min(MOST_MARKS, self._marks)):
            return as_code(shown)
        self._marks -= markup(shown)
        return shown

    def screen(self, screen: Screen) -> Screen:
        blocks = (self._transcript(one) if isinstance(one, TranscriptBlock) else one for one in screen.panel.blocks)
        chat = self._chat(screen.panel.chat) if screen.panel.chat else None
        return replace(screen, panel=replace(screen.panel, blocks=tuple(blocks), chat=chat))

    def _transcript(self, block: TranscriptBlock) -> TranscriptBlock:
        messages = (replace(said, text=shortened(said.text)) if block.own else said for said in block.messages)
        return replace(block, messages=tuple(map(self._message, messages)))

    def _message(self, message: ChatMessage) -> ChatMessage:
        return replace(message, text=self.light(message.text))

    def _chat(self, chat: ChatView) -> ChatView:
        messages = () if chat.columns else tuple(self._message(said) for said in chat.messages)
        return replace(chat, messages=messages, rounds=tuple(self._round(one) for one in chat.rounds))

    def _round(self, view: RoundView) -> RoundView:
        return replace(
            view, message=self.light(view.message), replies=tuple(self._reply(each) for each in view.replies)
        )

    def _reply(self, reply: ReplyView) -> ReplyView:
        return replace(reply, text=self.light(reply.text) if reply.text else "")
