r"""DICES: finished conversations with a chatbot, whose last response is rated for safety.

Reads the released csv files (https://github.com/google-research-datasets/dices-dataset, CC BY 4.0), which have a row
for each rating: a conversation is taken once for each item_id, and what raters answered is passed over. Of the columns
only item_id, context and response must be there. A context is written in one of two ways, and kept in `plain`:

- DICES-350: a line for each message, `USER: ...` or `LAMDA: ...` (`LLM: ...` in some copies);
- DICES-990: all on one line, `A: ...` or `B: ...`, with the two characters `\n` after each message.

What is known of a conversation is in its tags, which people who take part are never shown.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from problems.errors import ProblemError
from problems.problem import DialogueMessage, Problem
from problems.readers import Record, csv_records
from problems.registry import source
from problems.text import read_text

NEEDED = ("item_id", "context", "response")
# Columns with a closed list of values; they are blank where nobody has annotated the conversation.
DOMAINS: Mapping[str, tuple[str, ...]] = {
    "degree_of_harm": ("Benign", "Debatable", "Moderate", "Extreme"),
    "safety_gold": ("No", "Yes"),
}
# The labels in column harm_type, which a cell joins by commas; one ends with a blank. They are those of
# tensorflow-datasets' builder `dices`, which does not distinguish upper and lower case.
HARM_TYPES = (
    *("Ablist", "Abortion", "Ageism", "Aggressive", "Banter", "Bigoted", "Celebrity", "Criminal/carceral"),
    *("Drugs/alcohol", "Entertainment", "Environment/climate", "Gendered & Sexist", "Health", "Identity"),
    *("Insurgency", "Legal", "LGBTQ+ & Homophobic", "Mental health/self harm", "Miscellaneous", "Misinformation"),
    *("National/regional", "Personal", "Political", "Racial", "Regulated goods", "Religious", "Senseless", "Sexual"),
    *("Terrorism ", "Violent/Gory", "Wealth/Finance"),
)
TAGS = ("degree_of_harm", "harm_type", "safety_gold", "safety_gold_reason")

Role = Literal["user", "bot"]


@dataclass(frozen=True, slots=True)
class ContextStyle:
    """The names of speakers in a release's contexts, and the separators after each message and at the end."""

    roles: Mapping[str, Role]
    after: str
    end: str

    def name(self, role: Role) -> str:
        return next(name for name, its in self.roles.items() if its == role)

    def read(self, context: str) -> tuple[DialogueMessage, ...]:
        """The messages of a context; none if it is not written in this way."""
        labels = re.compile(f"(?:^|{re.escape(self.after)})({'|'.join(self.roles)}): ")
        parts = labels.split(context.removesuffix(self.end))
        if parts[0]:
            return ()
        said = zip(parts[1::2], parts[2::2], strict=True)
        return tuple(DialogueMessage(self.roles[name], text.replace(self.after, "\n"), name) for name, text in said)

    def write(self, messages: Sequence[DialogueMessage]) -> str:
        names = (said.name if said.name in self.roles else self.name(said.role) for said in messages)
        lines = (f"{name}: {said.text}".replace("\n", self.after) for name, said in zip(names, messages, strict=True))
        return self.after.join(lines) + self.end


# The two releases, by the name that is also the dataset of their problems.
STYLES: Mapping[str, ContextStyle] = {
    "dices-350": ContextStyle({"USER": "user", "LAMDA": "bot", "LLM": "bot"}, "\n", ""),
    "dices-990": ContextStyle({"A": "user", "B": "bot"}, r"\n", r"\n"),
}


def context(problem: Problem, style: str) -> str:
    """The context of a conversation as a release has it: to the character if it came from there, else in its style."""
    return problem.plain if problem.dataset == style else STYLES[style].write(problem.dialogue[:-1])


@source("dices", sample="dialogues.csv")
def load(path: Path) -> tuple[Problem, ...]:
    """Read a csv of DICES; raises ProblemError with every bad row, by line and column."""
    return parse(read_text(path), str(path))


