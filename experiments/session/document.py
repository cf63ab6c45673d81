"""A document that people and a model write: its text and its authors are the fold of its changes. Pure.

    edited  a change: the `version` that it made (from 1), where it begins (`start`, in characters), what it `removed`
            and `added`. A model's has the `call` that asked for it. With `over` somebody else had changed the same
            place meanwhile, and their words are among the removed ones; `undoes` is the version that it takes back.

Nobody loses words: a model replaces only a passage that the newest text has exactly once, and a person's change of an
older version is moved to where its place is now. Where both changed one place the person's words stay, and the others
can be brought back. What takes back a change in which somebody has written since leaves their words whole and apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import lru_cache, reduce
from typing import TypeVar

from experiments.events import Data, Event, Fact

EDITED, UNDOES, OVER = "edited", "undoes", "over"
# Passages with more words are not compared word by word.
MOST_WORDS = 2_000
_WORD = re.compile(r"\s*\S+|\s+$")
# What stands at the word before it.
_CLOSING = ",.;:!?)]}\u2026\u00bb\u201d\u2019\u060c\u061b\u061f"
# From where to where in what a change removed.
Part = tuple[int, int]
# In place of a part: what somebody wrote there since.
THEIRS: Part = (-1, -1)
# What takes a change back, by characters: whether each is of what it had removed, and its index there or in its place.
Back = list[tuple[bool, int]]
Mark = TypeVar("Mark")


@dataclass(frozen=True, slots=True)
class Splice:
    start: int
    removed: str
    added: str
    over: bool = False

    @property
    def end(self) -> int:
        return self.start + len(self.removed)

    @property
    def growth(self) -> int:
        return len(self.added) - len(self.removed)

    @property
    def inverse(self) -> Splice:
        return Splice(self.start, self.added, self.removed)

    def apply(self, text: str) -> str:
        """The text after the change; raises ValueError if it lacks the text to remove."""
        if text[self.start : self.end] != self.removed:
            raise ValueError(f"the text has no {self.removed[:40]!r} at {self.start}")
        return text[: self.start] + self.added + text[self.end :]

    def meets(self, other: Splice) -> bool:
        """Return True if both are about the same place; an insertion at the edge of another is not."""
        return self.start < other.end and other.start < self.end

    def after(self, other: Splice) -> Splice:
        """This change of the text as it is after another one, which it does not meet."""
        return self if self.end <= other.start else replace(self, start=self.start + other.growth)

    def fact(self, version: int, **more: object) -> Fact:
        data = {"version": version, "start": self.start, "removed": self.removed, "added": self.added}
        return Fact(EDITED, {**data, **({OVER: True} if self.over else {}), **more})


def splice_of(data: Data) -> Splice:
    return Splice(data["start"], data["removed"], data["added"], bool(data.get(OVER)))


@dataclass(frozen=True, slots=True)
class Document:
    initial: str
    edits: tuple[Event, ...]
    text: str

    @property
    def version(self) -> int:
        return len(self.edits)

    def since(self, version: int) -> tuple[Splice, ...]:
        return tuple(splice_of(event.data) for event in self.edits[version:])

    def text_at(self, version: int) -> str:
        return _applied(self.text, (one.inverse for one in reversed(self.since(version))))

    def merged(self, version: int, text: str, *, over: bool = False) -> Splice:
        """The change of a person who saw a `version` and made `text` of it, perhaps `over` somebody else's words."""
        base = self.text_at(version)
        found = rebased(base, self._placed(version, base, splice(base, text)), self.since(version))
        return replace(found, over=found.over or over)

    def _placed(self, version: int, base: str, change: Splice) -> Splice:
        """The change at a place where it makes the same text within nobody's words, as for adjacent blank lines."""
        places = [*_places(change, base)]
        if len(places) == 1:
            return change
        marks = [-1, *Document(self.initial, self.edits[:version], base).origins(), -1]
        return next((one for one in places if marks[one.start] != marks[one.start + 1]), change)

    def undoable(self) -> Event | None:
        """The last change of the model, `over` others' words, or taking such back; None if nothing of it is left."""
        marked = (one for one in reversed(self.edits) if one.by == "model" or {OVER, UNDOES} & one.data.keys())
        last = next(marked, None)
        return last if last is not None and self._inverse(last) is not None else None

    def undone(self, event: Event) -> Fact:
        """The change that takes back the rest of an `undoable` one."""
        inverse, version = self._inverse(event), event.data["version"]
        if inverse is None:
            raise ValueError(f"nothing is left of version {version}")
        return inverse.fact(self.version + 1, **{UNDOES: version})

    def root(self, event: Event) -> tuple[Event, bool]:
        """The change that one is about, and whether it takes it back; what takes that back again does not."""
        back = False
        while UNDOES in event.data:
            event, back = self.edits[event.data[UNDOES] - 1], not back
        return event, back

    def met(self, event: Event) -> Event | None:
        """The newest change whose place an event changed again."""
        one = splice_of(event.data)
        for earlier in reversed(self.edits[: event.data["version"] - 1]):
            inverse = splice_of(earlier.data).inverse
            if one.meets(inverse):
                return earlier
            one = one.after(inverse)
        return None

    def _inverse(self, event: Event) -> Splice | None:
        change, since = splice_of(event.data), self.since(event.data["version"])
        now = change.inverse
        for later in since:
            if now.meets(later):
                break
            now = now.after(later)
        else:
            return now
        found, _ = _rest(change, since, self.text)
        return found if found.added != found.removed else None

    def origins(self) -> list[int]:
        """For each character the version that brought it, 0 for the initial text. Words that a change has before and
        after it stay where they come from, and so do those that come back with what is undone."""
        marks = [0] * len(self.initial)
        taken: dict[int, list[int]] = {}
        for event in self.edits:
            one, version = splice_of(event.data), int(event.data["version"])
            taken[version] = marks[one.start : one.end]
            back = event.data.get(UNDOES)
            marks[one.start : one.end] = (
                _marks(one, taken[version], version) if back is None else self._restored(event, taken)
            )
        return marks

    def _restored(self, event: Event, taken: Mapping[int, Sequence[int]]) -> list[int]:
        """The origins in a change that takes another back, from those of the texts that changes removed."""
        version, back = event.data["version"], event.data[UNDOES]
        change = splice_of(self.edits[back - 1].data)
        if event.data["added"] == change.removed:
            return list(taken[back])
        since = self.since(back)[: version - 1 - back]
        found, chars = _rest(change, since, self.text_at(version - 1))
        if found.added != event.data["added"]:  # it was taken back when words were not kept whole
            chars = _taken_back(_left(change, since)[1])
        return [taken[back if old else version][at] for old, at in chars]


