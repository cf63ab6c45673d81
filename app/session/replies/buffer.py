"""The buffer of a reply in progress. Any number of listeners read it: a reload, a second tab, a restored connection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from io import SEEK_END, StringIO

from app.backends.base import ReasoningDelta, ReasoningEnd, TextDelta
from app.calls.caller import StopSignal

# Each piece costs some 0.1 ms of a processor on its way to the page, whatever its length.
PIECES_PER_S = 500
# How much of a reply is held, and how long, of which it is not known yet whether it begins with reasoning.
HOLD_CHARS, HOLD_S = 200, 0.5
# So that a reply still reads as if it were being written, however many listen.
LONGEST_GATHER_S = 0.4


@dataclass
class Listeners:
    """The number of listeners to replies in this process: the more they are, the longer text gathers for each."""

    count: int = 0

    @property
    def gather_s(self) -> float:
        """The shortest time between two pieces for a listener."""
        return min(self.count / PIECES_PER_S, LONGEST_GATHER_S)

    @contextmanager
    def one_more(self) -> Iterator[None]:
        self.count += 1
        try:
            yield
        finally:
            self.count -= 1


@dataclass
class Hold:
    """Replies side by side whose beginnings are held: all begin to be shown at once."""

    replies: list[ReplyBuffer] = field(default_factory=list)
    over: bool = False

    def end(self) -> None:
        self.over = True
        for reply in self.replies:
            reply.show()


@dataclass
class ReplyBuffer:
    listeners: Listeners = field(default_factory=Listeners)
    """All listeners of the process, where others read other replies."""
    hold: Hold = field(default_factory=Hold)
    reasoning: list[str] = field(default_factory=list)
    length: int = 0
    """The number of characters of text that listeners can read."""
    ready: int = 0
    """The number that may be shown by now: not those with which a mark may begin."""
    hidden: bool = False
    """True if nobody reads it while it is written, as the study may not want it shown."""
    mark: str = ""
    """The mark with which the model ends the conversation; listeners read neither it nor anything after it."""
    marked: bool = False
    paced: bool = False
    """True if text is shown later than it comes, by `pacing`."""
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    whole: bool = False
    """True once all text of a paced reply has arrived."""
    beginnings: int = 0
    stopping: StopSignal = field(default_factory=StopSignal)
    """Given when the participant stops the reply; the model call then ends at once."""
    news: asyncio.Event = field(default_factory=asyncio.Event)
    over: asyncio.Event = field(default_factory=asyncio.Event)
    _written: StringIO = field(default_factory=StringIO)
    _open: str = ""
    _held: list[str] = field(default_factory=list)
    _holds: bool = False
    _release: asyncio.TimerHandle | None = None

    def __post_init__(self) -> None:
        self.hold.replies.append(self)

    @property
    def text(self) -> str:
        return "".join((self._written.getvalue(), self._open, *self._held))

    @property
    def empty(self) -> bool:
        return not (self.ready or self._open or self._held)

    def begin(self, *, hold: bool = False) -> None:
        """Start an attempt, the first or a retry: the text of an earlier attempt is dropped. With `hold` listeners read
        it from 200 characters or 0.5 s on, as its beginning may turn out to be reasoning."""
        self.reasoning = []
        self._restart()
        self._holds = hold and not self.hold.over

    def _restart(self) -> None:
        self.show()
        self._written, self._open, self.length, self.ready, self.marked = StringIO(), "", 0, 0, False
        self.beginnings += 1
        self.news.set()

    def take(self, delta: TextDelta | ReasoningDelta | ReasoningEnd) -> None:
        """Append a piece of the reply; what is reasoning no listener sees, or not any longer."""
        match delta:
            case TextDelta(text):
                self._hold(text) if self._holds else self.add(text)
            case ReasoningDelta(text):
                self.reasoning.append(text)
            case ReasoningEnd():
                self.reasoning.append(self.text)
                self._restart()

    def _hold(self, text: str) -> None:
        if not self._held:
            self._release = asyncio.get_running_loop().call_later(HOLD_S, self.hold.end)
        self._held.append(text)
        if sum(map(len, self._held)) >= HOLD_CHARS:
            self.hold.end()

    def show(self) -> None:
        if self._release is not None:
            self._release.cancel()
        held, self._held, self._holds, self._release = "".join(self._held), [], False, None
        if held:
            self.add(held)

    def add(self, text: str) -> None:
        if self.marked:
            return
        if self.mark:
            text, found, _ = (self._open + text).partition(self.mark)
            self.marked = bool(found)
            sizes = () if found else range(len(self.mark) - 1, 0, -1)
            open_at = len(text) - next((size for size in sizes if text.endswith(self.mark[:size])), 0)
            text, self._open = text[:open_at], text[open_at:]
        self._write(text)

    def _write(self, text: str) -> None:
        self._written.seek(0, SEEK_END)
        self.ready += self._written.write(text)
        self.arrived.set()
        if not self.paced:
            self.show_up_to(self.ready)

    def piece(self, start: int, end: int) -> str:
        self._written.seek(start)
        return self._written.read(end - start)

    def show_up_to(self, length: int) -> None:
        self.length = length
        self.news.set()

    @property
    def shown(self) -> str:
        """The text that listeners can read."""
        return self.piece(0, self.length)

    def complete(self) -> None:
        """All text has arrived: none of it is kept back for a mark any longer."""
        self.whole = True
        kept_back, self._open = self._open, ""
        self._write(kept_back)

    @property
    def stopped(self) -> bool:
        return self.stopping.given

    def end(self) -> None:
        self.show()
        self.complete()
        self.over.set()
        self.news.set()

    async def follow(self, offset: int) -> AsyncGenerator[tuple[str, int]]:
        """Pieces after the first `offset` characters, each with the length so far; 0 means that the reply starts over,
        because the model is called again. Text that comes long after the last piece is given at once, and so is the
        end."""
        beginning, served_s, now_s = self.beginnings, 0.0, asyncio.get_running_loop().time
        with self.listeners.one_more():
            while True:
                if self.beginnings != beginning:
                    beginning, offset = self.beginnings, 0
                    yield "", 0
                if self.length > offset:
                    if not self.over.is_set() and (due_s := served_s + self.listeners.gather_s) > now_s():
                        with suppress(TimeoutError):
                            async with asyncio.timeout_at(due_s):
                                await self.over.wait()
                        served_s = 0.0
                        continue  # a new attempt may have started
                    end = self.length
                    yield self.piece(offset, end), end
                    offset, served_s = end, now_s()
                elif self.over.is_set():
                    return
                else:
                    # Only if no text came since the last yield: that text would wait for the next signal, or be lost.
                    self.news.clear()
                    await self.news.wait()
