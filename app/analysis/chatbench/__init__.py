"""What is found in ChatBench's tables. Chang, Anderson, Hofman: ChatBench. ACL 2025."""

from collections.abc import Mapping

from app.analysis.chatbench.accuracy import COLUMNS, TABLE, accuracy
from app.analysis.parts import Part, of_one

PARTS: tuple[Part, ...] = (of_one("Accuracy", TABLE, COLUMNS, accuracy, quick=True),)
NAMES: Mapping[str, str] = {
    "chatbench.accuracy_by_condition.<condition>.<moment>": (
        "share of right answers by condition and moment: alone, before the chatbot, with_AI"
    ),
    "chatbench.accuracy_by_model.<model>": "share of right answers with the chatbot",
    "chatbench.change.<model>": "answer-first: accuracy with the chatbot minus that before it",
}