def document_of(initial: str, events: Iterable[Event]) -> Document:
    edits = tuple(event for event in events if event.kind == EDITED)
    return Document(initial, edits, _applied(initial, (splice_of(event.data) for event in edits)))


def splice(old: str, new: str) -> Splice:
    """The change that makes one text of another: all between what both begin and end with."""
    start = _alike(old, new)
    end = _alike(old[start:][::-1], new[start:][::-1])
    return Splice(start, old[start : len(old) - end], new[start : len(new) - end])


def _places(change: Splice, base: str) -> Iterator[Splice]:
    """Yield an insertion at each place where it makes the same text, from the last to the first."""
    yield change
    while change.added and not change.removed and change.start and base[change.start - 1] == change.added[-1]:
        change = replace(change, start=change.start - 1, added=change.added[-1] + change.added[:-1])
        yield change


def rebased(base: str, change: Splice, since: Sequence[Splice]) -> Splice:
    """The change after those `since`; a place where they meet gets `base`'s text with it, `over` what it has now."""
    for later in since:
        after = later.apply(base)
        if (change.start, change.removed) == (later.start, later.removed) and change.added.startswith(later.added):
            # what was sent twice, as a page may do that is closed
            change = Splice(later.start + len(later.added), "", change.added[len(later.added) :], change.over)
        elif change.meets(later):
            start, end = min(change.start, later.start), max(change.end, later.end)
            own = base[start : change.start] + change.added + base[change.end : end]
            change = Splice(start, after[start : end + later.growth], own, over=True)
        else:
            change = change.after(later)
        base = after
    return change


def word_count(text: str) -> int:
    """Count the words of a text; signs that stand alone, as those of Markdown, are none."""
    return sum(any(map(str.isalnum, word)) for word in text.split())


def _applied(text: str, changes: Iterable[Splice]) -> str:
    return reduce(lambda so_far, one: one.apply(so_far), changes, text)


def _alike(one: str, other: str) -> int:
    differs = (at for at, (mine, theirs) in enumerate(zip(one, other, strict=False)) if mine != theirs)
    return next(differs, min(len(one), len(other)))


