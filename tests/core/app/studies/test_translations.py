"""A study in several languages: where its words come from, what is missing, what is wrong."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.i18n.catalogues import catalogue
from app.studies.loader import load_study
from experiments.events import Action
from experiments.session.engine import decide, fold
from experiments.session.state import current_location
from experiments.session.telemetry import disclosure
from experiments.study.location import State
from experiments.study.resolve import restore
from experiments.study.study import Study
from storage.yaml_text import yaml_text
from tests.fakes.driven import places
from tests.fakes.sessions import enrolment

LONG = "Please read this\ncarefully, and take\nyour time."


def small(folder: Path, **more: Any) -> str:
    flow = [
        {"step": "consent", "text": LONG},
        {"step": "info", "id": "hello", "text": "Only for Germans.", "when": {"language": "de"}},
        {"step": "finish", "text": "Goodbye."},
    ]
    raw = {"study": "small", "title": "A small study", "languages": ["en", "de"], "flow": flow} | more
    path = folder / "small.yaml"
    path.write_text(yaml_text(raw), encoding="utf-8")
    return str(path)


def words(found: Study, tag: str = "de") -> dict[str, str]:
    return dict(found.file.translations[tag])


def test_parleys_words_for_the_texts_of_a_study_stand_in_its_document(tmp_path: Path) -> None:
    found = load_study(small(tmp_path))
    texts = ("Consent", "Continue", "I agree to this consent form.", "I do not agree", disclosure(found))
    used = {text: catalogue("de")(text) for text in texts}
    assert words(found) == used
    assert restore(found.document).file == found.file
    assert json.loads(found.document)["file"]["translations"]["de"] == used


@pytest.mark.parametrize(
    ("more", "where"),
    [
        ({"languages": ["en", "tlh"]}, "languages[1]"),
        ({"language": "xx", "languages": []}, "language"),
        ({"translations": {"ar": {}}}, "translations.ar"),
        *(({"translations": {"de": given}}, "translations.de") for given in ("away.yaml", ["x"])),
    ],
)
def test_what_is_wrong_is_refused_at_its_place(tmp_path: Path, more: dict[str, Any], where: str) -> None:
    assert where in places(load_study, small(tmp_path, **more))


@pytest.mark.parametrize("language", ["", "en", "de"])
def test_a_condition_can_ask_for_the_language(tmp_path: Path, language: str) -> None:
    found = load_study(small(tmp_path))
    begun = enrolment("1")
    chosen = {"language": language} if language else {}
    state = fold(decide(found, State(), replace(begun, data={**begun.data, **chosen})))
    agree = Action("submit", "consent", {"agreed": True}, 1, seen=state.changed, key="agreed-1")
    place = current_location(found, fold(decide(found, state, agree), state))
    assert place is not None
    assert place.path == ("hello" if language == "de" else "finish")
