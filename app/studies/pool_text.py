"""A pool of items written into the text of a study file, with the author's lines and comments kept.

Only the lines of that pool change. The edited text is read back and compared with what it should say; a file in which
the pool cannot be replaced by itself (one written with anchors, say) is refused instead of changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from textwrap import indent
from typing import Any

from ruamel.yaml import CollectionNode, MappingNode, Node

from app.errors import NotYaml
from app.studies.loader import FILE, mapping_of, yaml_issue
from app.studies.yaml_loader import YamlDocument, parse_yaml
from experiments.errors import StudyError, ValidationIssue
from storage.yaml_text import yaml_text

PROBLEMS, FLOW = "problems", "flow"
# The keys of a pool that say where its items are; its others, such as `groups`, stay.
REPLACED = ("source", "path", "columns", "items")


def pools_in(text: str) -> dict[str, dict[str, Any]] | None:
    """The pools of a study file by name, as they are written; None for a text that is no YAML."""
    try:
        return _pools(parse_yaml(text).value)
    except NotYaml:
        return None


def with_pool(text: str, name: str, pool: Mapping[str, Any]) -> str:
    """The text with this pool in place of the one of its name, or below the others; raises StudyError."""
    try:
        page = parse_yaml(text)
    except NotYaml as error:
        raise StudyError(FILE, [yaml_issue(error)]) from None
    raw = mapping_of(page, FILE)
    kept = {key: value for key, value in _pools(raw).get(name, {}).items() if key not in REPLACED}
    wanted = {**_pools(raw), name: {**pool, **kept}}
    edited = _edited(text, page, name, wanted)
    if _value(edited) != {**raw, PROBLEMS: wanted}:
        lines = yaml_text({PROBLEMS: {name: wanted[name]}})
        what = f"the pool {name!r} cannot be replaced by itself here. Write these lines into the file:\n{lines}"
        raise StudyError(FILE, [ValidationIssue(PROBLEMS, what)])
    return edited


def _value(text: str) -> Any:
    try:
        return parse_yaml(text).value
    except NotYaml:
        return None


def _pools(raw: object) -> dict[str, dict[str, Any]]:
    pools = raw.get(PROBLEMS) if isinstance(raw, dict) else None
    return {name: pool for name, pool in pools.items() if isinstance(pool, dict)} if isinstance(pools, dict) else {}


def _edited(text: str, document: YamlDocument, name: str, wanted: Mapping[str, Any]) -> str:
    lines = text.splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    top = _entries(document.root)
    if PROBLEMS not in top:
        start = top[FLOW][0].start_mark.line if FLOW in top else len(lines)
        return _spliced(lines, start, start, yaml_text({PROBLEMS: wanted}))
    key, value = top[PROBLEMS]
    written = _entries(value) if isinstance(value, MappingNode) and not value.flow_style else {}
    if not written:
        return _spliced(lines, key.start_mark.line, _end(lines, value), yaml_text({PROBLEMS: wanted}))
    column = next(iter(written.values()))[0].start_mark.column
    block = indent(yaml_text({name: wanted[name]}), " " * column)
    if name in written:
        return _spliced(lines, written[name][0].start_mark.line, _end(lines, written[name][1]), block)
    end = _end(lines, value)
    return _spliced(lines, end, end, block)


def _spliced(lines: list[str], start: int, end: int, block: str) -> str:
    return "".join([*lines[:start], block, *lines[end:]])


def _entries(node: Node | None) -> dict[str, tuple[Node, Node]]:
    return {key.value: (key, value) for key, value in node.value} if isinstance(node, MappingNode) else {}


def _end(lines: list[str], node: Node) -> int:
    """The line after a node's last; the comments and blank lines that follow it belong to what comes next."""
    ends = [leaf.end_mark for leaf in _leaves(node)]
    last = max(int(end.line) - int(end.column == 0) for end in ends)
    first = int(node.start_mark.line)
    while last > first and lines[last].lstrip()[:1] in ("", "#"):
        last -= 1
    return last + 1


def _leaves(node: Node) -> Iterator[Node]:
    """The scalars and lists in brackets below a node: a block's own end is where the next one begins."""
    parts = [part for pair in node.value for part in pair] if isinstance(node, MappingNode) else node.value
    if not isinstance(node, CollectionNode) or not parts or node.flow_style:
        yield node
    else:
        for part in parts:
            yield from _leaves(part)
