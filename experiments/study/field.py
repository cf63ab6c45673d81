"""What every field of a form has, and how its answer is read: None where there is none, or what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from experiments.study.base_model import Config, Name
from experiments.study.i18n import say
from experiments.study.recruitment import Paste


class Invalid(ValueError):
    """An answer cannot be accepted; the text says why, to the person who gave it."""

    @property
    def said(self) -> str:
        """The text as it was said, which can be translated."""
        text: str = self.args[0]
        return text


class Field(Config):
    """What all fields have: a name for the data, a text for the person, and whether an answer is required."""

    name: Name
    """The answer's name in the log and in exports."""
    text: str = ""
    """The question, in Markdown; `{{name}}` refers to a value."""
    help: str = ""
    """A smaller line under the question."""
    required: bool = True
    """Whether the screen can be left without an answer."""

    def read(self, value: Any) -> Any:
        """The value to keep, or None if there is none; raises Invalid."""
        if value is None or value == [] or (isinstance(value, str) and not value.strip()):
            if self.required:
                raise Invalid("Please answer this question.")
            return None
        return self.accept(value)

    def accept(self, value: Any) -> Any:
        """The value to keep for an answer that is there; raises Invalid."""
        raise NotImplementedError

    def filled(self, fill: Callable[[str], str]) -> Self:
        """The field with the names in its texts replaced; itself where there are none, as a copy takes long."""
        changed = {name: text for name, text in self._texts(fill).items() if text != getattr(self, name)}
        return self.model_copy(update=changed) if changed else self

    def _texts(self, fill: Callable[[str], str]) -> dict[str, Any]:
        """What `filled` changes; a kind with more texts adds them."""
        return {"text": fill(self.text), "help": fill(self.help)}


class Written(Field):
    """A box for words of one's own."""

    max_chars: int
    """The longest text accepted, in characters."""
    paste: Paste | None = None
    """What pasting into the box does: `allow`, `log` or `block`; what the study says unless given."""

    def accept(self, value: Any) -> str:
        """The text without blanks around it."""
        return read_text(value, self.max_chars, required=self.required)


def read_text(value: Any, max_chars: int, *, required: bool) -> str:
    """A text that fits; raises Invalid. NUL, which databases refuse, is dropped."""
    if not isinstance(value, str):
        raise Invalid("Please enter text.")
    text = value.replace("\r\n", "\n").replace("\x00", "").encode("utf-8", "replace").decode().strip()
    if required and not text:
        raise Invalid("Please answer this question.")
    if len(text) > max_chars:
        told = say("Please use at most {most:,} characters; there are {count:,}.", most=max_chars, count=len(text))
        raise Invalid(told)
    return text
