"""Texts that want to do harm where they are shown, by what they would do.

A participant, a model or somebody's file may hold any of them. What runs sets `window.__pwned`, and EVIL is a host that
nothing may ask.
"""

from __future__ import annotations

from tests.fakes.hostile import bombs, formulas, markup, overflow, places, signs
from tests.fakes.hostile.payload import EVIL, Payload

ALL: tuple[Payload, ...] = (
    *markup.SCRIPTS,
    *markup.HANDLERS,
    *markup.MUTATIONS,
    *markup.FOREIGN,
    *markup.OVERLAYS,
    *places.LINKS,
    *places.BREAKOUTS,
    *places.TEMPLATES,
    *formulas.FORMULAS,
    *overflow.OVERFLOW,
    *signs.DIRECTIONS,
    *signs.TERMINAL,
    *signs.LOG_LINES,
    *signs.CELLS,
    *signs.LITERAL,
    *bombs.BOMBS,
)
LIGHT: tuple[Payload, ...] = tuple(one for one in ALL if one.kind != "bomb")

__all__ = ["ALL", "EVIL", "LIGHT", "Payload"]
