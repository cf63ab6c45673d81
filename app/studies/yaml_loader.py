"""YAML as study files are written in it, with the line on which each part stands.

A scalar without quotes is a value only where it is one in JSON as well: true, false, null (also `~`, or nothing at all)
and numbers. Everything else is the text that was typed: yes, 7:30, 007, 0x1F, 1_000, a date. Keys are always texts, and
each stands once. What is built is bounded: aliases that unfold into much more, tags and endless numbers are refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from ruamel.yaml import YAML, MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.composer import MaxDepthExceededError
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from app.errors import NotYaml
from experiments.study.base_model import AsTyped
from problems.text import NotText, checked, place_of

LONGEST = 2_000_000
DEEPEST = 100
LONGEST_NUMBER = 60
TOO_DEEP = "it is nested too deeply"
MERGE = "<<"
WORDS: Mapping[str, bool | None] = {"true": True, "false": False, "null": None, "~": None, "": None}
_CORE = "tag:yaml.org,2002:"
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
# Line ends in YAML 1.1 and none in 1.2 (1.2.2, 5.4), so a reader may fold the text around them.
_SEPARATOR = re.compile("[\u2028\u2029]")
_INDEX = re.compile(r"\[(\d+)\]")
_KEY = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Span:
    """A part of one line: its number, and the columns of its first character and after its last; all from 1."""

    line: int
    column: int
    end: int


@dataclass(frozen=True, slots=True)
class YamlDocument:
    value: Any
    root: Node | None

    def span(self, where: str) -> Span | None:
        """The place of a path such as `flow[2].options`, or of its nearest part; None for one elsewhere. It is a key,
        with its value if that is on the same line and no collection; or the begin of an item of a list."""
        if self.root is None or not where:
            return None
        found, node, rest = None, self.root, where
        while rest and (step := _step(node, rest)) is not None:
            found, node, rest = step
        missing = found is None and _KEY.fullmatch(where)
        return _span(self.root) if missing else found


def parse_yaml(text: str) -> YamlDocument:
    """Read a text; raises NotYaml, with the place where it is known."""
    try:
        text = checked(text)
    except NotText as error:
        raise NotYaml(error.problem, error.line, error.column) from None
    if found := _SEPARATOR.search(text):
        problem = f"U+{ord(found[0]):04X} (a line or paragraph separator) has no place in a text without an escape"
        raise NotYaml(problem, *place_of(text, found.start()))
    try:
        return _Constructor().read(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark
        problem = TOO_DEEP if isinstance(error, MaxDepthExceededError) else str(error.problem)
        raise NotYaml(problem, mark and mark.line + 1, mark and mark.column + 1) from None
    except (YAMLError, ValueError, OverflowError) as error:  # the latter: "\UFFFFFFFF" is no letter
        raise NotYaml(str(error)) from None
    except RecursionError:
        raise NotYaml(TOO_DEEP) from None


def _step(node: Node, rest: str) -> tuple[Span, Node, str] | None:
    """One step down a path: its place, what stands there, and what is left of the path."""
    if isinstance(node, SequenceNode) and (index := _INDEX.match(rest)) and int(index[1]) < len(node.value):
        item = node.value[int(index[1])]
        return _span(item), item, rest[index.end() :].removeprefix(".")
    if isinstance(node, MappingNode):
        # A name may have dots of its own, as models have; where a key was merged in, its own place comes last.
        fits = [(key, value) for key, value in _pairs(node) if _begins(rest, key.value)]
        if fits:
            key, value = max(reversed(fits), key=lambda pair: len(pair[0].value))
            return _span(key, value), value, rest[len(key.value) :].removeprefix(".")
    return None


def _span(node: Node, value: Node | None = None) -> Span:
    """The place of a node, up to the end of its scalar `value`; of a collection it is the first key or item."""
    if not isinstance(node, ScalarNode) and node.value:
        first = node.value[0]
        return _span(*first) if isinstance(first, tuple) else _span(first)
    start, ends = node.start_mark, [node.end_mark]
    if isinstance(value, ScalarNode) and value.start_mark.line == start.line:
        ends.append(value.end_mark)
    end = max([start.column, *(mark.column for mark in ends if mark.line == start.line)])
    return Span(start.line + 1, start.column + 1, end + 1)


def _begins(rest: str, key: str) -> bool:
    return rest == key or rest.startswith((f"{key}.", f"{key}["))


def _pairs(node: Node) -> Iterator[tuple[Node, Node]]:
    """The keys and values of a mapping: first those that it merges, of which the last holds."""
    if not isinstance(node, MappingNode):
        raise _refused(node, f"`{MERGE}` takes a mapping, or a list of mappings")
    for key, value in node.value:
        if _merges(key):
            for part in reversed(value.value) if isinstance(value, SequenceNode) else (value,):
                yield from _pairs(part)
    yield from ((key, value) for key, value in node.value if not _merges(key))


def _merges(key: Node) -> bool:
    return isinstance(key, ScalarNode) and key.value == MERGE and not key.style


class _Constructor:
    """Makes values of composed nodes, of each alias anew, once their size is known."""

    def __init__(self) -> None:
        self._yaml = YAML(typ="safe", pure=True)
        self._yaml.max_depth = DEEPEST
        self._yaml.composer.warn_double_anchors = False
        self._sizes: dict[Node, int] = {}

    def read(self, text: str) -> YamlDocument:
        root = self._yaml.compose(text)
        if root is None:
            return YamlDocument(None, None)
        self._size(root)
        return YamlDocument(self._value(root, 1), root)

    def _size(self, node: Node) -> int:
        """The number of characters of a node with all that its aliases stand for."""
        if node not in self._sizes:
            self._sizes[node] = LONGEST + 1  # what is a part of itself has no end
            parts = () if isinstance(node, ScalarNode) else node.value
            parts = chain.from_iterable(parts) if isinstance(node, MappingNode) else parts
            own = len(node.value) if isinstance(node, ScalarNode) else 0
            self._sizes[node] = 1 + own + sum(map(self._size, parts))
        if self._sizes[node] > LONGEST:
            raise _refused(node, "its aliases expand to too much")
        return self._sizes[node]

    def _value(self, node: Node, depth: int) -> Any:
        if depth > DEEPEST:
            raise _refused(node, TOO_DEEP)
        if isinstance(node, ScalarNode):
            return self._scalar(node)
        if node.tag not in (f"{_CORE}map", f"{_CORE}seq"):
            raise _refused(node, f"the tag {_short(node.tag)} is not allowed here")
        if isinstance(node, MappingNode):
            return self._mapping(node, depth)
        return [self._value(item, depth + 1) for item in node.value]

    def _mapping(self, node: MappingNode, depth: int) -> dict[str, Any]:
        self._sound_keys(node)
        found: dict[str, Any] = {}
        for key, value in _pairs(node):
            self._value(key, depth + 1)
            found[key.value] = self._value(value, depth + 1)
        return found

    def _sound_keys(self, node: MappingNode) -> None:
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, ScalarNode) or not (key.value or key.style):
                raise _refused(key, "a key is not a text")
            if key.value in seen and not _merges(key):
                raise _refused(key, f"duplicate key {key.value!r}")
            seen.add(key.value)

    def _scalar(self, node: ScalarNode) -> Any:
        text = node.value
        plain = self._yaml.resolver.resolve(ScalarNode, text, (True, False))
        if node.tag not in (str(plain), f"{_CORE}str"):
            raise _refused(node, f"the tag {_short(node.tag)} is not allowed here")
        try:
            text = checked(text)  # escapes such as "\0"
        except NotText as error:
            raise _refused(node, error.problem) from None
        if node.style or node.tag == f"{_CORE}str":
            return text
        if text in WORDS:
            return WORDS[text]
        if not _NUMBER.fullmatch(text):
            return text
        if len(text) > LONGEST_NUMBER:
            raise _refused(node, "a number is too long; put it in quotes if it is a text")
        number = json.dumps(json.loads(text))
        if "Infinity" in number:
            return text
        written = text.replace(".0e", "e")  # YAML 1.1 wants a point in 1.0e-05, which is 1e-05 in JSON
        return json.loads(text) if number == written else AsTyped(text)


def _refused(node: Node, why: str) -> MarkedYAMLError:
    return MarkedYAMLError(problem=why, problem_mark=node.start_mark)


def _short(tag: str | None) -> str:
    return repr(str(tag).replace(_CORE, "!!"))