def _marks(change: Splice, before: Sequence[Mark], mark: Mark) -> list[Mark]:
    """Mark the text that a change added, compared word by word with the text that it removed."""
    marks: list[Mark] = []
    at = 0
    for start, end, chars in _word_changes(change):
        marks += [*before[at:start], *[mark] * chars]
        at = end
    return [*marks, *before[at:]]


def _parts(change: Splice) -> list[Part | None]:
    """The part that each added character replaces; None for kept ones, unless beside words only removed."""
    parts: list[Part | None] = []
    at = 0
    for start, end, chars in _word_changes(change):
        parts += [None] * (start - at)
        at = end
        if chars:
            parts += [(start, end)] * chars
        elif end < len(change.removed):
            at = end + 1
            parts.append((start, at))
        elif parts:
            begin, _ = parts[-1] or (start - 1, start)
            parts[-1] = begin, end
    return parts + [None] * (len(change.removed) - at)


def _left(change: Splice, since: Iterable[Splice]) -> tuple[int, list[Part | None]]:
    """Follow a change through later ones: return where its place begins, and for each character there what it is in the
    place of (see `_parts`); `THEIRS` for the text of others, None for the text from before."""
    start, left = change.start, _parts(change)
    for later in since:
        if later.end <= start:
            start += later.growth
        elif later.start < start + len(left):
            before, after = max(0, start - later.start), max(0, later.end - start - len(left))
            start, left = start - before, [*[None] * before, *left, *[None] * after]
            first, last = later.start - start, later.end - start
            left[first:last] = _marks(later, left[first:last], THEIRS)
    return start, left


def _rest(change: Splice, since: Iterable[Splice], text: str) -> tuple[Splice, Back]:
    """The change that takes back what is left, and its characters; words in which others wrote stay whole."""
    start, left = _left(change, since)
    end = start + len(left)
    place = text[start:end]
    for word in re.finditer(r"\S+", place):
        if any(left[at] == THEIRS and place[at].isalnum() for at in range(*word.span())):
            left[slice(*word.span())] = [THEIRS] * len(word[0])
    chars = _apart(_taken_back(left), left, change.removed, text[max(0, start - 1) : start], place, text[end : end + 1])
    added = "".join(change.removed[at] if old else place[at] for old, at in chars)
    return Splice(start, place, added), chars


def _taken_back(left: Iterable[Part | None]) -> Back:
    """The characters of a place once the rest of a change there is taken back."""
    seen: set[Part] = set()
    found: Back = []
    for at, part in enumerate(left):
        if part in (None, THEIRS):
            found.append((False, at))
        elif part not in seen:
            seen.add(part)
            found += [(True, old) for old in range(*part)]
    return found


def _apart(chars: Back, left: Sequence[Part | None], old: str, before: str, place: str, after: str) -> Back:
    """Characters with white space where words of others would be joined to what is `before` or `after` them."""
    found: Back = []
    begin, theirs = 0, False
    for is_old, at in [*chars, (False, len(place))]:
        char = old[at] if is_old else place[at : at + 1] or after
        own = not is_old and THEIRS in left[at : at + 1]
        if (own or theirs) and before.strip() and char.strip() and char not in _CLOSING:
            end = next((n for n in range(begin, len(left)) if left[n] in (None, THEIRS)), len(left))
            spaces = re.finditer(r"\s+", place[begin:end])
            widest = max(spaces, key=lambda one: one[0].count("\n"), default=None)
            found += [(False, begin + n) for n in range(*widest.span())] if widest else []
        found.append((is_old, at))
        before, theirs, begin = char, own, begin if is_old else at + 1
    return found[:-1]


@lru_cache(maxsize=64)
def _word_changes(change: Splice) -> tuple[tuple[int, int, int], ...]:
    """The replaced parts of a change's removed text: from where to where, and by how many characters."""
    whole = splice(change.removed, change.added)
    old, new = _WORD.findall(whole.removed), _WORD.findall(whole.added)
    if max(len(old), len(new)) > MOST_WORDS:
        old, new = [whole.removed], [whole.added]
    at = [whole.start]
    for word in old:
        at.append(at[-1] + len(word))
    return tuple(
        (at[first], at[last], len("".join(new[to_first:to_last])))
        for kind, first, last, to_first, to_last in SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        if kind != "equal"
    )
