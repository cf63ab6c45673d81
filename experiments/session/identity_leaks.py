"""Finds identity leaks: words in a reply that reveal which model wrote it, in a study that hides that.

Unambiguous names (`ChatGPT`) count wherever they occur. Others are also names of people, animals and stars, and count
only where a model speaks of itself (`I am Claude`). A leak is recorded for the analyst. The search is by words alone:
a leak in other words is missed, and an answer to a question about ChatGPT may be flagged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from experiments.events import Event
from experiments.study.schema import StudyFile

PLAIN = (
    r"Open\s?AI", r"Anthropic", r"DeepMind", r"Mistral AI", r"DeepSeek", r"Moonshot AI", r"Zhipu AI", r"Hugging\s?Face",
    r"Chat\s?GPT", r"GPT[-\s]?\d\w*(?:\.\d+)?(?:[-\s](?:turbo|mini|nano))?", r"text-davinci-\d+", r"InstructGPT",
    r"Claude[-\s](?:\d|Opus|Sonnet|Haiku|Instant)\S*", r"Gemini[-\s](?:\d|Pro|Flash|Ultra|Nano)\S*", r"LaMDA",
    r"PaLM[-\s]2", r"Llama[-\s]?\d\S*", r"Mi(?:x|s)tral[-\s]\S*\d\w*", r"Mixtral", r"Qwen\S*", r"Grok[-\s]?\d\S*",
    r"Phi-\d\S*-\w+", r"Command[-\s]R\+?", r"Vicuna", r"Falcon-\d+\w*",
)  # fmt: skip
DOUBTFUL = (
    "Claude", "Gemini", "Llama", "Bard", "Mistral", "Grok", "Copilot", "PaLM", "xAI", "Google", "Meta", "Microsoft",
    "Alibaba", "Cohere", "Apple", "Amazon", "Nvidia", "IBM",
)  # fmt: skip
OF_ITSELF = (
    r"(?:\bI\s+am|\bI['’]m|\bmy\s+name\s+is|\bI\s+was|\b(?:AI|language|assistant|model|chatbot)\b[^.!?\n]{0,30}"
    r"(?:trained|developed|created|made|built)\s+by)"
)
CUT_OFF = (
    r"\b(?:my|the)\s+(?:knowledge|training)(?:\s+data)?(?:\s+(?:has\s+a\s+)?cut[-\s]?off|\s+(?:ends|goes|only goes)\b)",
    r"\b(?:knowledge|training)\s+cut[-\s]?off\b",
    r"\bas\s+of\s+my\s+(?:last|latest|most\s+recent)\s+(?:update|training|knowledge)",
    r"\bI\s+was\s+(?:last\s+)?trained\s+(?:on\s+data\s+)?(?:up\s+to|until)\b",
)
# A quick first test: every text with a leak contains one of these, once it is in lower case and without spaces. Few
# other texts do, and this search takes a tenth of the time.
STEMS = (
    "openai", "anthropic", "deepmind", "deepseek", "mistral", "mixtral", "moonshot", "zhipu", "huggingface", "gpt",
    "davinci", "claude", "gemini", "lamda", "palm", "llama", "qwen", "grok", "phi-", "command-r", "commandr", "vicuna",
    "falcon-", "bard", "copilot", "xai", "google", "meta", "microsoft", "alibaba", "cohere", "apple", "amazon",
    "nvidia", "ibm", "knowledge", "training", "trained", "asofmy",
)  # fmt: skip
_NAMES = re.compile(rf"(?<![\w-])(?:{'|'.join(PLAIN)})(?![\w])", re.IGNORECASE)
_ITSELF = re.compile(rf"{OF_ITSELF}[^.!?\n]{{0,60}}?\b({'|'.join(DOUBTFUL)})\b", re.IGNORECASE)
_CUT_OFF = re.compile("|".join(CUT_OFF), re.IGNORECASE)
MASK = "[…]"
# What is flagged, as an event and of a session.
LEAK = "leak"


def leaks(text: str, own: Iterable[str] = ()) -> tuple[str, ...]:
    """The words in the order of the text; `own` are the names of the study's models."""
    return tuple(text[start:end] for start, end in _spans(text, own))


def masked(text: str, own: Iterable[str] = ()) -> str:
    for start, end in reversed(_spans(text, own)):
        text = text[:start] + MASK + text[end:]
    return text


def guarded(text: str, file: StudyFile) -> tuple[str, tuple[str, ...]]:
    """A text as the study lets it be shown, and its leaks."""
    found = leaks(text, file.models)
    return masked(text, file.models) if found and file.on_identity_leak != "flag" else text, found


def is_leak(event: Event) -> bool:
    return event.kind == "flagged" and bool(event.data.get("what") == LEAK)


def _spans(text: str, own: Iterable[str]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    small = "".join(text.casefold().split())
    if any(stem in small for stem in STEMS):
        found += [match.span() for match in _NAMES.finditer(text)]
        found += [match.span(1) for match in _ITSELF.finditer(text)]
        found += [match.span() for match in _CUT_OFF.finditer(text)]
    patterns = (re.escape(name) for name in own if len(name) > 2 and name in text)
    names = "|".join(sorted(patterns, key=len, reverse=True))
    if names:
        found += [match.span() for match in re.finditer(rf"(?<!\w)(?:{names})(?!\w)", text)]
    apart: list[tuple[int, int]] = []
    for start, end in sorted(set(found)):
        if not apart or start >= apart[-1][1]:
            apart.append((start, end))
    return apart
