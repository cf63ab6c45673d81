"""What participants and models wrote, shown to researchers: rendered as it was read, or plain where that is heavy.

A message can be written so that rendering it takes seconds, or that a tab hangs on it. What has too much markup is
shown as it was typed, as code; and so is all that comes after a page has rendered enough.
"""

from __future__ import annotations

from dataclasses import replace

from markupsafe import Markup, escape

from app.web.rendering import markdown
from app.web.rendering.markdown import MOST_MARKS, as_code, markup, too_complex
from experiments.study.screen import ChatMessage, ChatView, ReplyView, RoundView, Screen, TranscriptBlock

MOST_MARKS_A_PAGE = 16_000
MOST_MARKS_A_LINE = 100
MOST_CHARS = 20_000
MOST_CHARS_A_PAGE = 1_000_000
CUT = "… shortened here: the data have {more:,} more characters."


class BudgetedRenderer:
    """Renders the texts of one page; `dollars` makes a single $ delimit maths."""

    def __init__(self, *, dollars: bool = False) -> None:
        self._dollars = dollars
        self._marks = MOST_MARKS_A_PAGE
        self._chars = MOST_CHARS_A_PAGE

    def __call__(self, text: str) -> Markup:
        """A text as blocks of HTML."""
        # markdown.py lets no tag of an author through, and here no picture either
        return Markup(markdown.html(self.light(text), images=False, dollars=self._dollars))  # noqa: S704

    def line(self, text: str) -> Markup:
        """A question or an option as a run of words; what participants wrote may have been filled in."""
        marks = markup(text)
        if marks > min(MOST_MARKS_A_LINE, self._marks):
            return escape(text)
        self._marks -= marks
        return Markup(markdown.line(text))  # noqa: S704  (as above)

    def light(self, text: str) -> str:
        """The text, or what shows it as it was typed, so that it is rendered in a moment."""
        most = max(0, min(MOST_CHARS, self._chars))
        shown, more = text[:most], len(text) - most
        self._chars -= len(shown)
        if more > 0:
            return f"{as_code(shown)}\n\n{CUT.format(more=more)}"
        if too_complex(shown, min(MOST_MARKS, self._marks)):
            return as_code(shown)
        self._marks -= markup(shown)
        return shown

    def screen(self, shown: Screen) -> Screen:
        """A screen whose conversations are rendered in a moment."""
        blocks = (self._transcript(one) if isinstance(one, TranscriptBlock) else one for one in shown.panel.blocks)
        chat = self._chat(shown.panel.chat) if shown.panel.chat else None
        return replace(shown, panel=replace(shown.panel, blocks=tuple(blocks), chat=chat))

    def _transcript(self, talk: TranscriptBlock) -> TranscriptBlock:
        return replace(talk, messages=tuple(self._message(said) for said in talk.messages))

    def _message(self, said: ChatMessage) -> ChatMessage:
        return replace(said, text=self.light(said.text))

    def _chat(self, chat: ChatView) -> ChatView:
        """With columns it is told by rounds, and its messages are not shown; without, by messages."""
        messages = () if chat.columns else tuple(self._message(said) for said in chat.messages)
        return replace(chat, messages=messages, rounds=tuple(self._round(one) for one in chat.rounds))

    def _round(self, one: RoundView) -> RoundView:
        return replace(one, message=self.light(one.message), replies=tuple(self._reply(each) for each in one.replies))

    def _reply(self, reply: ReplyView) -> ReplyView:
        return replace(reply, text=self.light(reply.text) if reply.text else "")
