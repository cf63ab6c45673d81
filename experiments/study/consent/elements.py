# ruff: noqa: RUF001  (Arabic)
"""The elements that a consent form has to contain, and where each is required.

A pattern finds words, not whether what they say is true or enough. Where a form says it in other words, the study
quotes them (`covers`). Sources:

- GDPR: Regulation (EU) 2016/679, Articles 7 and 13.
- AI Act: Regulation (EU) 2024/1689, Article 50(1).
- 45 CFR 46.116(b): the basic elements of informed consent of the US Common Rule, as revised in 2018.
- Helsinki: the World Medical Association's Declaration of Helsinki (2024), paragraph 26.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

ElementName = Literal[
    "controller", "purpose", "procedure", "duration", "storage_period", "withdrawal", "rights", "contact", "ai"
]


@dataclass(frozen=True, slots=True)
class Element:
    """What a form has to say: `says` ends a sentence that begins with "does not say"."""

    name: ElementName
    says: str
    source: str


@dataclass(frozen=True, slots=True)
class ElementWording:
    """How an element is said in a language: a sentence as an example, and what finds such sentences."""

    example: str
    pattern: re.Pattern[str]


ELEMENTS: tuple[Element, ...] = (
    Element("controller", "who runs the study", "GDPR Art. 13(1)(a); Helsinki 26"),
    Element("purpose", "why the study is done", "GDPR Art. 13(1)(c); 45 CFR 46.116(b)(1); Helsinki 26"),
    Element("procedure", "what participants will do", "45 CFR 46.116(b)(1); Helsinki 26"),
    Element("duration", "how long taking part takes", "45 CFR 46.116(b)(1)"),
    Element("storage_period", "how long the data are stored", "GDPR Art. 13(2)(a)"),
    Element(
        "withdrawal",
        "that participants can stop at any time",
        "GDPR Art. 7(3), 13(2)(c); 45 CFR 46.116(b)(8); Helsinki 26",
    ),
    Element("rights", "that participants can ask for their data, or for their erasure", "GDPR Art. 13(2)(b)"),
    Element("contact", "whom to contact", "GDPR Art. 13(1)(a), (b); 45 CFR 46.116(b)(7)"),
    Element("ai", "that an AI replies", "AI Act Art. 50(1)"),
)

_NUMBER = (
    r"(?:[\d٠-٩]+|an?|one|two|three|four|five|six|seven|eight|nine|ten|twelve|a few|some|several"
    r"|einige|wenige|eine[nmr]?|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|zwölf"
    r"|بضع|عدة|ثلاث|اربع|خمس|ست|سبع|ثماني|تسع|عشر)"
)
_EMAIL = r"[\w.+-]+@[\w-]+\.[\w.-]+"


def _wording(example: str, pattern: str) -> ElementWording:
    return ElementWording(example, re.compile(pattern.replace("NUMBER", _NUMBER).replace("EMAIL", _EMAIL)))


def _arabic(example: str, pattern: str) -> ElementWording:
    """A wording in Arabic, where "and", "so" and "to" are written together with the next word."""
    return _wording(example, pattern.replace(r"\b(?:", r"\b[وفل]?(?:"))


WORDINGS: Mapping[str, Mapping[ElementName, ElementWording]] = MappingProxyType(
    {
        "en": {
            "controller": _wording(
                "This study is run by the Department of Examples of Example University.",
                r"\b(run|conducted|carried out|organi[sz]ed|led|responsible)\b[^.]{0,40}\b(by|is|are)\b"
                r"|\bis (the )?(controller|responsible)\b|\bprincipal investigator\b|\bresearchers? (at|from|of)\b",
            ),
            "purpose": _wording(
                "We want to find out how people solve problems with a computer's help.",
                r"\b(purpose|aim|goal) (of|is)\b|\bwe (study|investigate|examine|are interested in)\b"
                r"|\b(find out|learn|understand|investigates?|examines?) (how|whether|what|which|why|if)\b"
                r"|\b(it|study|research|project) is about (how|what|which|whether|why)\b"
                r"|\bresearch (study )?(on|into) how\b",
            ),
            "procedure": _wording(
                "You will answer six questions on your own.",
                r"\byou(?:'ll| will| are asked to) (?:first |then |also )?(?:have|take part in|do)\b"
                r"|\byou(?:'ll| will| are asked to)? (?:first |then |also )?(?:answer|read|write|rate|judge|compare"
                r"|solve|work|start|begin|fill in|chat|talk|choose|label|rank)\b",
            ),
            "duration": _wording("It takes about 20 minutes.", r"\bNUMBER (?:minutes?|min\b|hours?)"),
            "storage_period": _wording(
                "Your answers are stored for ten years.",
                r"\b(?:kept|keep|stored?|retain(?:ed)?|delete[sd]?|erased?|archived?)\b[^.]{0,80}"
                r"(?:\bNUMBER (?:days?|weeks?|months?|years?)\b|\buntil\b|\bfor ever\b|\bforever\b|\bindefinitely\b"
                r"|\bwithout (?:a )?(?:time )?limit\b|\bas long as\b)",
            ),
            "withdrawal": _wording(
                "Taking part is voluntary, and you can stop at any time.",
                r"\b(?:stop|withdraw|quit|leave|end|discontinue)\b[^.]{0,60}"
                r"\b(?:at any (?:time|point|moment)|whenever)\b"
                r"|\bat any (?:time|point|moment)\b[^.]{0,60}\b(?:stop|withdraw|quit|leave|end|discontinue)\b",
            ),
            "rights": _wording(
                "You may ask us for a copy of your data, or to erase them.",
                r"\b(?:ask|request|demand|want|write)\b[^.]{0,80}"
                r"\b(?:delet\w+|eras\w+|remov\w+|correct(?:ed)?|copy|access|see)\b"
                r"|\b(?:your|the) rights? (?:to|of|under)\b",
            ),
            "contact": _wording(
                "If you have questions, write to study@example.org.",
                r"EMAIL|\b(?:contact|reach|write to|call|phone) (?:us|me|the researchers?|dr|prof)",
            ),
            "ai": _wording(
                "An AI chatbot replies to your messages.",
                r"\bai\b|\bartificial intelligence\b|\b(?:large )?language models?\b|\bchatbots?\b",
            ),
        },
        "de": {
            "controller": _wording(
                "Diese Studie wird vom Institut für Beispiele der Universität Beispielstadt durchgeführt.",
                r"\b(?:von|vom|durch)\b[^.]{0,90}\b(?:durchgeführt|geleitet|veranstaltet|verantwortet)\b"
                r"|\bdurchgeführt wird[^.]{0,40}\b(?:von|vom|durch)\b|\bverantwortlich(?:e[rn]?)? (?:für|ist|sind)\b"
                r"|\b(?:studien|projekt)leitung\b",
            ),
            "purpose": _wording(
                "Wir möchten herausfinden, wie Menschen mit Hilfe eines Computers Aufgaben lösen.",
                r"\b(?:zweck|ziel) (?:der|dieser|ist|des)\b|\bwir (?:untersuchen|erforschen)\b"
                r"|\b(?:herausfinden|untersucht|erforscht|verstehen|lernen), (?:wie|ob|was|welche[mnrs]?|warum)\b"
                r"|\b(?:herauszufinden|zu verstehen|zu untersuchen)\b|\bgeht (?:es )?(?:darum|um)\b",
            ),
            "procedure": _wording(
                "Sie beantworten zuerst allein sechs Fragen.",
                r"\bsie (?:\w+ ){0,3}?(?:beantworten|lesen|schreiben|bewerten|vergleichen|lösen|bearbeiten|führen"
                r"|beginnen|füllen|wählen|beurteilen|arbeiten)\b|\b(?:beantworten|lesen|bewerten|vergleichen|lösen|bearbeiten|führen"
                r"|beginnen|beurteilen) sie\b|\bihre aufgabe ist\b",
            ),
            "duration": _wording("Das dauert etwa 20 Minuten.", r"\bNUMBER (?:minuten?\b|min\b|stunden?\b)"),
            "storage_period": _wording(
                "Ihre Antworten werden zehn Jahre lang gespeichert.",
                r"\b(?:gespeichert|aufbewahrt|gelöscht|archiviert)\b[^.]{0,80}"
                r"(?:\bNUMBER (?:tage?n?|wochen?|monate?n?|jahre?n?)\b|\bbis\b|\bunbegrenzt\b|\bsolange\b)"
                r"|(?:\bNUMBER (?:tage?n?|wochen?|monate?n?|jahre?n?)\b|\bbis\b|\bunbegrenzt\b|\bsolange\b)[^.]{0,80}"
                r"\b(?:gespeichert|aufbewahrt|gelöscht|archiviert)\b",
            ),
            "withdrawal": _wording(
                "Die Teilnahme ist freiwillig, und Sie können jederzeit aufhören.",
                r"\bjederzeit\b[^.]{0,80}\b(?:aufhören|abbrechen|beenden|zurückziehen|widerrufen|zurücktreten)\b"
                r"|\b(?:aufhören|abbrechen|beenden|zurückziehen|widerrufen|zurücktreten)\b[^.]{0,60}\bjederzeit\b",
            ),
            "rights": _wording(
                "Sie können von uns eine Kopie Ihrer Daten verlangen oder ihre Löschung.",
                r"\b(?:verlangen|bitten|fordern|anfordern|wünschen)\b[^.]{0,80}\b(?:lösch\w+|kopie|auskunft|bericht\w+)"
                r"|\b(?:löschung|kopie|auskunft|berichtigung)\b[^.]{0,80}\b(?:verlangen|bitten|fordern|anfordern)\b"
                r"|\brecht auf (?:auskunft|löschung|berichtigung)|\bihre rechte\b",
            ),
            "contact": _wording(
                "Bei Fragen schreiben Sie an studie@example.org.",
                r"EMAIL|\b(?:wenden sie sich|schreiben sie uns|kontaktieren sie|erreichen sie uns)\b|\bansprechpartner",
            ),
            "ai": _wording(
                "Ein KI-Chatbot antwortet auf Ihre Nachrichten.",
                r"\bki\b|\bkünstliche[rn]? intelligenz\b|\bsprachmodelle?n?s?\b|\bchatbots?\b",
            ),
        },
        "ar": {
            "controller": _arabic(
                "يجري هذه الدراسة قسم الأمثلة في جامعة المثال.",
                r"\b(?:يجري|تجري|يجريها|تجريها|يشرف علي|تشرف علي|يدير|تدير)\b|\b(?:الباحث|الباحثة|الجهة) المسؤول"
                r"|\bالمسؤول(?:ة)? عن (?:الدراسة|البيانات|هذه الدراسة)",
            ),
            "purpose": _arabic(
                "نريد أن نعرف كيف يحل الناس المسائل بمساعدة الحاسوب.",
                r"\b(?:هدف|الهدف|الغرض|غرض|تهدف|نهدف)\b|\b(?:ندرس|نبحث|تبحث|تدرس) (?:كيف|في|ما)\b"
                r"|\b(?:نعرف|نفهم|معرفة|فهم) (?:كيف|هل|ما|لماذا)\b",
            ),
            "procedure": _arabic(
                "ستجيب وحدك عن ستة أسئلة.",
                r"\b(?:س?(?:تجيب|تقرا|تكتب|تقيم|تقارن|تحل|تبدا|تحكم|تختار|تجري محادث\w+))\b"
                r"|\b(?:يطلب|سيطلب|نطلب) منك\b|\bمهمتك\b",
            ),
            "duration": _arabic(
                "يستغرق ذلك نحو 20 دقيقة.",
                r"\bNUMBER (?:دقيقة|دقائق|ساعة|ساعات)|\b(?:دقيقتين|ساعتين|ساعة واحدة|دقيقة واحدة)\b",
            ),
            "storage_period": _arabic(
                "تحفظ إجاباتك عشر سنوات.",
                r"\b(?:تحفظ|نحفظ|يحفظ|ستحفظ|تخزن|نحتفظ|يحتفظ|تحذف|نحذف|تمحي|ستحذف)\b[^.]{0,80}"
                r"(?:\bNUMBER (?:يوما?|ايام|اسبوعا?|اسابيع|شهرا?|اشهر|سنة|سنوات|عاما?|اعوام)\b|\bحتي\b|\bالي ان\b"
                r"|\bبلا حد\b|\bما دام)",
            ),
            "withdrawal": _arabic(
                "المشاركة طوعية، ويمكنك التوقف في أي وقت.",
                r"\b(?:التوقف|تتوقف|الانسحاب|تنسحب|انهاء|ايقاف)\b[^.]{0,60}\b(?:في|وفي) (?:اي|كل) (?:وقت|لحظة)\b"
                r"|\bفي (?:اي|كل) (?:وقت|لحظة)\b[^.]{0,60}\b(?:التوقف|تتوقف|الانسحاب|تنسحب|انهاء|ايقاف)\b|\bمتي شئت\b",
            ),
            "rights": _arabic(
                "يحق لك أن تطلب منا نسخة من بياناتك أو محوها.",
                r"\b(?:تطلب|الطلب|طلب|ان تطلب|المطالبة)\b[^.]{0,80}\b(?:نسخة|محو\w*|حذف\w*|تصحيح\w*|الاطلاع)\b"
                r"|\b(?:حقوقك|حقك في|الحق في) ?(?:الاطلاع|المحو|الحذف|محو|حذف)?",
            ),
            "contact": _arabic(
                "إن كانت لديك أسئلة فراسلنا على study@example.org.",
                r"EMAIL|\b(?:راسلنا|فراسلنا|اتصل بنا|تواصل معنا|للتواصل|الاتصال ب)",
            ),
            "ai": _arabic(
                "يرد على رسائلك روبوت محادثة يعمل بالذكاء الاصطناعي.",
                r"ذكاء (?:ال)?اصطناعي|روبوت(?:ات)? (?:ال)?محادثة|روبوت(?:ات)? (?:ال)?دردشة"
                r"|نموذج لغوي|نماذج لغوية|النموذج اللغوي",
            ),
        },
    }
)
"""By language and element. Patterns read a text as `normalized` gives it."""

_MARKS = re.compile("[\u064b-\u065f\u0670\u0640]")
"""Arabic vowel signs and the stretching of words."""
_LETTERS = str.maketrans("أإآٱى", "ااااي")
_EMPHASIS = re.compile(r"[*_`#>]")


def normalized(text: str) -> str:
    """A text as the patterns read it: in small letters, without emphasis, line breaks and Arabic vowel signs."""
    plain = _EMPHASIS.sub("", _MARKS.sub("", text).translate(_LETTERS))
    return " ".join(plain.casefold().split())
