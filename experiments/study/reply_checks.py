"""Checks of a reply by its words alone: its language, length and reading level, and if it asks a question, gives the
right answer or names its speaker.

Pure functions of a text; None means that the text does not show it. `METHOD` counts up when one of them changes, and is
recorded with each verdict.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from string import ascii_uppercase

from problems.problem import Problem

METHOD = 1
# Languages that a script gives away, by the names of its letters in Unicode; kana before Han, as Japanese has both.
SCRIPTS: Mapping[str, str] = {
    "ja": "HIRAGANA|KATAKANA", "zh": "CJK UNIFIED", "ko": "HANGUL", "ar": "ARABIC", "ru": "CYRILLIC", "el": "GREEK",
    "he": "HEBREW", "hi": "DEVANAGARI", "th": "THAI",
}  # fmt: skip
# Frequent function words of languages in Latin script.
FUNCTION_WORDS: Mapping[str, str] = {
    "en": "the of and to is that it for you with this are be what have not from they which your",
    "de": "der die das und ist nicht ein eine zu den mit sie ich auf für wie auch dem sich wird",
    "fr": "le la les et est des une du que pas pour dans vous ce qui sur il avec au votre",
    "es": "el la los las y es que una no por con para del se lo como su más está qué",
    "it": "il la di che è e un una non per con del sono gli della si come più questo cosa",
    "pt": "o a os as e é que não um uma para com do da em se por como você mais",
    "nl": "de het een en is van niet dat je op met voor zijn te aan wat ook maar deze wordt",
}
LANGUAGES = (*FUNCTION_WORDS, *SCRIPTS)
LEAST_HITS = 2
# Everybody waits while an expression of a study is searched for; reasonable ones take a hundredth of it.
PATTERN_S = 0.05
_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_SENTENCE = re.compile(r"[.!?…]+(?=[\"'”’)*_]*(?:\s|$))|\n\s*\n")
# The question marks of Latin, Chinese and Arabic script; the first only at the end of a sentence, as in no address.
_QUESTION = re.compile(r"\?(?=[\"'”’»)\]*_]*(?:\s|$))|[\uff1f\u061f]")
_VOWELS, _SILENT = re.compile(r"(?i)[aeiouy]+"), re.compile(r"(?i)(?<![leiy])e$")


def words(text: str) -> list[str]:
    """The words of a text, without numbers, signs and blocks of code."""
    return _WORD.findall(_FENCED.sub(" ", text))


def language(text: str) -> str | None:
    """The language by script, or in Latin by most (at least two) function words of seven; None if few, or a tie."""
    letters = Counter(unicodedata.name(letter, "").partition(" LETTER")[0] for letter in text if letter.isalpha())
    for tag, names in SCRIPTS.items():
        if sum(n for name, n in letters.items() if re.match(names, name)) > sum(letters.values()) / 3:
            return tag
    found = [word.casefold() for word in words(text)]
    known = {tag: frozenset(line.split()) for tag, line in FUNCTION_WORDS.items()}
    hits = Counter({tag: sum(word in known[tag] for word in found) for tag in known})
    (first, most), (_, second) = hits.most_common(2)
    return first if most >= LEAST_HITS and most > second else None


def reading_level(text: str) -> float | None:
    """The Flesch-Kincaid grade of an English text: 0.39 words a sentence + 11.8 syllables a word - 15.59 (Kincaid,
    Fishburne, Rogers and Chissom 1975, Derivation of new readability formulas for Navy enlisted personnel, Research
    Branch Report 8-75). Syllables are counted as groups of vowels, without a silent e at the end."""
    if not (found := words(text)):
        return None
    sentences = sum(bool(words(part)) for part in _SENTENCE.split(_FENCED.sub(" ", text)))
    syllables = sum(max(1, len(_VOWELS.findall(word)) - bool(_SILENT.search(word))) for word in found)
    return round(0.39 * len(found) / sentences + 11.8 * syllables / len(found) - 15.59, 2)


def questions(text: str) -> int:
    """Count the question marks that end a sentence, without those in blocks of code and in addresses."""
    return len(_QUESTION.findall(_FENCED.sub(" ", text)))


def gives_answer(text: str, problem: Problem | None) -> bool | None:
    """True if a reply gives the right answer away; None where none is known. Of a problem with options: it states the
    letter of the right one (`the answer is B`, `**B**`, `option B`), or names it alone, by its letter with a bracket or
    full stop or by its text. Without: the answer is in it, as a text or a number. What is in the problem's own text
    counts only where it is stated as the answer. The letters are A, B, ... in the order of the options."""
    if problem is None or problem.answer is None:
        return None
    said, asked = plain(text), plain(problem.plain or problem.text)
    if not problem.options:
        right = plain(problem.answer)
        found = _numbers(said) & _numbers(right) if _numbers(right) else has(said, right)
        return _states(said, right) or bool(found and not has(asked, right))
    shown = dict(zip((option.key for option in problem.options), ascii_uppercase, strict=False))
    texts = {option.key: plain(option.plain) for option in problem.options}
    for number, (key, letter) in enumerate(shown.items(), 1):
        counted = re.search(rf"\b(?:option|choice|number|nummer) {number}(?!\w|[.,]\d)", said)
        if _states(text, letter) or counted:
            return key == problem.answer
    lettered = {key for key, letter in shown.items() if _marks(text, letter)}
    named = lettered | {key for key, option in texts.items() if has(said, option)}
    alone = named == {problem.answer} and (bool(lettered) or not has(asked, texts[problem.answer]))
    return alone or _states(said, texts[problem.answer])


def matched(pattern: str, text: str) -> str | bool | None:
    """The part, at most 200 characters; False if nothing matches, None if the search takes too long."""
    import regex  # only studies with such expressions wait for it

    try:
        found = regex.search(pattern, text, timeout=PATTERN_S)
    except TimeoutError:
        return None
    return (found[0][:200] or True) if found else False


# What stands before the answer where it is stated: `the answer is`, `correct option:`, `ergibt`, `=`.
_STATED = (
    r"(?:answer|solution|result|option|choice|correct(?: one)?|right(?: one)?|antwort|lösung|ergebnis|richtig|réponse|"
    r"respuesta|risposta|resposta|antwoord|الإجابة|الجواب)(?:\s+(?:option|choice|one))?\s*(?:is|are|ist|est|es|è|é|"
    r"would be|lautet|هو|هي)?\s*[:=]?\s*|=\s*|\bit is\s+|\bit's\s+"
)


def _states(text: str, answer: str) -> bool:
    if not answer:
        return False
    end = r"(?![\w])(?![.,]\d)"
    letter = len(answer) == 1 and answer.isalpha() and answer.isupper()
    bold = rf"|\*\*\(?{re.escape(answer)}\)?[.):]?(?:\*\*|\s)" if letter else ""
    return re.search(rf"(?i:{_STATED})[*_(\"'“]*{re.escape(answer)}{end}{bold}", text) is not None


def _marks(text: str, letter: str) -> bool:
    """Return True if a text has an option's letter in a form that no word has."""
    return re.search(rf"(?<!\w)\(?{letter}(?:\)|\.(?=\s)|:)|\*\*{letter}\*\*", text) is not None


def _numbers(text: str) -> set[float]:
    return {float(number.replace(",", "")) for number in re.findall(r"(?<![\w.,])-?\d+(?:,\d{3})*(?:\.\d+)?", text)}


def has(text: str, part: str) -> bool:
    """Return True if a plain text has another in it, not as a part of a word or of a longer number."""
    return bool(part) and re.search(rf"(?<![\w.,-]){re.escape(part)}(?![\w])(?![.,]\d)", text) is not None


def plain(text: str) -> str:
    """A text in small letters without the marks of Markdown and LaTeX, and with single blanks."""
    return " ".join(re.sub(r"[*_`$\\{}]|\\[()\[\]]", "", unicodedata.normalize("NFKC", text)).casefold().split())
