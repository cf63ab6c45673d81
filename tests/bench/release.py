"""A release of ChatBench of any size, always the same: answers, conversations of ten messages, questions.

Workers have 13 to 22 answers, and one answer in ten has a conversation. Messages are as long as the real ones (about
100 words of a model's, 20 of a person's), with the commas, quotes, line ends, LaTeX and other alphabets that make
writers work.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from string import ascii_letters, digits

import orjson

from experiments.instruments.scales import CONFIDENCE
from storage.schemas.chatbench import ANSWER_COLUMNS, FULL_STUDY, QUESTION_COLUMNS, QUESTIONS

MESSAGES = 10
ROWS_A_CONVERSATION = 10
COLLECTIONS = {"math": "college_mathematics", "physics": "conceptual_physics", "moral": "moral_scenarios"}
BATCHES = 19
BATCH = 12
TEXT = (
    "the answer is that we can see each of these terms add up to a sum, so first divide both sides by two and then "
    'note: "velocity" isn\'t speed; \\( x^2 + 3x = 10 \\) has roots\n\n1. **Step one** $\\frac{a}{b}$ — naïve café '
    "Größe 数学 αβγ 🙂 let me check this, because energy (in joules) stays the same. Option B, not option C, follows"
)
WORDS = TEXT.split(" ")

Answer = dict[str, str | int | None]


def write(folder: Path, rows: int) -> None:
    """Write the release's files for so many answers; a folder that is there already is kept."""
    if folder.exists():
        return
    unfinished = folder.with_name(f"{folder.name}.unfinished")
    (unfinished / FULL_STUDY).mkdir(parents=True, exist_ok=True)
    chance = random.Random(rows)
    talk = _messages(chance)
    answers_at = unfinished / FULL_STUDY / "user_answers.csv"
    talks_at = unfinished / FULL_STUDY / "conversations.json"
    with answers_at.open("w", encoding="utf-8", newline="") as answers, talks_at.open("wb") as talks:
        answers.write(",".join(column.name for column in ANSWER_COLUMNS) + "\n")
        talked = 0
        for number, answer in zip(range(rows), _answers(chance), strict=False):
            answers.write(",".join("" if cell is None else str(cell) for cell in answer.values()) + "\n")
            if answer["answer_type"] == "user-AI" and talked <= number // ROWS_A_CONVERSATION:
                talks.write(b",\n" if talked else b"[\n")
                talks.write(orjson.dumps(_conversation(answer, chance, talk)))
                talked += 1
        talks.write(b"\n]\n")
    _write_questions(unfinished / QUESTIONS.file)
    unfinished.rename(folder)


def _answers(chance: random.Random) -> Iterator[Answer]:
    levels = tuple(CONFIDENCE)
    while True:
        subject, dataset = chance.choice(tuple(COLLECTIONS.items()))
        batch = chance.randrange(BATCHES)
        worker: Answer = {
            "worker_id": "".join(chance.choices(ascii_letters + digits, k=10)),
            "model": chance.choice(("gpt-4o", "llama-3.1-8b")),
            "condition": chance.choice(("answer-first", "direct-to-AI")),
            "subject": subject,
            "batch": batch,
        }
        for position in range(chance.randint(13, 22)):
            alone, check, chosen = position < 5, position == 7, chance.choice("ABCD")
            yield worker | {
                "phase": 1 if alone else 2,
                "position": position,
                "answer_type": "user-alone" if alone or check else "user-AI",
                "dataset": "attention_check" if check else dataset,
                "question_id": "attention_check" if check else f"{dataset}-redux-{batch * BATCH + position % BATCH}",
                "confidence": None if check else chance.choice(levels),
                "selected_answer": chosen,
                "acc": int(chosen == "B"),
            }


def _messages(chance: random.Random) -> list[list[str]]:
    """Messages of people and of models to take from: 2,000 of each, as drawing every word takes minutes."""
    sizes = ((3, 40), (40, 160))
    return [[" ".join(chance.choices(WORDS, k=chance.randint(*size))) for _ in range(2_000)] for size in sizes]


def _conversation(answer: Answer, chance: random.Random, messages: list[list[str]]) -> dict[str, object]:
    roles = ("You", "Bot")
    history = [{"role": roles[n % 2], "content": chance.choice(messages[n % 2])} for n in range(MESSAGES)]
    annotations = dict.fromkeys(("user_effort", "attempted_answer", "answer_val", "answer_letter"))
    return {**answer, "chat_history": history, **annotations}


def _write_questions(path: Path) -> None:
    names = [column.name for column in QUESTION_COLUMNS]
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(",".join(names) + "\n")
        for dataset in COLLECTIONS.values():
            for number in range(BATCHES * BATCH):
                known = {"question_id": f"{dataset}-redux-{number}", "dataset": dataset, "answer": "B"}
                cells = (known.get(name, "" if name.endswith("_formatted") else f"{name} {number}") for name in names)
                file.write(",".join(cells) + "\n")
