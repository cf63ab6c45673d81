"""What a model thought, taken out of the text of its reply: servers without a parser for it leave it there in tags.

Pure. A block of reasoning stands at the beginning of the text (`<think>...</think>`), perhaps followed by another; tags
anywhere else are text. Some templates write the opening tag themselves, so that the text begins with thoughts and only
their end is marked: a closing tag at the end of a line, without an opening one before it. Of models known to have such
a template the text is held back until that tag. Of models of which it is not known the text is held back until the tag
or the end (decision 0015).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from app.backends.base import Delta, ReasoningDelta, ReasoningEnd, StreamEnd, TextDelta
from app.errors import BackendBroken

NAMES = ("think", "thinking", "thought", "thoughts", "reasoning", "reason")
OPENING = re.compile(rf"\s*(?:<({'|'.join(NAMES)})>|\[(THINK)\])", re.IGNORECASE)
"""DeepSeek, Qwen and most others; Magistral."""
TAG = re.compile(rf"</?(?:{'|'.join(NAMES)})>|\[/?THINK\]", re.IGNORECASE)
LINE_END = re.compile(r"[ \t]*(?:\r?\n|\Z)")
LONGEST_TAG = max(len(f"</{name}>") for name in NAMES)
THINK_END = "</think>"
UNOPENED = re.compile(r"deepseek-?r1|\br1-1776|\bqwq|qwen-?3\S*-thinking|minimax-m2|nemotron-3", re.IGNORECASE)
"""Models whose chat template ends the prompt with `<think>`, so that their replies have the closing tag alone. Sources:
mudler/LocalAI#4761 (DeepSeek R1 and its distillations), perplexityai/api-discussion#177 (R1 1776), discussion 6 of
Qwen/QwQ-32B-AWQ, Cerebras/cerebras-cloud-sdk-python#10 and QwenLM/Qwen3-VL#1504 (Qwen3 Thinking),
cubist38/mlx-openai-server#179 (MiniMax M2.1), logancyang/obsidian-copilot#2153 (Nemotron 3). Of servers that send
reasoning apart nothing is held back."""
MOST_HELD = 1_000_000
"""How many characters are held back; a reply with more before the end of its reasoning fails."""
_TAG_BEGINS = re.compile(r"(?:<[/a-z]*|\[[/THINK]*)\Z", re.IGNORECASE)


@dataclass(slots=True)
class ReasoningSplitter:
    """Divides the text of one reply as it comes, wherever it is cut."""

    until: str = ""
    """The text that ends the reasoning with which replies begin, if it is known that they do. A complete reply without
    it is one without reasoning."""
    hold: bool = False
    """Whether text is held back, because it is not known whether replies begin with reasoning without an opening tag:
    until a closing tag comes (any, anywhere, that closes nothing), the reasoning turns out to be marked, or the reply
    is complete. Of a reply that was cut off before, it stays unknown what it is, and it is given as reasoning."""
    unopened: bool = False
    """Whether the reasoning turned out to have no opening tag."""
    marked: bool = False
    """Whether the reasoning turned out to be apart from the text, or to have an opening tag."""
    _kept: list[str] = field(default_factory=list)
    _kept_chars: int = 0
    _held: str = ""
    """Text that may be part of a tag."""
    _state: str = "start"
    """`start` (only blanks so far), `reasoning`, `until`, or `text`."""
    _closing: str = ""
    _said: bool = False
    """Whether a block of reasoning has ended."""
    _open: int = 0
    """How many opening tags in the text have no closing one yet."""

    def __post_init__(self) -> None:
        if self.until:
            self._state, self._closing = "until", self.until

    def split(self, delta: Delta) -> Iterator[Delta]:
        """Give the deltas that a delta completes; raises BackendBroken where too much would be held back."""
        for one in self._split(delta):
            yield from self._withheld(one) if self.hold else (one,)
        if len(self._held) + self._kept_chars > MOST_HELD:
            raise BackendBroken(
                f"More than {MOST_HELD:,} characters came and no end of the reasoning.", reason="too_long"
            )

    def flush(self) -> Iterator[Delta]:
        """Give the text that is still held back, of a reply that failed. Of a beginning it is not decided whether it is
        a mark of reasoning, so it is not given as text; blanks before a reply are no part of it."""
        rest, undecided = self._released() + self._held, self.hold or self._state == "start"
        self._held = ""
        if undecided and rest.strip():
            yield ReasoningDelta(rest)
        elif rest and not undecided:
            yield self._own(rest)

    def _withheld(self, delta: Delta) -> Iterator[Delta]:
        """Hold back what is text so far."""
        match delta:
            case TextDelta(text) if not self.marked:
                self._kept.append(text)
                self._kept_chars += len(text)
                yield ReasoningDelta("")
                return
            case ReasoningEnd():
                yield ReasoningDelta(self._released())
            case StreamEnd(reason):
                if kept := self._released():
                    yield TextDelta(kept) if reason == "stop" else ReasoningDelta(kept)
            case ReasoningDelta() if not self.marked:
                yield delta
                return
            case _:
                pass
        self.hold = False
        yield delta

    def _released(self) -> str:
        kept = "".join(self._kept)
        self._kept, self._kept_chars = [], 0
        return kept

    def _split(self, delta: Delta) -> Iterator[Delta]:
        match delta:
            case TextDelta(text):
                self._held += text
                yield from self._divided(last=False)
            case ReasoningDelta(text) if text and self._state in ("start", "until") and not self._held.strip():
                self._state, self.marked = "start", True  # the text is the reply
                yield delta
            case StreamEnd():
                if self._state == "until" and delta.finish_reason == "stop" and self._end_of_reasoning() < 0:
                    self._state, self._said = "text", True
                yield from self._divided(last=True)
                if self._held:
                    held, self._held = self._held, ""
                    yield self._own(held)
                yield delta
            case _:
                yield delta

    def _own(self, text: str) -> Delta:
        return ReasoningDelta(text) if self._state in ("reasoning", "until") else TextDelta(text)

    def _divided(self, *, last: bool) -> Iterator[Delta]:
        before = ""
        while before != (before := self._state + self._held):
            match self._state:
                case "start":
                    self._start(last=last)
                case "reasoning" | "until":
                    yield from self._reason(last=last)
                case _:
                    yield from self._text(last=last)

    def _start(self, *, last: bool) -> None:
        if found := OPENING.match(self._held):
            self._closing = "[/THINK]" if found[2] else f"</{found[1]}>"
            self._held, self._state, self.marked = self._held[found.end() :], "reasoning", True
        elif (begun := self._held.lstrip()) and (last or not _may_open(begun)):
            if self._said:
                self._held = begun
            self._state = "text"

    def _reason(self, *, last: bool) -> Iterator[Delta]:
        if self._state == "until" and OPENING.match(self._held):
            self._start(last=last)
            return
        if (at := self._end_of_reasoning()) < 0:
            if last or self._state == "reasoning":
                yield from self._pass(len(self._held) if last else _keep_back(self._held, self._closing))
            else:
                yield ReasoningDelta("")
            return
        yield from self._pass(at)
        self._held = self._held[len(self._closing) :]
        self._state, self._said = "start", True

    def _end_of_reasoning(self) -> int:
        """Where the closing tag begins; -1 if it has not come."""
        found = re.search(re.escape(self._closing), self._held, re.IGNORECASE | re.ASCII)
        return found.start() if found else -1

    def _text(self, *, last: bool) -> Iterator[Delta]:
        if self._said:  # the reasoning was marked: nothing in the text is a mark of it
            yield from self._pass(len(self._held))
            return
        if found := TAG.search(self._held):
            yield from self._pass(found.start())
            yield from self._tag(len(found[0]), closing="/" in found[0], last=last)
            return
        begun = None if last else _TAG_BEGINS.search(self._held[-LONGEST_TAG:])
        yield from self._pass(len(self._held) - (len(begun[0]) if begun else 0))

    def _tag(self, length: int, *, closing: bool, last: bool) -> Iterator[Delta]:
        """Deal with a tag that the text held back begins with: it is text, unless it closes what was never opened."""
        rest = self._held[length:]
        if closing and not self._open:
            if not last and not self.hold and not rest.strip(" \t\r"):
                return  # how the line goes on decides
            if self.hold or LINE_END.match(rest):
                yield ReasoningEnd()
                self._held, self._state, self._said, self.unopened = rest, "start", True, True
                return
        self._open += -1 if closing and self._open else not closing
        yield from self._pass(length)

    def _pass(self, length: int) -> Iterator[Delta]:
        if length > 0:
            delta, self._held = self._own(self._held[:length]), self._held[length:]
            yield delta


def _may_open(text: str) -> bool:
    """Whether text without a tag so far can still begin with one."""
    low = text.lower()
    return any(tag.startswith(low) for tag in (*(f"<{name}>" for name in NAMES), "[think]"))


def _keep_back(text: str, closing: str) -> int:
    """How much of a text cannot be the beginning of a closing tag."""
    for length in range(min(len(closing) - 1, len(text)), 0, -1):
        if text[-length:].lower() == closing[:length].lower():
            return len(text) - length
    return len(text)
