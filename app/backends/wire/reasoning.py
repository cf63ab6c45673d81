"""Take a model's thoughts out of the text of its reply: servers without a parser for them leave them there in marks.

Pure. Marks are data (`MARKS`). A block of reasoning stands at the beginning of the text, perhaps followed by another;
marks anywhere else are text. Some templates write the opening mark themselves, so that the text begins with thoughts
and only their end is marked: a closing tag without an opening one before it. Of models known to have such a template
the text is held back until that tag. Of others it is given as it comes; a closing tag then says that it was reasoning.
Marks of the end, which some servers send as text, are taken off at the very end (decision 0015).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from app.backends.base import Delta, ReasoningDelta, ReasoningEnd, StreamEnd, TextDelta
from app.errors import BackendBroken

NAMES = ("think", "thinking", "thought", "thoughts", "reasoning", "reason")
# ByteDance's Seed, LongCat, MiniMax
PREFIXES = ("", "seed:", "longcat_", "mm:")
HARMONY = "<|channel|>{}<|message|>"
# An opening mark in small letters, and what closes it: the first is part of the mark, others begin what follows.
MARKS: dict[str, tuple[str, ...]] = {
    **{f"<{prefix}{name}>": (f"</{prefix}{name}>",) for prefix in PREFIXES for name in NAMES},
    "[think]": ("[/think]",),  # Magistral
    "◁think▷": ("◁/think▷",),  # Kimi
    "<|think|>": ("<|/think|>",),
    "<|channel>thought": ("<channel|>",),  # Gemma
    "<|start_thinking|>": ("<|end_thinking|>",),  # Command A
    "<|begin_of_thought|>": ("<|end_of_thought|>",),  # OpenThinker, Sky-T1
    "<|inner_prefix|>": ("<|inner_suffix|>",),  # Apertus
    **{
        start + HARMONY.format(channel): ("<|end|>", "<|start|>", "<|channel|>")
        for start in ("", "<|start|>assistant")
        for channel in ("analysis", "commentary")
    },
}
# Closing marks that may come without an opening one.
CLOSING = tuple({closes[0] for closes in MARKS.values() if closes[0] != "<|end|>"})
# What may stand before the reply itself.
REPLY = (
    *(start + HARMONY.format(final) for start in ("", "<|start|>assistant") for final in ("final", "final json")),
    *("<|start|>assistant<|message|>", "<|im_start|>assistant\n", "assistantfinal"),
    *("<|start_response|>", "<|begin_of_solution|>", "<|start_text|>"),
)
ENDS = (
    *("<|im_end|>", "</s>", "<|endoftext|>", "<|eot_id|>", "<|eom_id|>", "<|eot|>", "<|end|>", "<|return|>", "<eos>"),
    *(
        "<end_of_turn>",
        "<turn|>",
        "<|end_of_text|>",
        "<\uff5cend\u2581of\u2581sentence\uff5c>",
        "<|end_of_sentence|>",
        "<|endofturn|>",
    ),
    *("<|end_of_turn_token|>", "<|end_of_turn|>", "<|end_response|>", "<|end_text|>", "<|end_of_solution|>", "<|eos|>"),
    *("[eos]", "[|endofturn|]", "[e~[", "<|user|>", "<|im_start|>"),
)
# gpt-oss where the server drops the special tokens of harmony
BARE, BARE_END = re.compile(r"\s*analysis(?=[A-Z0-9])"), "assistantfinal"
THINK_END = "</think>"
# Models whose chat template ends the prompt with `<think>`, so that their replies have the closing tag alone. Sources:
# mudler/LocalAI#4761 (DeepSeek R1 and its distillations), perplexityai/api-discussion#177 (R1 1776), discussion 6 of
# Qwen/QwQ-32B-AWQ, Cerebras/cerebras-cloud-sdk-python#10 and QwenLM/Qwen3-VL#1504 (Qwen3 Thinking),
# cubist38/mlx-openai-server#179 (MiniMax M2.1), logancyang/obsidian-copilot#2153 (Nemotron 3). Of servers that send
# reasoning apart nothing is held back.
UNOPENED = re.compile(r"deepseek-?r1|\br1-1776|\bqwq|qwen-?3\S*-thinking|minimax-m2|nemotron-3", re.IGNORECASE)
# How many characters are held back; a reply with more before the end of its reasoning fails.
MOST_HELD = 1_000_000


@cache
def _any_of(marks: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, sorted(marks, key=len, reverse=True))), re.IGNORECASE | re.ASCII)


@cache
def _beginnings(marks: tuple[str, ...]) -> frozenset[str]:
    return frozenset(mark[:length] for mark in marks for length in range(1, len(mark)))


OPENING, REPLY_BEGINS, TAG = _any_of((*MARKS,)), _any_of(REPLY), _any_of((*MARKS, *CLOSING))
OPENING_BEGUN = _beginnings((*MARKS, *REPLY, "analysisA"))
TEXT_BEGUN = _beginnings((*MARKS, *CLOSING, *ENDS, "<s>"))
LONGEST = max(map(len, TEXT_BEGUN)) + 1
# Whether a closing tag that nothing opened stands in a sentence about tags: quoted, or between blanks.
QUOTED = re.compile(r"[ \t`'\"]\Z")
LINE_END = re.compile(r"[ \t]*(?:\r?\n|\Z)")


@dataclass(slots=True)
class ReasoningSplitter:
    """Divides the text of one reply as it comes, wherever it is cut."""

    until: str = ""
    """The text that ends the reasoning with which replies begin, if it is known that they do. A complete reply without
    it is one without reasoning."""
    unopened: bool = False
    """True if the reasoning turned out to have no opening mark."""
    marked: bool = False
    """True if the reasoning turned out to be apart from the text, or to have an opening mark."""
    _held: str = ""
    """Text that may be part of a mark."""
    _state: str = "start"
    """`start` (only blanks so far), `reasoning`, `until`, or `text`."""
    _closes: tuple[str, ...] = ()
    _searched: int = 0
    _said: bool = False
    """True once a block of reasoning has ended."""
    _open: int = 0
    """The number of opening marks in the text that have no closing one yet."""
    _last: str = ""
    """The last character that was given as text."""
    _strikes: bool = False
    """True if the text has HTML's tag for struck-out text, which `</s>` closes."""

    def __post_init__(self) -> None:
        if self.until:
            self._state, self._closes = "until", (self.until,)

    def split(self, delta: Delta) -> Iterator[Delta]:
        """Give the deltas that a delta completes; raises BackendBroken where too much would be held back."""
        match delta:
            case TextDelta(text):
                self._held += text
                yield from self._divided(last=False)
                if len(self._held) > MOST_HELD:
                    what = f"More than {MOST_HELD:,} characters came and no end of the reasoning."
                    raise BackendBroken(what, reason="too_long")
            case ReasoningDelta(text) if text and self._state in ("start", "until") and not self._held.strip():
                self._state, self.marked = "start", True  # the text is the reply
                yield delta
            case StreamEnd():
                yield from self._end(delta)
            case _:
                yield delta

    def flush(self) -> Iterator[Delta]:
        """Give the text that is still held back, of a reply that failed. Of a beginning it is not decided whether it is
        a mark of reasoning, so it is not given as text; blanks before a reply are no part of it."""
        rest, undecided = self._held, self._state == "start"
        self._held = ""
        if undecided and rest.strip():
            yield ReasoningDelta(rest)
        elif rest and not undecided:
            yield self._own(rest)

    def _end(self, end: StreamEnd) -> Iterator[Delta]:
        if self._state == "until" and end.finish_reason == "stop" and self._find_closing() is None:
            self._state, self._said = "text", True
            self._held = ("analysis" if self._closes == (BARE_END,) else "") + self._held
        yield from self._divided(last=True)
        held, self._held = self._held, ""
        if self._state == "text":
            held = held[: _kept(held, strikes=self._strikes, whole=True)]
        if held:
            yield self._own(held)
        yield end

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
        begun = self._held.lstrip()
        if BARE.match(self._held):
            self._enter("until", (BARE_END,), begun.removeprefix("analysis"))
        elif found := OPENING.match(begun):
            self._enter("reasoning", MARKS[found[0].lower()], begun[found.end() :])
        elif found := REPLY_BEGINS.match(begun):
            self._said, self._state, self._held = True, "text", begun[found.end() :].lstrip()
        elif begun and (last or begun.lower() not in OPENING_BEGUN):
            self._held, self._state = begun if self._said else self._held, "text"

    def _enter(self, state: str, closes: tuple[str, ...], rest: str) -> None:
        self._state, self._closes, self._held, self.marked, self._searched = state, closes, rest, True, 0

    def _reason(self, *, last: bool) -> Iterator[Delta]:
        if self._state == "until" and OPENING.match(self._held.lstrip()):
            self._start(last=last)
            return
        if (found := self._find_closing()) is not None:
            yield from self._pass(found.start())
            kept = found[0].lower() != self._closes[0].lower()
            self._held = self._held[0 if kept else len(found[0]) :]
            self._state, self._said = "start", True
        elif last or self._state == "reasoning":
            begun = 0 if last else _begun(self._held, _beginnings(self._closes))
            yield from self._pass(len(self._held) - begun)
        else:
            yield ReasoningDelta("")  # a sign of life

    def _find_closing(self) -> re.Match[str] | None:
        longest = max(map(len, self._closes))
        found = _any_of(self._closes).search(self._held, max(0, self._searched - longest))
        self._searched = 0 if self._state == "reasoning" else len(self._held)
        return found

    def _text(self, *, last: bool) -> Iterator[Delta]:
        self._strikes = self._strikes or "<s>" in self._held
        if not self._said and (found := TAG.search(self._held)):
            yield from self._pass(found.start())
            yield from self._tag(found[0], last=last)
        elif not last:
            yield from self._pass(_kept(self._held, strikes=self._strikes, whole=False))

    def _tag(self, tag: str, *, last: bool) -> Iterator[Delta]:
        """Handle a tag at the beginning of the held text: it is text, unless it closes a mark that was never opened."""
        rest, opens = self._held[len(tag) :], tag.lower() in MARKS
        if not opens and not self._open:
            if not last and not rest.strip(" \t\r"):
                return  # how the line goes on decides
            if LINE_END.match(rest) or not QUOTED.search(self._last):
                yield ReasoningEnd()
                self._held, self._state, self._said, self.unopened = rest, "start", True, True
                return
        self._open += -1 if not opens and self._open else opens
        yield from self._pass(len(tag))

    def _pass(self, length: int) -> Iterator[Delta]:
        if length > 0:
            text, self._held = self._held[:length], self._held[length:]
            self._last = text[-1]
            yield self._own(text)


def _kept(text: str, *, strikes: bool, whole: bool) -> int:
    """The length without marks of the end at its end, nor the beginning of one if the text may go on."""
    rest = text if whole else text[: len(text) - _begun(text, TEXT_BEGUN)]
    while True:
        found = rest.rstrip()
        low = found[-LONGEST:].lower()
        mark = next((mark for mark in ENDS if low.endswith(mark) and not (strikes and mark == "</s>")), None)
        if mark is None:
            return len(rest)
        rest = found[: -len(mark)]


def _begun(text: str, beginnings: frozenset[str]) -> int:
    """Count the characters at the end of a text that may be the beginning of a mark."""
    tail = text[-LONGEST:].lower()
    return next((length for length in range(len(tail), 0, -1) if tail[-length:] in beginnings), 0)
