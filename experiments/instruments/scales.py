"""Published rating scales and labels with their exact wording: the stored value, and the label that participants see.

Helpfulness, correctness and solo_solve are CheckMate's (Collins et al., PNAS 2024, `experiment.py`). CheckMate labels
only the two ends of solo_solve, so the five values between have their number as a label. Confidence is ChatBench's
(Chang et al., ACL 2025, figure A5); its stored values are words.

The taxonomy of what people write to an assistant is CheckMate's: ten labels and a write-in. Its headers are exactly
those of `annotated_taxonomy.csv`, with their typos and trailing blanks; people read the corrected wording.
"""

from __future__ import annotations

from collections.abc import Mapping

HELPFULNESS = {
    "0": "(0) Actively harmful",
    "1": "(1) Very harmful",
    "2": "(2) Somewhat harmful",
    "3": "(3) Unlikely to help, but unlikely to hurt",
    "4": "(4) Somewhat helpful",
    "5": "(5) Very helpful",
    "6": "(6) Definitely helpful",
}
CORRECTNESS = {
    "0": "(0) N/A - this response does not contain any mathematical information",
    "1": "(1) Completely incorrect or nonsensical",
    "2": "(2) Multiple critical maths errors",
    "3": "(3) At least one critical math error or multiple small errors",
    "4": "(4) One or more minor errors, but otherwise mostly correct",
    "5": "(5) One or two minor errors, but almost entirely correct",
    "6": "(6) Completely correct",
}
SOLO_SOLVE = {
    "0": "(0) Definitely could not solve on my own",
    "1": "(1)",
    "2": "(2)",
    "3": "(3)",
    "4": "(4)",
    "5": "(5)",
    "6": "(6) Definitely can solve on my own",
}
CONFIDENCE = {
    "not-confident": "Not confident: I don't know how to approach this problem.",
    "somewhat-confident": (
        "Somewhat confident: I have a rough idea of how to approach this problem but am not sure about the details."
    ),
    "very-confident": "Very confident: I know how to approach this problem and am clear on the details.",
}

SCALES: Mapping[str, Mapping[str, str]] = {
    "helpfulness": HELPFULNESS,
    "correctness": CORRECTNESS,
    "solo_solve": SOLO_SOLVE,
    "confidence": CONFIDENCE,
}
QUESTIONS: Mapping[str, str] = {
    "helpfulness": "How helpful is this response?",
    "correctness": "How correct is its mathematics?",
    "solo_solve": "Before you begin: could you have solved this problem entirely on your own?",
    "confidence": "**Before you begin**, how confident are you that you know how to approach this problem?",
}

# The column of each label in the release, by short name.
HEADERS: Mapping[str, str] = {
    "definition": "Asking for defintions",
    "general-question": "Asking a general mathematical question",
    "proof-step": "Asking how to do a step of the proof",
    "whole-question": "Copy-pasting entire original question, or slight rephrasing",
    "generality": (
        'Asking a question about generality of the output so far (e.g., "Does it hold even when p is not a prime '
        'number?")'
    ),
    "correction": "Correcting the AI's output (explicitly or implicitly)",
    "clarification": ("Asking the AI to clarify its output (e.g., what a particular symbol means “What is τ here?”)"),
    "reason": "Asking the AI why it did something",
    "instance": (
        "Asking for specific demonstrations of a concept or instances of a particular construction (e.g., "
        '"Can you exhibit an example to demonstrate that?")'
    ),
    "not-mathematics": 'Non-mathematics related exclamation (e.g., "Hello") ',
}

# The column for queries that fit no label.
WRITE_IN_HEADER = "Other (please write-in briefly -- if multiple, separate with a semicolon)  "

LABELS: Mapping[str, str] = {
    name: header.strip().replace("defintions", "definitions") for name, header in HEADERS.items()
}
WRITE_IN = WRITE_IN_HEADER.strip()
