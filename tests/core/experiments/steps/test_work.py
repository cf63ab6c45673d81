"""A document beside a conversation: what its two writers may do, and what becomes of both when they meet."""

from __future__ import annotations

import json
from typing import Any

import pytest

from experiments.errors import Refused, StudyError
from experiments.events import Action
from experiments.session.engine import pending_tasks
from experiments.study.screen import DocumentView
from storage.datasets.tidy.columns import Layout
from storage.datasets.tidy.rows import TidySession, rows
from tests.fakes.driven import Driven, small

TEXT = "One two three.\n\nFour five six."


class AtWork(Driven):
    """At a document, with the model `ada` unless it is alone."""

    def __init__(self, model: str = "ada", **keys: Any) -> None:
        work = {"step": "work", "initial": TEXT, **({"model": model} if model else {}), **keys}
        super().__init__(small(work, models=("ada",)))

    @property
    def document(self) -> DocumentView:
        assert self.screen.panel.document
        return self.screen.panel.document

    def calls(self, tool: str = "replace", raw: str = "", **arguments: Any) -> AtWork:
        call = {"id": f"c{self.state.seq}", "tool": tool, "arguments": raw or json.dumps(arguments)}
        data = {"model": "ada", "text": "", "calls": [call]}
        self.send(Action("call", self.path, data, 0, by="model"))
        return self.send(Action("return", self.path, {}, 0, by="model"))

    def edits(self, old: str, new: str, version: int | None = None) -> AtWork:
        """The participant, whose page shows a version, replaces a passage."""
        saw, text = self.document.version, self.document.text
        if version is not None:
            saw, text = version, TEXT
        return self.do("edit", version=saw, text=text.replace(old, new))

    @property
    def kind(self) -> str:
        """The kind of the change that can be taken back."""
        return self.document.change.kind if self.document.change else ""

    def undo(self) -> AtWork:
        assert self.document.change
        return self.do("undo", version=str(self.document.change.version))

    def said(self) -> AtWork:
        return self.do("say", text="Please help.")


def test_alone_a_document_is_written_without_a_conversation_and_is_the_answer() -> None:
    session = AtWork("", min_words=7, max_document_chars=40)
    assert (session.screen.panel.chat, session.actions) == (None, ("edit", "submit"))
    assert not pending_tasks(session.study, session.state)
    with pytest.raises(Refused) as short:
        session.do("submit")
    with pytest.raises(Refused) as long:
        session.edits("six", "six" * 20)
    assert short.value.fields.keys() == long.value.fields.keys() == {"document"}
    with pytest.raises(Refused):
        session.edits("six", "six #").do("submit")
    session.edits("six", "six seven").do("submit")
    assert session.last_of("submitted").data == {"document": TEXT.replace("six", "six seven #")}


@pytest.mark.parametrize(
    ("model", "keys"),
    [("", {"max_messages": 3}), ("", {"tools": "desk"}), ("ada", {"min_words": 21, "max_document_chars": 40})],
    ids=str,
)
def test_keys_that_cannot_count_are_refused(model: str, keys: dict[str, Any]) -> None:
    with pytest.raises(StudyError) as caught:
        AtWork(model, **keys)
    assert [issue.where for issue in caught.value.found] == ["flow[0]"]
    assert AtWork("ada", min_words=20, max_document_chars=40, max_messages=3)


def test_a_model_reads_and_changes_the_document_and_is_offered_its_tools() -> None:
    session = AtWork().said()
    (task,) = pending_tasks(session.study, session.state)
    assert [tool["name"] for tool in task.data["own_tools"]] == ["read", "replace"]
    assert (task.data["tools"], task.data["calls_left"]) == ("", 10)
    session.calls("read")
    assert session.last.data["text"].endswith(TEXT)
    session.calls(version=0, old="two", new="zwei")
    edited, returned = session.state.events[-2:]
    assert (edited.kind, edited.by, edited.data["version"], returned.kind) == ("edited", "model", 1, "returned")
    assert edited.data["call"] == returned.data["call"]
    assert session.document.text == TEXT.replace("two", "zwei")
    messages = pending_tasks(session.study, session.state)[0].data["messages"]
    assert [one["role"] for one in messages][-4:] == ["assistant", "tool", "assistant", "tool"]


