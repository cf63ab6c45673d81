"""Work: a document that the participant writes, alone or with a model that reads and changes it.

Its events are those of every conversation with one model (experiments/session/model_conversation.py) and of a document
(experiments/session/document.py). The final text is the step's answer, `document`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field as About
from pydantic import model_validator

from experiments.errors import Refused
from experiments.events import Action, Data, Event, Fact, PendingTask
from experiments.session.conversation import chosen_text
from experiments.session.document import EDITED, OVER, Document, Splice, document_of, splice_of, word_count
from experiments.session.document_tools import LABELS, NAMES, TOOLS, carry_out
from experiments.session.model_conversation import ModelConversation
from experiments.session.tool_calls import RETURNED
from experiments.study.fields import Field, LongText
from experiments.study.location import Location
from experiments.study.screen import Block, ChangeView, DocumentView, Panel, ProblemBlock
from experiments.study.sections.model_spec import PickByFactor, Texts
from experiments.study.sections.tools import ToolSet
from experiments.study.step import Step, step
from experiments.study.texts import lazy
from problems.text import clean

DOCUMENT = DocumentView.name
CONVERSATION_KEYS = {*ModelConversation.model_fields} - {*Step.model_fields, "paste", "button"}
TOO_LONG = "Your text may have at most {most:,} characters. With this change it has {count:,}. Please shorten it."
TOO_SHORT = "Your text needs at least {least:,} words. It has {count:,}."


class WorkTools(ToolSet):
    """A step's own tools, with those of a set of the study."""

    def asks(self, tool: str) -> bool:
        """The own ones are never asked for: what they change can be undone."""
        return tool not in NAMES and super().asks(tool)


