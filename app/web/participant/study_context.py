"""What every screen of a session has in common: its study's title and rules, its language, and the page's own words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from app.i18n.catalogues import Catalogue, catalogue
from app.session.transitions import Live
from experiments.session.telemetry import records as records_telemetry
from experiments.study.recruitment import Paste
from storage.registers.origins import Origin

_WORDS_JS = (Path(__file__).parents[1] / "static" / "words.js").read_text(encoding="utf-8")
PAGE_WORDS: Mapping[str, str] = dict(re.findall(r'^  (\w+): "(.*)",$', _WORDS_JS, re.MULTILINE))
"""What the page itself says in English, by the names that its script knows; words.js is where it stands."""


class StudyLook(NamedTuple):
    """What every screen of a study has in common."""

    title: str
    language: str = "en"
    contact: str = ""
    dollar_maths: bool = False
    """Whether a single $ delimits maths in conversations."""
    pilot: bool = False
    """Whether it is only tried out."""
    paste: Paste = "allow"
    """What pasting into a box does where the box does not say."""
    idle_s: float | None = None
    """After so long without a sign of life the page asks whether somebody is there."""
    telemetry: bool = False
    """Whether the page tells of itself now."""

    @property
    def words(self) -> Catalogue:
        """Parley's own words in its language."""
        return catalogue(self.language)


def look_of(live: Live) -> StudyLook:
    """What every screen of the session's study has in common, in the session's language."""
    file, language = live.study.file, live.language
    title, contact = (live.study.say(text, language) for text in (file.title, file.contact))
    return StudyLook(
        title,
        language,
        contact,
        file.dollar_maths,
        pilot=live.state.enrolled.get("origin") == Origin.PILOT,
        paste=file.paste,
        idle_s=file.session_limits.idle_after_s,
        telemetry=records_telemetry(live.study, live.state),
    )


def page_words(say: Catalogue) -> dict[str, str]:
    """What the page's script says, by its names; nothing in English, which it speaks already."""
    return {name: say(text) for name, text in PAGE_WORDS.items()} if say.words else {}


def labels(say: Catalogue) -> dict[str, dict[str, Any]]:
    """What Gradio's own components say, which are built in English."""
    if not say.words:
        return {}
    box = {"label": say("Your message"), "placeholder": say("Write a message"), "rtl": say.direction == "rtl"}
    return {"box": box, "send": {"value": say("Send")}}
