"""A study in several languages: where its words come from, what is missing, what is wrong."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.i18n.catalogues import catalogue
from app.studies.loader import STUDIES, load_study, shipped
from app.studies.translations import missing_translations
from experiments.errors import StudyError
from experiments.events import Action
from experiments.session.engine import decide, fold
from experiments.session.state import State, current_location
from experiments.session.telemetry import disclosure
from experiments.study.resolve import restore
from experiments.study.study import Study
from experiments.views.translatable_texts import unused_translations
from storage.yaml_text import yaml_text
from tests.fakes.sessions import enrolment

LONG = "Please read this\ncarefully, and take\nyour time."


def small(folder: Path, **more: Any) -> str:
    """A study of three screens in English and German, unless said otherwise."""
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


def test_a_study_written_in_german_has_its_buttons_in_german(tmp_path: Path) -> None:
    found = load_study(small(tmp_path, language="de", languages=[]))
    assert found.translate("Continue", "de") == "Weiter"
    assert missing_translations(found, "de") == ()


def test_the_studys_own_translation_wins_however_it_is_wrapped(tmp_path: Path) -> None:
    own = {"Continue": "Los", " ".join(LONG.split()): "Bitte lesen Sie.", "Nowhere": "Nirgends"}
    inline = load_study(small(tmp_path, translations={"de": own}))
    (tmp_path / "words.yaml").write_text(yaml_text(own), encoding="utf-8")
    from_file = load_study(small(tmp_path, translations={"de": "words.yaml"}))
    assert inline.hash == from_file.hash != load_study(small(tmp_path)).hash
    assert (words(inline)["Continue"], words(inline)[LONG]) == ("Los", "Bitte lesen Sie.")
    assert unused_translations(inline, "de") == ("Nowhere",)


def test_what_is_missing_is_told_in_the_order_of_the_study(tmp_path: Path) -> None:
    found = load_study(small(tmp_path))
    assert missing_translations(found, "de") == ("A small study", LONG, "Only for Germans.", "Goodbye.")
    assert missing_translations(found, "en") == ()
    german = load_study(small(tmp_path, language="de", languages=["de", "en"]))
    assert missing_translations(german, "en") == ("A small study", LONG, "Only for Germans.", "Goodbye.")


@pytest.mark.parametrize(
    ("more", "fault"),
    [
        ({"languages": ["en", "tlh"]}, "languages[1]: Parley has no words in 'tlh'; allowed: ar, de, en."),
        ({"language": "xx", "languages": []}, "language: Parley has no words in 'xx'; allowed: ar, de, en."),
        ({"translations": {"ar": {}}}, "translations.ar: 'ar' is not offered"),
        ({"translations": {"de": "away.yaml"}}, "translations.de: there is no file 'away.yaml' beside the study file"),
        ({"translations": {"de": ["x"]}}, "translations.de"),
    ],
)
def test_what_is_wrong_is_told_with_what_is_allowed(tmp_path: Path, more: dict[str, Any], fault: str) -> None:
    with pytest.raises(StudyError) as told:
        load_study(small(tmp_path, **more))
    assert fault in str(told.value)


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


def test_the_demo_is_complete_in_every_language_that_it_offers() -> None:
    demo = load_study("demo")
    assert demo.file.offered == ("en", "de", "ar")
    assert [(missing_translations(demo, tag), unused_translations(demo, tag)) for tag in demo.file.offered] == [
        ((), ())
    ] * 3


def test_a_translation_is_no_study() -> None:
    assert {path.name for path in STUDIES.glob("demo*.yaml")} == {"demo.yaml", "demo.de.yaml", "demo.ar.yaml"}
    assert [name for name in shipped() if name.startswith("demo")] == ["demo"]
