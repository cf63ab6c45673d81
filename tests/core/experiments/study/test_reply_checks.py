"""What the words of a reply say of it."""

from __future__ import annotations

import pytest

from experiments.study.reply_checks import LANGUAGES, gives_answer, language, questions, reading_level, words
from problems.problem import Option, Problem

KEYS = (("A", "Sydney"), ("B", "Canberra"), ("C", "Perth"))
CAPITAL = Problem("p", "Is it Sydney, or where else?", "", "d", tuple(Option(k, t, t) for k, t in KEYS), "B")
SUM = Problem("q", "What is 1,000 + 24?", "", "d", (), "1024")
TEXTS = {
    "en": "I think that this is what you have to find.",
    "de": "Das ist nicht die Antwort, sie wird auf dem Blatt stehen.",
    "fr": "Je pense que vous avez la réponse dans le texte.",
    "es": "Creo que la respuesta está en el texto y no es larga.",
    "it": "Penso che la risposta sia nel testo e non è lunga.",
    "pt": "Acho que a resposta não está em casa e é uma palavra.",
    "nl": "Ik denk dat het antwoord niet op de bladzijde staat.",
    "ja": "答えはこの文章の中にあります。",
    "zh": "答案就在这篇文章里。",
    "ko": "답은 이 글에 있습니다.",
    "ar": "الجواب موجود في هذا النص.",
    "ru": "Ответ находится в этом тексте.",
    "el": "Είναι η απάντηση στο κείμενο.",
    "he": "התשובה נמצאת בטקסט הזה.",
    "hi": "उत्तर इस पाठ में है।",
    "th": "คำตอบอยู่ในข้อความนี้",
}
GIVING = (
    *("The answer is B.", "**B. Canberra**", "So: option B", "I come to **B**.", "It is Canberra.", "B) is right"),
    *("It is Canberra, not Sydney.", "The correct option is (B).", "Option 2.", "Die Antwort lautet B", "=B"),
)
HOLDING = (
    *("What do you know of A) Sydney, B) Canberra and C) Perth?", "A hint: look at a map.", "The answer is A."),
    *("Why Sydney and not Canberra?", "I. B or not to be", "Canberras", "Sydney."),
)


def test_each_language_is_recognized_and_a_word_or_a_formula_is_in_none() -> None:
    assert {tag: language(text) for tag, text in TEXTS.items()} == {tag: tag for tag in LANGUAGES}
    assert language("OK") is language("x = 3") is None


@pytest.mark.parametrize("text", [*GIVING, *HOLDING])
def test_an_option_is_given_away_by_its_letter_or_text_and_not_by_a_list_of_all(text: str) -> None:
    assert gives_answer(text, CAPITAL) is (text in GIVING)


@pytest.mark.parametrize(
    ("text", "given_"),
    [
        ("1,024", True),
        ("That makes 1024.", True),
        ("1000 + 24", False),
        ("1024.5", False),
        ("11024", False),
        ("", False),
    ],
)
def test_a_number_is_given_in_any_spelling_and_not_as_part_of_another(text: str, given_: bool) -> None:
    assert gives_answer(text, SUM) is given_
    assert gives_answer(text, None) is None


def test_words_questions_and_the_grade_leave_out_code_and_addresses() -> None:
    text = "Why so? See https://x.org/?q=1 now.\n\n```\nwhat? a b c\n```"
    assert (questions(text), len(words("Two words, 3.\n```\nnot these\n```"))) == (1, 2)
    assert questions("真的吗\uff1f") == 1
    # by hand: 9 words, 2 sentences, 14 syllables
    assert reading_level("The cat sat on the mat. Readability is easy.") == pytest.approx(
        0.39 * 9 / 2 + 11.8 * 14 / 9 - 15.59, abs=0.01
    )
    assert reading_level("3 + 4") is None
