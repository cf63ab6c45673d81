"""Texts full of the signs of tags, entities, formulas and Markdown, in which none of them means more than itself."""

from __future__ import annotations

import random

# Each reads as it is written, wherever it stands within a line.
SAYINGS = (
    "if a<b and c>d then", "x < y", "p > q", "<b>bold</b>", "<i", "<script>alert(1)</script>", "a</p>b", "R&D", "x & y",
    "&amp;", "&lt;b&gt;", "&#60;", "&nbsp;", "it costs $5 and then $10", "US$", "snake_case_name", "_ x _", "2 * 3 * 4",
    "* y", "C:\\temp\\new", "\\ x", "a \\ b", "f_1 and f_2", "5*", "so *", "$ x $", "<>", "a<<b", "c>>d", "1 <2",
)  # fmt: skip


def plain(chance: random.Random) -> str:
    return "Well, " + " ".join(chance.choices(SAYINGS, k=chance.randint(1, 8))) + " so."