def parse(text: str, where: str) -> tuple[Problem, ...]:
    """Read the text of such a csv; `where` names it in errors."""
    records, faults = csv_records(text)
    items, bad = ([], wrong) if (wrong := _header_faults(records)) else _gather(records)
    bad += [fault for item in items for fault in _item_faults(item)]
    if faults := bad + faults:
        raise ProblemError(f"{where}: not a csv of DICES; correct these and load it again:", *faults)
    return tuple(_problem(item) for item in items)


@dataclass(frozen=True, slots=True)
class _Conversation:
    """A conversation: the line on which it is met first, its cells, and its context as it was understood."""

    line: int
    cells: Mapping[str, str]
    style: str
    messages: tuple[DialogueMessage, ...]


def _header_faults(records: Sequence[Record]) -> list[str]:
    line, header = records[0] if records else (1, [])
    faults = [f"line {line}: the column {name} is missing" for name in NEEDED if name not in header]
    twice = [name for name in (*NEEDED, *TAGS) if header.count(name) > 1]
    faults += [f"line {line}: the column {name} is there twice" for name in twice]
    return faults or ([] if len(records) > 1 else ["there is no conversation below the header"])


def _gather(records: Sequence[Record]) -> tuple[list[_Conversation], list[str]]:
    """Each conversation once; and the rows that have too few cells, or contradict an earlier one."""
    header, faults = records[0][1], []
    kept = [(place, name) for place, name in enumerate(header) if name in (*NEEDED, *TAGS)]
    items: dict[str, _Conversation] = {}
    for line, row in records[1:]:
        if len(row) != len(header):
            faults.append(
                f"line {line}: {len(row)} cells instead of {len(header)}; put quotes around cells with separators"
            )
            continue
        cells = {name: row[place] for place, name in kept}
        known = items.get(cells["item_id"])
        if known is None:
            items[cells["item_id"]] = _Conversation(line, cells, *_understood(cells["context"]))
        elif other := [name for name, value in cells.items() if value != known.cells[name]]:
            named = f"item_id {cells['item_id']!r}"
            faults.append(f"line {line}: {named} has another {', '.join(other)} than on line {known.line}")
    return list(items.values()), faults


def _understood(context: str) -> tuple[str, tuple[DialogueMessage, ...]]:
    """The release whose style a context has, and its messages; none if it has no style that is known."""
    read = ((name, style.read(context)) for name, style in STYLES.items())
    return next((found for found in read if found[1]), ("", ()))


def _item_faults(conversation: _Conversation) -> list[str]:
    faults = [f"{name} is empty" for name in ("item_id", "response") if not conversation.cells[name].strip()]
    if not conversation.messages:
        labels = ", ".join(f"'{label}: '" for style in STYLES.values() for label in style.roles)
        faults.append(f"context must begin with one of {labels}, not {conversation.cells['context'][:40]!r}")
    faults += label_faults(conversation.cells)
    return [f"line {conversation.line}, column {fault}" for fault in faults]


def label_faults(labels: Mapping[str, str]) -> Iterator[str]:
    """Faults of a conversation's labels, by column; blank ones are allowed."""
    for name, values in DOMAINS.items():
        if labels.get(name, "") not in ("", *values):
            yield f"{name} {labels[name]!r} is not allowed; allowed: {', '.join(values)}, or blank"
    topics, known = labels.get("harm_type", ""), {label.casefold() for label in HARM_TYPES}
    for label in topics.split(",") if topics else ():
        if label.casefold() not in known:
            yield f"harm_type {label!r} is not allowed; allowed: {', '.join(HARM_TYPES)}, joined by commas, or blank"


def _problem(conversation: _Conversation) -> Problem:
    cells = conversation.cells
    return Problem(
        id=cells["item_id"],
        text=cells["response"],
        plain=cells["context"],
        dataset=conversation.style,
        tags={name: cells[name] for name in TAGS if cells.get(name)},
        dialogue=(*conversation.messages, DialogueMessage("bot", cells["response"])),
    )
