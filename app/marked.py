"""YAML as study files are written in it, with the line on which each part stands.

As version 1.2 has it: yes, no, on and off are words, and only true and false are truth values; a key stands once. What
is built is bounded by the text: aliases that would unfold into much more, tags and endless numbers are refused before.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import yaml

LONGEST = 2_000_000
"""How many characters a text may have once its aliases are unfolded."""
DEEPEST = 100
LONGEST_NUMBER = 60
_CORE = "tag:yaml.org,2002:"
_INDEX = re.compile(r"\[(\d+)\]")
_KEY = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Marked:
    """A text that was read: what it says, and where."""

    value: Any
    root: yaml.Node | None

    def line(self, where: str) -> int | None:
        """The line of a path such as `flow[2].options`, or of what is there of it; None for one elsewhere."""
        if self.root is None or not where:
            return None
        found, node, rest = None, self.root, where
        while rest and (step := _step(node, rest)) is not None:
            found, node, rest = step
        missing = found is None and _KEY.fullmatch(where)
        return self.root.start_mark.line + 1 if missing else found


def marked(text: str) -> Marked:
    """Read a text; raises yaml.YAMLError, with a mark where it is known."""
    try:
        loader = _Loader(text)
        root = loader.get_single_node()
        if root is None:
            return Marked(None, None)
        _Sound(loader).size(root)
        return Marked(loader.construct_document(root), root)
    except RecursionError:
        raise yaml.YAMLError("it is nested too deeply") from None


def _step(node: yaml.Node, rest: str) -> tuple[int, yaml.Node, str] | None:
    """One step down a path: the line, what stands there, and what is left of the path."""
    if isinstance(node, yaml.SequenceNode) and (index := _INDEX.match(rest)):
        number = int(index[1])
        if number < len(node.value):
            item = node.value[number]
            return item.start_mark.line + 1, item, rest[index.end() :].removeprefix(".")
    if isinstance(node, yaml.MappingNode):
        # A name may have dots of its own, as models have; where a key was merged in, its own place comes last.
        fits = [(key, value) for key, value in node.value if rest == key.value or _begins(rest, key.value)]
        if fits:
            key, value = max(reversed(fits), key=lambda pair: len(pair[0].value))
            return key.start_mark.line + 1, value, rest[len(key.value) :].removeprefix(".")
    return None


def _begins(rest: str, key: str) -> bool:
    return rest.startswith((f"{key}.", f"{key}["))


class _Loader(yaml.SafeLoader):
    """The dialect."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """As ever; what only looks like a date or a number is told with its place."""
        try:
            return super().construct_object(node, deep)
        except ValueError as error:
            raise yaml.MarkedYAMLError(problem=str(error), problem_mark=node.start_mark) from None

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """As ever, but a key that stands twice is an error; YAML itself lets the last win."""
        seen: set[Any] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag.endswith("timestamp"):
                raise yaml.MarkedYAMLError(problem="a key is no word", problem_mark=key.start_mark)
            if key.value in seen and key.value != "<<":
                raise yaml.MarkedYAMLError(problem=f"the key {key.value!r} stands twice", problem_mark=key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != f"{_CORE}bool"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(f"{_CORE}bool", re.compile("(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF"))


class _Sound:
    """Looks at what was composed before anything is built of it; raises yaml.MarkedYAMLError."""

    def __init__(self, loader: _Loader) -> None:
        self._loader = loader
        self._known: dict[yaml.Node, tuple[int, int] | None] = {}

    def size(self, node: yaml.Node, depth: int = 0) -> tuple[int, int]:
        """How many characters a node has and how deep it is, with all that its aliases stand for."""
        if node in self._known:
            known = self._known[node]
            if known is None:
                raise _refused(node, "it is a part of itself")
            return known
        self._known[node] = None
        inside = [self.size(part, depth + 1) for part in self._parts(node)] if depth < DEEPEST else []
        chars = sum(chars for chars, _ in inside) + (self._word(node) if isinstance(node, yaml.ScalarNode) else 1)
        height = 1 + max((height for _, height in inside), default=0)
        if depth + height > DEEPEST:
            raise _refused(node, "it is nested too deeply")
        if chars > LONGEST:
            raise _refused(node, "its aliases unfold into too much")
        self._known[node] = (chars, height)
        return chars, height

    def _parts(self, node: yaml.Node) -> list[yaml.Node]:
        if isinstance(node, yaml.ScalarNode):
            return []
        if node.tag not in (f"{_CORE}map", f"{_CORE}seq"):
            raise _refused(node, f"the tag {_short(node.tag)} has no place here")
        return (
            list(node.value) if isinstance(node, yaml.SequenceNode) else [part for pair in node.value for part in pair]
        )

    def _word(self, node: yaml.ScalarNode) -> int:
        plain = self._loader.resolve(yaml.ScalarNode, node.value, (True, False))  # type: ignore[no-untyped-call]
        if node.tag not in (plain, f"{_CORE}str"):
            raise _refused(node, f"the tag {_short(node.tag)} has no place here")
        if node.tag in (f"{_CORE}int", f"{_CORE}float") and len(node.value) > LONGEST_NUMBER:
            raise _refused(node, "a number is too long")
        if any("\ud800" <= letter <= "\udfff" for letter in node.value):
            raise _refused(node, "a text has half a letter (a surrogate)")
        return 1 + len(node.value)


def _refused(node: yaml.Node, why: str) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=why, problem_mark=node.start_mark)


def _short(tag: str) -> str:
    return repr(tag.replace(_CORE, "!!"))