def test_a_change_is_not_brought_back_where_it_has_no_room_any_more() -> None:
    session = AtWork(max_document_chars=60).said().calls(version=0, old="two", new="two" * 8).undo()
    session.edits("six", "x" * 30)
    with pytest.raises(Refused) as refused:
        session.undo()
    assert refused.value.fields.keys() == {"document"}
    session.edits("x" * 30, "six").undo()
    assert session.document.text == TEXT.replace("two", "two" * 8)


@pytest.mark.parametrize(
    ("given", "failed"),
    [
        ({"version": 1, "old": "seven", "new": "x"}, "not_found"),
        ({"version": 1, "old": "e", "new": "x"}, "found_twice"),
        ({"version": 0, "old": "two", "new": "x"}, "version_conflict"),
        ({"version": 1, "old": "six", "new": "x" * 60}, "too_long"),
        ({"version": 1, "old": "", "new": "x"}, "invalid"),
        ({"version": 1, "old": "six", "new": "six"}, "invalid"),
        ({"version": "1", "old": "six", "new": "x"}, "invalid"),
        ({"old": "six"}, "invalid"),
        ({"version": 0, "old": "six", "new": "x"}, None),
        ({"old": "six", "new": "x"}, None),
    ],
)
def test_a_model_reads_why_nothing_was_changed(given: dict[str, Any], failed: str | None) -> None:
    session = AtWork(max_document_chars=60).edits("two", "2").said().calls(**given)
    assert session.last.data.get("failed") == failed
    assert session.document.version == (1 if failed else 2)


def test_what_is_typed_meanwhile_is_merged_from_an_older_screen() -> None:
    session = AtWork().said()
    seen, path = session.screen.seen, session.path
    session.calls(version=0, old="two", new="zwei und")
    session.send(Action("edit", path, {"version": 0, "text": TEXT.replace("six", "6")}, 0, seen=seen))
    assert session.document.text == TEXT.replace("two", "zwei und").replace("six", "6")
    session.send(Action("stop", path, {}, 0, seen=seen))
    assert session.last.kind == "stopped"


def test_where_both_changed_one_place_the_person_wins_and_the_others_words_can_be_brought_back() -> None:
    session = AtWork().said().calls(version=0, old="two three", new="zwei drei")
    session.edits("two", "2", version=0)
    assert session.document.text == TEXT.replace("two", "2")
    assert (session.last.data["over"], session.kind) == (True, "over_model")
    session.undo()
    assert session.document.text == TEXT.replace("two three", "zwei drei")
    assert session.kind == "others_used"
    session.undo()
    assert session.document.text == TEXT.replace("two", "2")


def test_what_is_left_of_the_models_change_is_taken_back_and_what_was_typed_in_it_stays() -> None:
    session = AtWork().said().calls(version=0, old="six.", new="six. A seventh and an eighth.")
    session.edits("seventh", "seventh, mine,").undo()
    assert (session.document.text, session.kind) == (TEXT.replace("six.", "six., mine,"), "undone")
    session.undo()
    again = TEXT.replace("six.", "six. A seventh, mine, and an eighth.")
    assert (session.document.text, session.kind) == (again, "model")


def test_the_tables_say_who_wrote_how_much_of_what_is_left() -> None:
    session = AtWork().said().calls(version=0, old="two", new="zwei")
    session.do("undo", version=1).edits("six.", "six. Mine")
    stored = TidySession(session.study, session.state, {})
    (document,) = rows("documents", stored, Layout((session.study,)))
    assert document["text"] == "One two three.\n\nFour five six. Mine"
    shares = {"chars_initial": len(TEXT), "chars_user": len(" Mine"), "chars_model": 0}
    counts = {"edits_user": 2, "edits_model": 1, "edits_model_kept": 0, "words": 7, "model": "ada"}
    assert document == document | shares | counts
    changes = list(rows("document_edits", stored, Layout((session.study,))))
    assert [(one["by"], one["kept"], one["undoes"]) for one in changes] == [
        ("model", 0, None), ("participant", 0, 1), ("participant", 5, None)]  # fmt: skip
    (call, *_) = [row for row in rows("tool_calls", stored, Layout((session.study,)))]
    assert (call["tool"], call["failed"]) == ("replace", None)
