"""Importing and exporting a large release of ChatBench: how fast, and in how much memory.

`python -m tests.bench.exports --rows 100000` is a short form. Every measurement is a process of its own; a plain
reading of the same rows by `sqlite3` and `csv` says what this machine can do at best.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from experiments.instruments.scales import CONFIDENCE
from storage.datasets.exports.exporter import stream
from storage.datasets.exports.plan import ExportRequest
from storage.datasets.imports.importer import import_files
from storage.db.engine import open_database
from storage.schemas.chatbench import ANSWER_COLUMNS, CONVERSATION_COLUMNS, FULL_STUDY
from tests.bench import bars

ROWS, TALKS_PART, MESSAGES, SMALLER = 1_000_000, 10, 10, 10
# The share of the plain reading's speed, and by how much the peak may differ at ten times the rows, where the fewer are
# enough to be many batches.
LEAST, FLAT_MB, ENOUGH = 0.25, 16, 10_000
ANSWERS, TALKS = f"{FULL_STUDY}/user_answers.csv", f"{FULL_STUDY}/conversations.json"
TEXT = (
    "the answer is that we can see each of these terms add up to a sum, so first divide both sides by two and then "
    'note: "velocity" isn\'t speed; \\( x^2 + 3x = 10 \\) has roots\n\n1. **Step one** $\\frac{a}{b}$ — naïve café '
    "Größe 数学 αβγ 🙂 let me check this, because energy (in joules) stays the same. Option B, not option C, follows"
)
WORDS = TEXT.split(" ")


def write_release(folder: Path, rows: int) -> None:
    """A release that is always the same: 20 answers of each worker, and a conversation to each tenth answer."""
    chance = random.Random(rows)
    (folder / FULL_STUDY).mkdir(parents=True)
    said = [" ".join(chance.choices(WORDS, k=chance.randint(3, 160))) for _ in range(2_000)]
    with (folder / ANSWERS).open("w", encoding="utf-8", newline="") as answers, (folder / TALKS).open("w") as talks:
        writer = csv.DictWriter(answers, [column.name for column in ANSWER_COLUMNS])
        writer.writeheader()
        for number in range(rows):
            answer = _answer(number, chance)
            writer.writerow(answer)
            if number % TALKS_PART == 0:
                roles = ("You", "Bot")
                history = [{"role": roles[n % 2], "content": chance.choice(said)} for n in range(MESSAGES)]
                talk = answer | {"answer_type": "user-AI", "chat_history": history}
                talks.write(",\n" if number else "[\n")
                json.dump({column.name: talk.get(column.name) for column in CONVERSATION_COLUMNS}, talks)
        talks.write("]")


def _answer(number: int, chance: random.Random) -> dict[str, Any]:
    position, chosen = number % 20, chance.choice("ABCD")
    return {
        "worker_id": f"worker{number // 20:08}",
        "model": "gpt-4o",
        "condition": "answer-first",
        "subject": "math",
        "batch": number // 20 % 19,
        "phase": 1 if position < 5 else 2,
        "position": position,
        "answer_type": "user-alone",
        "dataset": "college_mathematics",
        "question_id": f"college_mathematics-redux-{position}",
        "confidence": chance.choice(tuple(CONFIDENCE)),
        "selected_answer": chosen,
        "acc": int(chosen == "B"),
    }


def import_(folder: Path, file: str) -> int:
    done = import_files(open_database(f"sqlite:///{folder}/parley.db"), "chatbench", [folder / file], "release")
    return sum(file.new for file in done)


def export(folder: Path, file: str) -> int:
    with (folder / "out").open("wb") as out:
        request = ExportRequest("release", "chatbench", "import")
        return stream(open_database(f"sqlite:///{folder}/parley.db"), request, out, file)


def plain(folder: Path, file: str) -> int:
    table, columns = {
        ANSWERS: ("user_answers", ANSWER_COLUMNS),
        TALKS: ("conversations", CONVERSATION_COLUMNS),
    }[file]
    names = ", ".join(column.name for column in columns)
    rows = sqlite3.connect(folder / "parley.db").execute(f"SELECT {names} FROM {table} ORDER BY _seq")
    with (folder / "out").open("w", newline="") as out:
        csv.writer(out).writerows(rows)
    return sum(1 for _ in sqlite3.connect(folder / "parley.db").execute(f"SELECT 1 FROM {table}"))


TASKS: Mapping[str, Callable[[Path, str], int]] = {"import": import_, "export": export, "plain": plain}


def measured(*words: str) -> tuple[float, float]:
    """Rows a second and peak MB of a task in a process of its own."""
    command = [sys.executable, "-m", "tests.bench.exports", "--task", *words]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    speed, mb = json.loads(done.stdout.splitlines()[-1])
    return float(speed), float(mb)


def run_task(task: str, folder: str, file: str) -> None:
    begun = time.perf_counter()
    count = TASKS[task](Path(folder), file)
    print(json.dumps([count / (time.perf_counter() - begun), bars.peak_mb()]))


def main(given: list[str] | None = None) -> int:
    """Measure and print; 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=ROWS, help=f"how many answers ({ROWS:,} unless given)")
    parser.add_argument("--task", nargs=3, help=argparse.SUPPRESS)
    wanted = parser.parse_args(given)
    if wanted.task:
        run_task(*wanted.task)
        return 0
    rows, missed = [], []
    with TemporaryDirectory() as name:
        folders = [Path(name) / "few", Path(name) / "many"]
        for folder, count in zip(folders, (wanted.rows // SMALLER, wanted.rows), strict=True):
            write_release(folder, count)
        for task in ("import", "export"):
            for file in (ANSWERS, TALKS):
                (_, few_mb), (speed, mb) = (measured(task, str(folder), file) for folder in folders)
                best = measured("plain", str(folders[1]), file)[0] if task == "export" else None
                grows = mb - few_mb > FLAT_MB and wanted.rows // SMALLER >= ENOUGH
                missed += [f"{task} {file}"] * (grows or (best is not None and speed < LEAST * best))
                share = "" if best is None else f"{speed / best:.2f}"
                rows.append((task, file, f"{speed:,.0f}", f"{few_mb:.0f} → {mb:.0f}", share))
    header = ("what", "file", "rows/s", "peak MB at N/10 → N", "of a plain reading's speed")
    return bars.told(f"Import and export, {wanted.rows:,} answers", header, rows, missed)


if __name__ == "__main__":
    sys.exit(main())
