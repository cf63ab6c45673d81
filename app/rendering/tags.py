"""The few HTML tags that are drawn, without attributes: `<br>`, `<sub>`, `<sup>`, and `<details>` with `<summary>`.

A tag without its end, or whose end stands outside of what it is in, is text, as all other tags are: what is drawn is
always balanced.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from functools import lru_cache

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

from app.rendering.code import CODE

_BREAK = re.compile(r"<br\s*/?>[ \t]*\n?", re.IGNORECASE)
_PAIR = re.compile(CODE + r"|<(?P<ends>/?)(?P<name>sub|sup|details)>", re.IGNORECASE | re.MULTILINE)
_HEAD = re.compile(r"<details>[ \t]*", re.IGNORECASE)
_SUMMARY = re.compile(r"<summary>([^\n]*?)</summary>[ \t]*", re.IGNORECASE)


def draw_tags(parser: MarkdownIt) -> None:
    parser.inline.ruler.before("autolink", "tags", _inline)
    parser.block.ruler.at("html_block", _details, {"alt": ["paragraph", "blockquote", "list"]})


def _inline(state: StateInline, silent: bool) -> bool:
    if state.src[state.pos] != "<":
        return False
    if found := _BREAK.match(state.src, state.pos, state.posMax):
        if not silent:
            state.push("hardbreak", "br", 0)
        state.pos = found.end()
        return True
    opened = _PAIR.match(state.src, state.pos, state.posMax)
    begins, ends = _pairs(state.src).get(state.pos, (0, state.posMax + 1))
    if opened is None or ends > state.posMax or opened["name"].lower() == "details":
        return False
    if not silent:
        name, most = opened["name"].lower(), state.posMax
        state.push(f"{name}_open", name, 1)
        state.pos, state.posMax = opened.end(), begins
        state.md.inline.tokenize(state)
        state.push(f"{name}_close", name, -1)
        state.posMax = most
    state.pos = ends
    return True


def _details(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """`<details>` at the beginning of a line, to the `</details>` at the end of the same line or of a later one."""
    head = _HEAD.match(state.src, state.bMarks[start] + state.tShift[start])
    if head is None or state.is_code_block(start) or head.start() not in (pairs := _pairs(state.src)):
        return False
    begins, ends = pairs[head.start()]
    below = head.end() == state.eMarks[start] and start + 1 < end  # the summary is on the next line
    at = state.bMarks[start + 1] + state.tShift[start + 1] if below else head.end()
    summary = _SUMMARY.match(state.src, at, begins)
    at = summary.end() if summary else head.end()
    first, last = (bisect_right(state.bMarks, one, start, end) - 1 for one in (at, begins))
    if ends > state.eMarks[end - 1] or state.src[ends : state.eMarks[last]].strip():
        return False
    if not silent:
        state.push("details_open", "details", 1).map = [start, last + 1]
        if summary:
            state.push("summary_open", "summary", 1)
            inline = state.push("inline", "", 0)
            inline.content, inline.map, inline.children = summary[1].strip(), [start, first + 1], []
            state.push("summary_close", "summary", -1)
        _inside(state, first, at, last, begins)
        state.push("details_close", "details", -1)
    state.line = last + 1
    return True


def _inside(state: StateBlock, first: int, begins: int, last: int, ends: int) -> None:
    """Parse the blocks from a place in the first line to a place in the last one."""
    kept = state.parentType, state.lineMax, state.eMarks[last]
    line = state.bMarks[first], state.tShift[first], state.sCount[first]
    state.parentType, state.lineMax, state.eMarks[last] = "blockquote", last + 1, ends
    state.bMarks[first], state.tShift[first], state.sCount[first] = begins, 0, state.blkIndent
    state.md.block.tokenize(state, first, last + 1)
    state.bMarks[first], state.tShift[first], state.sCount[first] = line
    state.parentType, state.lineMax, state.eMarks[last] = kept


@lru_cache(maxsize=64)
def _pairs(text: str) -> Mapping[int, tuple[int, int]]:
    """By where a tag begins, where the tag that ends it begins and ends."""
    pairs: dict[int, tuple[int, int]] = {}
    opened: list[tuple[str, int]] = []
    for tag in _PAIR.finditer(text):
        name = (tag["name"] or "").lower()
        if tag["code"]:
            continue
        if not tag["ends"]:
            opened.append((name, tag.start()))
        elif any(name == one for one, _ in opened):
            while opened[-1][0] != name:
                opened.pop()
            pairs[opened.pop()[1]] = tag.span()
    return pairs