@step
class WorkStep(ModelConversation):
    """A document that the participant writes, alone or with a model: in a conversation beside it the model reads the
    document and changes it. The text is saved as it is written."""

    merges: ClassVar[Mapping[str, str]] = {"edit": EDITED}
    own_tools: ClassVar[bool] = True

    step: Literal["work"]
    text: str = ""
    """The instructions above the document, in Markdown. The loop's problem follows, if there is one."""
    model: Texts | None = None
    """The model that the conversation is with, one that can use tools; by factor as `opens`. Where it is empty there is
    no conversation."""
    label: str = "Your text"
    """The label of the document."""
    format: Literal["plain", "markdown"] = "plain"
    """The format of the document. Of `markdown` participants have a preview."""
    initial: str = ""
    """The text that it begins with, such as `{{problem.text}}`. Empty by default."""
    max_document_chars: Annotated[int, About(ge=1, le=20_000)] = 10_000
    """The maximum number of characters of the document."""
    min_words: Annotated[int, About(ge=0, le=5_000)] = 0
    """The number of words, separated by spaces, that it needs before participants can continue."""

    @model_validator(mode="after")
    def _can_be_done(self) -> Self:
        most_words = (self.max_document_chars + 1) // 2
        if self.min_words > most_words:
            most = f"`max_document_chars: {self.max_document_chars}` has room for {most_words:,}"
            raise ValueError(f"`min_words: {self.min_words}` can never be reached; {most}")
        if not self.model and (idle := sorted(self.model_fields_set & CONVERSATION_KEYS)):
            raise ValueError(f"without `model` there is no conversation; remove {', '.join(idle)}, or name a model")
        return self

    def replies(self, location: Location) -> str:
        return chosen_text(location, self.model) if self.model else ""

    def document(self, location: Location) -> Document:
        return document_of(clean(location.fill(self.initial)), location.facts)

    def questions_asked(self) -> tuple[Field, ...]:
        return (self._field(), *super().questions_asked())

    def _field(self) -> LongText:
        """The document as a question; it may be longer than a text in a form."""
        most = self.max_document_chars
        return LongText.model_construct(name=DOCUMENT, text=self.label, max_chars=most, paste=self.paste)

    def fields(self, location: Location) -> tuple[Field, ...]:
        return (self._field().filled(location.fill_markdown),)

    def panel(self, location: Location) -> Panel:
        problem = location.shown_problem
        blocks: list[Block] = [*location.text_blocks(self.text)]
        blocks += [ProblemBlock(problem.text)] if problem else []
        chat = self.chat(location) if self.replies(location) else None
        return Panel(self.title, tuple(blocks), (), chat, self.button, document=self._view(location))

    def _view(self, location: Location) -> DocumentView:
        document = self.document(location)
        last = document.undoable()
        return DocumentView(
            label=location.fill(self.label),
            text=document.text,
            version=document.version,
            max_chars=self.max_document_chars,
            min_words=self.min_words,
            markdown=self.format == "markdown",
            paste=self.paste or location.study.file.paste,
            change=_change_view(document, last) if last else None,
        )

    def offers(self, location: Location) -> tuple[str, ...]:
        undo = ("undo",) if self.document(location).undoable() else ()
        return ("edit", *undo, *(super().offers(location) if self.replies(location) else ("submit",)))

    def pending_tasks(self, location: Location) -> tuple[PendingTask, ...]:
        return super().pending_tasks(location) if self.replies(location) else ()

    def decide(self, location: Location, action: Action) -> tuple[Fact, ...]:
        match action.kind:
            case "edit":
                return self._edited(location, action.data)
            case "undo":
                document = self.document(location)
                last = document.undoable()
                if last is None or str(last.data["version"]) != str(action.data.get("version")):
                    raise Refused("stale", "The text was changed meanwhile. Here is the newest.")
                undone = document.undone(last)
                self._check_room(document, splice_of(undone.data))
                return (undone,)
            case "submit":
                text = self.document(location).text
                if (words := word_count(text)) < self.min_words:
                    fault = lazy(TOO_SHORT, least=self.min_words, count=words)
                    raise Refused("invalid", fault, {DOCUMENT: fault})
                return (Fact("submitted", {DOCUMENT: text}),)
            case _:
                return super().decide(location, action)

    def _edited(self, location: Location, given: Data) -> tuple[Fact, ...]:
        """The edits of one who saw `version` and made `text` of it; `over` if in place of somebody else's words."""
        document, version, text = self.document(location), given.get("version"), given.get("text")
        if not isinstance(version, int) or not 0 <= version <= document.version or not isinstance(text, str):
            raise Refused("invalid", "There is no such version of the text.")
        change = document.merged(version, clean(text), over=bool(given.get(OVER)))
        self._check_room(document, change)
        return (change.fact(document.version + 1),) if change.removed != change.added else ()

    def _check_room(self, document: Document, change: Splice) -> None:
        """Raise Refused if the document has no room for a change; one that was longer at the beginning may shrink."""
        before = len(document.text)
        if (chars := before + change.growth) > max(before, self.max_document_chars):
            fault = lazy(TOO_LONG, most=self.max_document_chars, count=chars)
            raise Refused("invalid", fault, {DOCUMENT: fault})

    def tool_set(self, location: Location) -> tuple[str, ToolSet | None]:
        name, tools = super().tool_set(location)
        keys: dict[str, Any] = dict(tools) if tools else {"show": "names"}
        return name, WorkTools.model_construct(**(keys | {"labels": {**LABELS, **keys.get("labels", {})}}))

    def offered_tools(self, location: Location, slot: str = "") -> Data:
        return {**super().offered_tools(location, slot), "own_tools": TOOLS}

    def due_call(self, location: Location, slot: str = "", *, stopped: bool) -> tuple[PendingTask, ...] | None:
        due = super().due_call(location, slot, stopped=stopped)
        own = {"own": True}
        return due and tuple(
            replace(one, data={**one.data, **own}) if one.data["tool"] in NAMES else one for one in due
        )

    def carried_out(self, location: Location, task: PendingTask) -> tuple[Fact, ...]:
        document, call = self.document(location), task.data["ids"]
        outcome = carry_out(document, task.data["tool"], task.data["arguments"], self.max_document_chars)
        edited = [outcome.change.fact(document.version + 1, call=call["call"])] if outcome.change else []
        return (*edited, Fact(RETURNED, {**call, **outcome.as_data}))

    def provides(self) -> tuple[str, ...]:
        """`document`, the final text."""
        return (DOCUMENT,)

    def asks_models(self, models: Sequence[str]) -> tuple[str, ...]:
        names = self.model.pick.values() if isinstance(self.model, PickByFactor) else [self.model]
        return tuple(filter(None, names))

    def requires(self) -> frozenset[str]:
        """A problem, if it is in the prompts; a model, where one is drawn."""
        drawn = any("{{model}}" in name.replace(" ", "") for name in self.asks_models(()))
        return frozenset(("problem",) * self.problem_in_prompt + ("model",) * drawn)

    def _by_factor(self) -> dict[str, Any]:
        return {**super()._by_factor(), "model": self.model}


def _change_view(document: Document, last: Event) -> ChangeView:
    root, back = document.root(last)
    kind: Literal["model", "over", "over_model", "undone", "others_used"]
    if root.by == "model":
        kind = "undone" if back else "model"
    elif back:
        kind = "others_used"
    else:
        met = document.met(root)
        kind = "over_model" if met is not None and met.by == "model" else "over"
    return ChangeView(last.data["version"], kind, last.data["removed"], last.data["added"])
