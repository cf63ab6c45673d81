"""A document of several writers: nothing that anybody wrote is lost unseen, whatever meets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.events import Actor, Event, Fact
from experiments.session.document import OVER, Document, Splice, document_of, splice
from tests.fakes.examples import examples

INITIAL = "The first words. " * 4
acts = st.tuples(
    st.sampled_from(["types", "types", "sends", "model", "undoes"]), st.booleans(), st.floats(0, 1), st.floats(0, 0.3)
)


class Writers:
    """Two tabs of a person, and a model, at one document. All that is typed has a letter of its own."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.tabs = [(0, INITIAL, INITIAL)] * 2  # the version that each saw, its text, and what was made of it
        self.unseen: dict[int, set[str]] = {}
        self.letters = map(chr, range(0x4E00, 0x9FFF))

    @property
    def document(self) -> Document:
        return document_of(INITIAL, self.events)

    def write(self, fact: Fact, by: Actor, saw: int) -> None:
        """Record a change of somebody who saw a version: what it removes unseen must be marked."""
        added = {letter for event in self.events[saw:] for letter in event.data["added"]}
        unseen = added - set(self.document.text_at(saw))
        self.events.append(Event(len(self.events) + 1, 0, by, "work", fact.kind, fact.data))
        assert not unseen & set(fact.data["removed"]) - set(fact.data["added"]) or OVER in fact.data

    def change(self, text: str, at: float, length: float) -> str:
        start = round(at * len(text))
        return text[:start] + next(self.letters) + text[start + round(length * len(text)) :]

    def do(self, what: str, tab: int, at: float, length: float) -> None:
        now, (saw, base, typed) = self.document, self.tabs[tab]
        match what:
            case "types":
                self.tabs[tab] = saw, base, self.change(typed, at, length)
            case "sends":
                change = now.merged(saw, typed)
                if change.removed != change.added:
                    self.write(change.fact(now.version + 1), "participant", saw)
                self.tabs[tab] = (self.document.version, *[self.document.text] * 2)
            case "model":
                change = splice(now.text, self.change(now.text, at, length))
                self.write(change.fact(now.version + 1), "model", now.version)
            case _ if (last := now.undoable()) is not None:
                self.write(now.undone(last), "participant", now.version)


@given(st.lists(acts, max_size=40))
@examples(150)
def test_a_document_is_the_fold_of_its_changes_and_loses_nothing_unseen(
    done: list[tuple[str, bool, float, float]],
) -> None:
    writers = Writers()
    for what, tab, at, length in [*done, ("sends", False, 0, 0), ("sends", True, 0, 0)]:
        _, base, typed = writers.tabs[tab]
        writers.do(what, tab, at, length)
        assert what != "sends" or set(typed) - set(base) <= set(writers.document.text)
    document = writers.document
    assert [event.data["version"] for event in writers.events] == list(range(1, document.version + 1))
    assert document.text_at(0) == INITIAL
    assert len(document.origins()) == len(document.text)
    for letter, version in zip(document.text, document.origins(), strict=True):
        assert letter in (INITIAL if version == 0 else writers.events[version - 1].data["added"])


def test_what_a_closing_page_sends_twice_counts_once() -> None:
    writers = Writers()
    writers.write(document_of(INITIAL, ()).merged(0, f"{INITIAL}Mine").fact(1), "participant", 0)
    again = writers.document.merged(0, f"{INITIAL}Mine, all of it")
    assert (again.apply(writers.document.text), again.over) == (f"{INITIAL}Mine, all of it", False)


@pytest.mark.parametrize(
    ("old", "new", "typed", "left"),
    [
        ("Title", "Title\n\nIts.", "Title\n\nMine.\n\n\n\nIts.\n", "Title\n\nMine.\n\n\n"),
        ("Title", "Title\n\nIts.", "Title\n\nIts.\n\n\nMine.", "Title\n\n\nMine."),
        ("Title\n", "Its.\n\nTitle\n", "Its.\n\nMine.\n\nTitle\n", "Mine.\n\nTitle\n"),
        ("Title\n", "Its.\n\nTitle\n", "Mine.\n\nIts.\n\nTitle\n", "Mine.\n\nTitle\n"),
    ],
)
def test_blank_lines_beside_what_is_taken_back_stay_with_whoever_wrote_them(
    old: str, new: str, typed: str, left: str
) -> None:
    """Also where the text alone does not tell whose they are."""
    assert undone("Title\n", Splice(0, old, new), typed).text == left


def undone(initial: str, change: Splice, *typed: str, recorded: Splice | None = None) -> Document:
    """The document once a model's change is taken back in which somebody has written since, or as it was `recorded`."""
    events = [Event(1, 0, "model", "work", "edited", change.fact(1).data)]

    def add(fact: Fact) -> None:
        events.append(Event(len(events) + 1, 0, "participant", "work", fact.kind, fact.data))

    for text in typed:
        document = document_of(initial, events)
        add(document.merged(document.version, text).fact(document.version + 1))
    document = document_of(initial, events)
    last = document.undoable()
    assert last == document.edits[0]
    fact = document.undone(last)
    add(recorded.fact(document.version + 1, undoes=1) if recorded else fact)
    return document_of(initial, events)


@pytest.mark.parametrize(
    ("initial", "written", "typed", "left"),
    [
        ("T\n", "T\n\nA good deal. So.\n", ["T\n\nA great deal. So.\n"], "T\ngreat"),
        ("T\n", "T\n\nA big one. So.\n", ["T\n\nA big one. Yes. So.\n"], "T\nYes. "),
        ("A b.\n", "A b. It says. So.\n", ["A b. It says. Yes. So.\n"], "A b. Yes. \n"),
        ("One two three.", "One big two three four.", ["One big 2 three four."], "One two 2 three."),
        ("T\n", "T\n\nCities grow\n\nand fall.\n", ["T\n\nTowns grow\n\nand fell.\n"], "T\nTowns\n\nfell."),
    ],
)
def test_what_others_wrote_in_what_is_taken_back_stays_whole_and_apart(
    initial: str, written: str, typed: list[str], left: str
) -> None:
    middle = [written.replace("Cities", "Towns"), *typed] if "Cities" in written else typed
    document = undone(initial, splice(initial, written), *middle)
    assert document.text == left
    assert len(document.origins()) == len(left)


def test_what_was_taken_back_before_words_were_kept_whole_has_the_authors_it_had() -> None:
    written = "T\n\nA good deal.\n"
    glued = Splice(2, "\nA great deal.\n", "reat")
    document = undone("T\n", splice("T\n", written), written.replace("good", "great"), recorded=glued)
    assert (document.text, document.origins()) == ("T\nreat", [0, 0, 2, 2, 2, 2])
