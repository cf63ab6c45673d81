"""What a consent form has to say is found in each language, and what it does not say is named with its place."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.studies.loader import load_study, shipped
from experiments.errors import StudyError
from experiments.study.checks.lint import advice
from experiments.study.consent.check import consent_advice, consent_findings
from experiments.study.consent.elements import ELEMENTS, WORDINGS, normalized
from experiments.study.resolve import resolve
from experiments.study.study import Study
from problems.problem import Problem
from tests.fakes.consent import EVERY, form

CHAT = {"each": "q", "of": "questions", "flow": [{"step": "chat"}]}
FINISH = {"step": "finish"}


def study_of(*flow: dict[str, Any], **keys: Any) -> Study:
    raw = {
        "study": "small",
        "title": "Small",
        "models": {"tutor": {"backend": "scripted"}},
        "problems": {"questions": {"source": "jsonl"}},
        "flow": [*flow, FINISH],
        **keys,
    }
    return resolve(raw, {}, {"questions": [Problem("p", "What?", "What?", "d")]})


def consent(text: str, **keys: Any) -> dict[str, Any]:
    return {"step": "consent", "text": text, "checkbox": "Yes.", **keys}


def missing(study: Study) -> set[str]:
    return {one.element.name for one in consent_findings(study) if one.status == "missing"}


@given(language=st.sampled_from(sorted(WORDINGS)), without=st.sets(st.sampled_from(EVERY), max_size=len(EVERY) - 1))
def test_what_is_taken_out_of_a_full_form_is_missed_and_nothing_else(language: str, without: set[str]) -> None:
    study = study_of(consent(form(language, without)), CHAT, language=language)
    assert missing(study) == without
    told = list(consent_advice(study))
    assert len(told) == len(without)
    for element in ELEMENTS:
        if element.name in without:
            (line,) = [one for one in told if f"does not say {element.says} " in one]
            assert line.startswith("flow[0].text: ")
            assert element.source in line
            assert WORDINGS[language][element.name].example in line


@pytest.mark.parametrize("language", sorted(WORDINGS))
@pytest.mark.parametrize("name", EVERY)
def test_the_example_of_an_element_is_taken_for_no_other(language: str, name: str) -> None:
    text = normalized(WORDINGS[language][name].example)  # type: ignore[index]
    assert [other for other in EVERY if WORDINGS[language][other].pattern.search(text)] == [name]


OTHER_WORDS = [
    ("en", "controller", "The study is conducted at Example University by Dr. A. Example."),
    ("en", "controller", "We are researchers at Example University."),
    ("en", "purpose", "The purpose of this study is to compare tutors."),
    ("en", "procedure", "In this study you **read** conversations."),
    ("en", "duration", "Plan an hour for it."),
    ("en", "storage_period", "We delete your data after 90 days."),
    ("en", "storage_period", "The anonymous data are published and kept without a time limit."),
    ("en", "withdrawal", "You may withdraw\nat any point."),
    ("en", "rights", "You have the right to access your data."),
    ("en", "contact", "Contact the researchers at extension 12."),
    ("en", "ai", "The replies are written by a large language model."),
    ("de", "controller", "Verantwortlich für die Studie ist Dr. Beispiel."),
    ("de", "purpose", "Ziel der Studie ist ein Vergleich."),
    ("de", "procedure", "Lesen Sie zuerst sechs Texte."),
    ("de", "duration", "Planen Sie eine Stunde ein."),
    ("de", "storage_period", "Nach 90 Tagen werden die Daten gelöscht."),
    ("de", "withdrawal", "Sie können die Teilnahme abbrechen, und zwar jederzeit."),
    ("de", "rights", "Sie haben ein Recht auf Auskunft."),
    ("de", "contact", "Wenden Sie sich an das Sekretariat."),
    ("de", "ai", "Die Antworten schreibt ein Sprachmodell."),
    ("ar", "controller", "الباحث المسؤول هو د. مثال."),
    ("ar", "purpose", "تهدف الدراسة إلى المقارنة."),
    ("ar", "procedure", "وستقرأ ستة نصوص."),
    ("ar", "duration", "تحتاج إلى بضع دقائق."),
    ("ar", "storage_period", "نحذف البيانات بعد ٩٠ يومًا."),
    ("ar", "withdrawal", "يمكنك الانسحاب في أي لحظة."),
    ("ar", "rights", "لك الحق في الاطلاع على بياناتك."),
    ("ar", "contact", "اتصل بنا في المعهد."),
    ("ar", "ai", "يكتب الردود نموذج لغوي."),
]  # fmt: skip
NOT_SAID = [
    ("en", "controller", "The lights are switched on by a timer."),
    ("en", "purpose", "Please be honest."),
    ("en", "procedure", "You may answer if you like, and you can do it on a phone."),
    ("en", "duration", "You have 2 attempts, and the data are kept for 10 years."),
    ("en", "storage_period", "Your answers are stored without your name."),
    ("en", "withdrawal", "You may be told to stop."),
    ("en", "rights", "Your answers are stored without your name."),
    ("en", "contact", "We look forward to your answers."),
    ("en", "ai", "An assistant replies. Please wait; it said so."),
    ("de", "ai", "Eine Assistentin antwortet in Kisten."),
    ("de", "storage_period", "Ihre Antworten werden ohne Ihren Namen gespeichert."),
    ("ar", "ai", "يرد عليك مساعد."),
    ("ar", "storage_period", "تحفظ إجاباتك دون اسمك."),
]


CASES = [*((*one, True) for one in OTHER_WORDS), *((*one, False) for one in NOT_SAID)]


@pytest.mark.parametrize(("language", "name", "text", "said"), CASES)
def test_other_words_for_the_same_and_words_that_only_look_so(language: str, name: str, text: str, said: bool) -> None:
    study = study_of(consent(text), CHAT, language=language)
    assert (name not in missing(study)) == said


def test_what_is_said_in_other_words_is_quoted_from_the_form() -> None:
    text = form(without=["rights"]) + " Paragraph 7 of the *leaflet* applies."
    quoted = {"rights": "paragraph 7 of the leaflet applies"}
    study = study_of(consent(text, covers=quoted), CHAT)
    (one,) = [one for one in consent_findings(study) if one.status == "quoted"]
    assert (one.element.name, one.passage) == ("rights", quoted["rights"])
    assert list(consent_advice(study)) == []
    with pytest.raises(StudyError) as error:
        study_of(consent(text, covers={"rights": "All rights are granted."}), CHAT)
    assert ["`covers.rights`" in fault.what for fault in error.value.found] == [True]
    with pytest.raises(StudyError):
        study_of(consent(text, covers={"rights": " "}), CHAT)


def test_a_key_that_quotes_nothing_new_leaves_the_hash_alone() -> None:
    assert '"covers"' not in study_of(consent("Please agree."), CHAT).document


def test_a_language_without_patterns_is_never_passed_in_silence() -> None:
    study = study_of(consent("Vous acceptez?", covers={"purpose": "Vous acceptez?"}), CHAT, language="fr", contact="")
    (line,) = consent_advice(study)
    assert "en, de, ar" in line
    assert [
        name for name in EVERY if name in line.partition("`covers`")[2].replace(".", "").replace(",", "").split()
    ] == [name for name in EVERY if name != "purpose"]


def test_each_language_of_a_study_is_looked_at() -> None:
    study = study_of(
        consent(form()),
        CHAT,
        languages=["en", "de"],
        translations={"de": {form(): form("de", ["duration"]), "Small": "Klein"}},
    )
    assert [(one.language, one.element.name) for one in consent_findings(study) if one.status == "missing"] == [
        ("de", "duration")
    ]
    assert [one.startswith("flow[0].text (de): ") for one in consent_advice(study)] == [True]


def test_the_contact_on_every_screen_is_one() -> None:
    assert "contact" not in missing(study_of(consent("Please agree."), CHAT, contact="Room 12"))


def test_a_study_in_which_no_model_replies_need_not_say_that_one_does() -> None:
    assert list(consent_advice(study_of(consent(form(without=["ai"]))))) == []


def test_that_an_ai_replies_may_be_said_until_the_first_chat_to_everybody() -> None:
    said = {"step": "info", "id": "about", "text": WORDINGS["en"]["ai"].example}
    short = consent(form(without=["ai"]))
    assert missing(study_of(short, said, CHAT)) == set()
    assert missing(study_of(said, short, CHAT)) == set()
    assert missing(study_of(short, CHAT, said)) == {"ai"}
    arms = {"factors": {"arm": ["a", "b"]}}
    assert missing(study_of(short, {**said, "when": {"arm": "a"}}, CHAT, **arms)) == {"ai"}


def test_an_information_sheet_before_the_form_is_part_of_it() -> None:
    sheet = {"step": "info", "pages": [form(without=["rights"]), WORDINGS["en"]["rights"].example]}
    assert missing(study_of(sheet, consent("Please agree."), CHAT)) == set()


def test_a_chat_before_the_form_is_named() -> None:
    (line,) = consent_advice(study_of(CHAT, consent(form())))
    assert line.startswith("flow[0].flow[0]: a model replies before the consent form.")


@pytest.mark.parametrize("name", shipped())
def test_the_studies_that_come_with_parley_need_no_advice_about_consent(name: str) -> None:
    found = list(consent_advice(load_study(name)))
    as_checkmate = name == "mathconverse"  # where one agrees by going on
    assert [one.partition(": there is no consent form")[0] for one in found] == ["flow"] * as_checkmate


def test_a_study_without_a_form_is_not_passed_in_silence() -> None:
    (line,) = consent_advice(study_of(CHAT))
    assert line.startswith("flow: there is no consent form")


def test_the_check_of_a_study_has_this_advice() -> None:
    found = advice(study_of(consent(form(without=["purpose"])), CHAT), None)
    assert [one.startswith("flow[0].text: ") for one in found] == [True]
