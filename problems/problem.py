"""A problem: a question for participants, from any source.

A Problem is a value: it is never changed, and it says nothing of who answers it or how.
- its options have different keys, and its answer, if known, is one of them;
- without options any answer may be known (or none, as for a theorem to prove);
- with a dialogue it is a finished conversation, to be rated or labelled: nothing is asked of a model;
- `Problem.from_json(problem.to_json())` equals the problem, so a study may be hashed with its problems in it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config

from problems.errors import ProblemError, did_you_mean


@with_config(ConfigDict(extra="forbid"))
@dataclass(frozen=True, slots=True)
class Option:
    """One of the answers offered."""

    key: str
    """The stored value, e.g. "A"."""
    text: str
    """Formatted like `Problem.text`."""
    plain: str
    """The unformatted wording of the source."""

    def to_json(self) -> dict[str, object]:
        return {"key": self.key, "text": self.text, "plain": self.plain}


@with_config(ConfigDict(extra="forbid"))
@dataclass(frozen=True, slots=True)
class DialogueMessage:
    """One message of a finished conversation."""

    role: Literal["user", "bot"]
    text: str
    """Exact to the character."""
    name: str = ""
    """The source's name for the writer, e.g. "LAMDA"; people see the study's own word for either role."""

    def to_json(self) -> dict[str, object]:
        return {"role": self.role, "text": self.text, "name": self.name}


@with_config(ConfigDict(extra="forbid"))
@dataclass(frozen=True, slots=True)
class Problem:
    """A question to answer, a theorem to prove, or a conversation to rate."""

    id: str
    """Names the problem within its source, and in every file released."""
    text: str
    r"""Markdown, with LaTeX between \( \), \[ \] or $$ $$ only; a single $ is money."""
    plain: str
    """The unformatted wording of the source, for example for a model that answers alone."""
    dataset: str
    """The collection it belongs to, e.g. "college_mathematics"."""
    options: tuple[Option, ...] = ()
    """The answers offered, in the order of the source; none where the answer is free."""
    answer: str | None = None
    """The right answer (an option's key where there are options), or None if it is not known."""
    tags: Mapping[str, str] = field(default_factory=dict, hash=False)
    """For filters of a study, e.g. {"topic": "Algebra"}."""
    dialogue: tuple[DialogueMessage, ...] = ()
    """The finished conversation to rate, oldest message first; `text` is then its subject."""
    place: str = field(default="", compare=False, repr=False)
    """The place in its file, such as `line 7`, for errors; empty if that is not known. No part of the problem."""

    @property
    def response(self) -> str | None:
        """The chatbot's last message; None where the dialogue does not end with it."""
        last = self.dialogue[-1] if self.dialogue else None
        return last.text if last and last.role == "bot" else None

    def __post_init__(self) -> None:
        if faults := _broken_rules(self):
            raise ProblemError(f"Problem {self.id!r} cannot be used; correct it in its source:", *faults)

    def to_json(self) -> dict[str, object]:
        return {
            "id": self.id,
            "text": self.text,
            "plain": self.plain,
            "dataset": self.dataset,
            "options": [option.to_json() for option in self.options],
            "answer": self.answer,
            "tags": dict(self.tags),
            # left out where there is none: documents, and so the hashes, of older studies stay what they are
            **({"dialogue": [message.to_json() for message in self.dialogue]} if self.dialogue else {}),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, object]) -> "Problem":
        """Read what `to_json` gave; options, answer, tags and dialogue may be left out.

        Raises ProblemError with every key that is missing, unknown or of the wrong kind.
        """
        headline = f"Problem {data.get('id')!r} cannot be read; correct these keys:"
        if "place" in data:
            raise ProblemError(headline, _fault({"loc": ("place",), "type": "unexpected_keyword_argument"}))
        try:
            return _READER.validate_python(data)
        except ValidationError as error:
            raise ProblemError(headline, *map(_fault, error.errors(include_url=False))) from None


def _fault(error: Mapping[str, Any]) -> str:
    where = ".".join(map(str, error["loc"]))
    match error["type"]:
        case "missing":
            return f"{where} is missing"
        case "unexpected_keyword_argument":
            return f"{where!r} is not a key of a problem; allowed: {', '.join(_KEYS)}.{did_you_mean(where, _KEYS)}"
        case _:
            return f"{where}: {error['msg']}, not {error['input']!r:.60}"


def _broken_rules(problem: Problem) -> list[str]:
    if faults := _no_texts(problem):
        return faults
    keys = [option.key for option in problem.options]
    faults = [f"{name} is blank" for name in ("id", "text") if not getattr(problem, name).strip()]
    if len(set(keys)) < len(keys):
        faults.append(f"options: the keys {', '.join(keys)} are not all different")
    if keys and problem.answer is not None and problem.answer not in keys:
        faults.append(f"answer: {problem.answer!r} is not the key of an option; allowed: {', '.join(keys)}")
    return faults


def _no_texts(problem: Problem) -> list[str]:
    """Values that are no text where one has to be: a source may be anybody's."""
    names = ("id", "text", "plain", "dataset")
    texts: dict[str, object] = {name: getattr(problem, name) for name in names}
    texts |= {"answer": problem.answer} if problem.answer is not None else {}
    faults = [
        f"{name} is {value!r:.100}, which is not a text" for name, value in texts.items() if not isinstance(value, str)
    ]
    tags: object = problem.tags
    if not isinstance(tags, Mapping) or not all(isinstance(part, str) for pair in tags.items() for part in pair):
        faults.append(f"tags are {tags!r:.100}; they have to be texts by name")
    return faults


_READER: TypeAdapter[Problem] = TypeAdapter(Problem)
_KEYS = tuple(one.name for one in fields(Problem) if one.compare)
