"""How the page shows each text of a study: what app/studies/page_texts.py says of it is what the renderer does."""

from __future__ import annotations

import copy
import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from app.rendering.losses import Form
from app.studies.loader import EXPERIMENTS, read_protocols, read_yaml
from app.studies.page_texts import texts_of_study
from app.studies.translations import resolve_translations
from app.web.participant.view import StudyContext, render_page
from experiments.session.engine import screen
from experiments.study.study import Study
from problems.pools import load_pool
from tests.fakes.sessions import play

EVERYTHING = Path(__file__).parents[2] / "studies" / "everything.yaml"
# What is added to a text: a list with emphasis if the page shows blocks, emphasis in a line, or as typed.
MARK = "\n\n- *z{}z*"
FOUND = re.compile(r"<li><em>z(\d+)z</em>|- <em>z(\d+)z</em>|- \*z(\d+)z\*")
FORMS: tuple[Form, ...] = ("blocks", "line", "plain")


def resolved(raw: Mapping[str, Any]) -> Study:
    pools = {name: load_pool(given, name, EVERYTHING.parent) for name, given in raw["problems"].items()}
    return resolve_translations(raw, read_protocols(EXPERIMENTS, []), pools)


def marked(raw: dict[str, Any]) -> tuple[dict[str, Any], dict[int, tuple[str, Form]]]:
    """The study with a mark in each text, and for each mark the text's path and how it is said to be shown."""
    raw = copy.deepcopy(raw)
    said: dict[int, tuple[str, Form]] = {}
    for number, text in enumerate(texts_of_study(resolved(raw), raw, {})):
        if not text.where:
            continue
        *path, last = re.findall(r"[^.\[\]]+", text.where)
        held: Any = raw
        for key in path:
            held = held[int(key)] if isinstance(held, list) else held[key]
        if isinstance(held, dict):  # items of lists are names of answers too
            held[last] += MARK.format(number)
            said[number] = text.where, text.form
    return raw, said


def test_each_text_is_shown_as_is_said() -> None:
    raw = read_yaml(EVERYTHING)
    raw["flow"][-1] |= {"text": "Thanks."}
    raw["flow"][0] |= {"title": "Consent", "button": "Go on", "decline": "I refuse", "checkbox": "I agree"}
    raw["flow"][2]["questions"][0] |= {"help": "One of them."}
    raw["contact"] = "us"
    raw, said = marked(raw)
    study, seen = resolved(raw), defaultdict[int, set[Form]](set)
    look = StudyContext(study.file.title, contact=study.file.contact)
    for seed in "abc":
        for state, _ in play(study, seed):
            if state.seq:
                page = render_page(screen(study, state), study=look, shown=None, draft={})
                for found in FOUND.finditer("".join(str(part.get("value", "")) for part in page.updates.values())):
                    form = FORMS[next(n for n, mark in enumerate(found.groups()) if mark)]
                    seen[int(next(filter(None, found.groups())))].add(form)
    assert len(seen) > 30
    assert {said[number][0]: forms for number, forms in seen.items()} == {
        said[number][0]: {said[number][1]} for number in seen
    }
