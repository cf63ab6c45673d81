r"""CheckMate's folder of theorems: one Markdown file `pN_name.md` each, ten numbers to a topic.

The sources write mathematics as `$...$` and `$$...$$`; Parley shows `$$...$$` and `\(...\)`, so only the
single dollars are rewritten, and in these sources every dollar that is not escaped is mathematics. A problem
is known by its file name as the released data have it: without `pN_`, and with `.html` for `.md`.
"""

import re
from pathlib import Path

from problems.errors import ProblemError
from problems.problem import Problem
from problems.registry import source
from problems.text import read_text

TOPICS = ("Algebra", "Group Theory", "Number Theory", "Probability Theory", "Topology", "Linear Algebra")
TOPIC_SIZE = 10
DATASET = "checkmate"

_NAME = re.compile(r"p(?P<number>[1-9]\d*)_(?P<name>.+)\.md")
# An inline formula ends before a blank line, so that a forgotten dollar is found near where it is.
_DOLLARS = re.compile(
    r"""  \\.                                              # escaped: not a dollar of ours
        | \$\$ (?: \\. | [^\\] )*? \$\$                    # on a line of its own: stays
        | \$ (?P<inline> (?: \\. | [^$\\\n] | \n(?!\s*\n) )+ ) \$
        | (?P<stray> \$ )
    """,
    re.VERBOSE | re.DOTALL,
)


@source("checkmate")
def load(path: Path) -> tuple[Problem, ...]:
    """Read theorems by their numbers, but no README.md or hidden files; raises ProblemError with every bad file."""
    if not path.is_dir():
        raise ProblemError(f"{path}: not a folder. Give the folder that holds the files pN_name.md.")
    files = [file for file in path.glob("*.md") if file.name != "README.md" and not file.name.startswith(".")]
    faults = [fault for file in sorted(files) for fault in _faults(file)]
    if not files:
        faults = ["there is no file pN_name.md"]
    if faults:
        raise ProblemError(f"{path}: not a folder of theorems; correct these files:", *faults)
    return tuple(_problem(file) for file in sorted(files, key=_order))


def to_delimiters(markdown: str) -> str:
    r"""Write each `$...$` as `\(...\)`, but not `$$...$$` or escaped dollars; ProblemError with each line of a single
    one."""
    strays = [match.start() for match in _DOLLARS.finditer(markdown) if match["stray"]]
    if strays:
        lines = [markdown.count("\n", 0, place) + 1 for place in strays]
        raise ProblemError(
            "A formula is not closed:",
            *(f"line {line}: a $ without its partner; close the formula, or write \\$" for line in lines),
        )
    return _DOLLARS.sub(lambda match: rf"\({match['inline']}\)" if match["inline"] else match[0], markdown)


def _faults(file: Path) -> list[str]:
    name = _NAME.fullmatch(file.name)
    last = len(TOPICS) * TOPIC_SIZE
    if name is None or int(name["number"]) > last:
        return [f"{file.name}: the name must be pN_name.md, with N from 1 to {last}"]
    try:
        markdown = read_text(file)
        to_delimiters(markdown)
    except ProblemError as error:
        return [f"{file.name}: {fault}" for fault in error.faults or (str(error),)]
    return [] if markdown.strip() else [f"{file.name}: the file is empty"]


def _problem(file: Path) -> Problem:
    number, name = _order(file)
    plain = read_text(file)
    return Problem(
        id=f"{name}.html",
        text=to_delimiters(plain).strip(),
        plain=plain,
        dataset=DATASET,
        tags={"topic": TOPICS[(number - 1) // TOPIC_SIZE]},
    )


def _order(file: Path) -> tuple[int, str]:
    number, name = file.stem[1:].split("_", 1)
    return int(number), name
