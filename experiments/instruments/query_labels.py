"""CheckMate's taxonomy of what people write to an assistant (Collins et al., PNAS 2024): ten labels and a write-in.

The headers are exactly those of `annotated_taxonomy.csv`, with their typos and trailing blanks; the last one is for the
write-in. The short name (the key) is stored; people read the corrected wording.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

HEADERS: Mapping[str, str] = MappingProxyType(
    {
        "definition": "Asking for defintions",
        "general-question": "Asking a general mathematical question",
        "proof-step": "Asking how to do a step of the proof",
        "whole-question": "Copy-pasting entire original question, or slight rephrasing",
        "generality": (
            'Asking a question about generality of the output so far (e.g., "Does it hold even when p is not a prime '
            'number?")'
        ),
        "correction": "Correcting the AI's output (explicitly or implicitly)",
        "clarification": (
            "Asking the AI to clarify its output (e.g., what a particular symbol means “What is τ here?”)"
        ),
        "reason": "Asking the AI why it did something",
        "instance": (
            "Asking for specific demonstrations of a concept or instances of a particular construction (e.g., "
            '"Can you exhibit an example to demonstrate that?")'
        ),
        "not-mathematics": 'Non-mathematics related exclamation (e.g., "Hello") ',
    }
)
"""The column of each label in the release, by short name."""

WRITE_IN_HEADER = "Other (please write-in briefly -- if multiple, separate with a semicolon)  "
"""The column for queries that fit no label."""

LABELS: Mapping[str, str] = MappingProxyType(
    {name: header.strip().replace("defintions", "definitions") for name, header in HEADERS.items()}
)
WRITE_IN = WRITE_IN_HEADER.strip()
