"""Two evaluation harnesses at the work that Parley's engine does, installed into an environment of their own.

Their time is counted from the first answer at the server to the end of the process, so that starting and planning cost
them nothing, and keeping what came costs them as much as us.
"""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

from problems import data
from tests.fakes.fast_server import FastServer, fast_server

WANTED = ("inspect-ai==0.3.285", "lm-eval[api]==0.4.13", "openai")
HOME = Path(gettempdir()) / "parley-rivals"
PATIENCE_S = 900
QUESTION = "Which of these is the value of the expression, and why are the others not? " * 8
INSPECT = """
import sys
from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.solver import generate
url, calls, question = sys.argv[1], int(sys.argv[2]), sys.argv[3]
samples = MemoryDataset([Sample(input=f"[{n}] {question}", target="A") for n in range(calls)])
eval(Task(dataset=samples, solver=generate()), model="openai/fast-1", model_base_url=url, max_connections=128,
     max_samples=128, temperature=0.7, max_tokens=1000, display="none", log_dir="logs",
     model_args={"responses_api": False})
"""
TASK = """
task: bench
dataset_path: json
dataset_kwargs: {data_files: {test: FILE}}
test_split: test
output_type: generate_until
doc_to_text: "{{question}}"
doc_to_target: "A"
generation_kwargs: {until: [], max_gen_toks: 1000, temperature: 0.7, do_sample: true}
metric_list: [{metric: exact_match}]
"""
STUDY = """
study: chatbench
version: 1
title: As many questions as ChatBench has
contact: researcher@example.org
export_schemas: [chatbench]
problems:
  questions: {source: chatbench, path: questions.csv}
  dev: {source: chatbench, path: dev.csv}
models:
  fast-1: {backend: openai, temperature: 0.7, max_tokens: 1000}
ai_alone: {examples: dev, extractor: fast-1}
flow:
  - step: consent
    text: None is asked.
  - each: question
    of: questions
    take: 1
    do: user-alone@1
  - step: finish
    code: ALONE
"""


class NotThere(Exception):
    """A harness cannot be run here; the words say why."""


def environment() -> Path:
    """The programs' folder, made and filled by the first who asks."""
    return installed("venv", WANTED, ("lm_eval", "inspect"))


def installed(name: str, wanted: Sequence[str], needed: Sequence[str]) -> Path:
    """The programs of an environment of its own, which is made where one that is needed is not there."""
    programs = HOME / name / "bin"
    if not all((programs / program).exists() for program in needed):
        HOME.mkdir(exist_ok=True)
        _run([sys.executable, "-m", "venv", str(HOME / name)])
        _run([str(programs / "python"), "-m", "pip", "install", "-q", *wanted])
    return programs


def inspect_ai(calls: int) -> float:
    """Calls a second of inspect-ai."""
    python = environment() / "python"
    return _measured(calls, lambda folder, url: [str(python), "-c", INSPECT, url, str(calls), QUESTION])


def lm_eval(calls: int) -> float:
    """Calls a second of lm-eval."""
    program = environment() / "lm_eval"

    def command(folder: Path, url: str) -> list[str]:
        lines = (json.dumps({"question": f"[{number}] {QUESTION}"}) for number in range(calls))
        (folder / "docs.jsonl").write_text("\n".join(lines))
        (folder / "bench.yaml").write_text(TASK.replace("FILE", str(folder / "docs.jsonl")))
        model = f"model=fast-1,base_url={url}/chat/completions,num_concurrent=128,max_retries=3,tokenizer_backend=None"
        asked = ["--model", "local-chat-completions", "--model_args", model, "--tasks", "bench"]
        kept = ["--use_cache", str(folder / "cache"), "--log_samples", "--output_path", str(folder / "out")]
        return [str(program), *asked, *kept, "--include_path", str(folder), "--apply_chat_template"]

    return _measured(calls, command)


HARNESSES: dict[str, tuple[Callable[[int], float], int, float]] = {
    "inspect-ai": (inspect_ai, 2_000, 5),
    "lm-eval": (lm_eval, 10_000, 1),
}
"""How to measure each, with how many calls, and how many times as fast Parley shall be."""


def _measured(calls: int, command: Callable[[Path, str], list[str]]) -> float:
    with TemporaryDirectory() as name, fast_server() as server:
        _run(command(Path(name), server.base_url), Path(name))
        return _rate(server, calls, time.time())


def _rate(server: FastServer, calls: int, ended_s: float) -> float:
    at_s = [given_s for _, _, given_s in server.ledger()]
    if len(at_s) < calls:
        raise NotThere(f"it asked {len(at_s)} of {calls} times")
    return len(at_s) / (ended_s - min(at_s))


def _run(command: list[str], folder: Path | None = None) -> None:
    more = {"OPENAI_API_KEY": "sk-none", "HF_DATASETS_OFFLINE": "1", "HF_HUB_OFFLINE": "1"}
    try:
        done = subprocess.run(
            command, cwd=folder, env=os.environ | more, capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotThere(str(error)[:200]) from None
    if done.returncode:
        raise NotThere(f"{Path(command[0]).name}: {(done.stderr or done.stdout).strip()[-300:]}")


def questions(folder: Path, count: int) -> Path:
    """A study with so many questions: the shipped ones, each again and again in other words."""
    shipped = Path(data.__path__[0]) / "chatbench"
    shutil.copy(shipped / "dev.csv", folder / "dev.csv")
    with (shipped / "questions.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    with (folder / "questions.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        for number in range(count):
            row = rows[number % len(rows)]
            again = {"question_id": f"{row['dataset']}-redux-{number}", "question": f"{row['question']} ({number})"}
            formatted = row["question_formatted"] and f"{row['question_formatted']} ({number})"
            writer.writerow(row | again | {"question_formatted": formatted})
    (folder / "study.yaml").write_text(STUDY, encoding="utf-8")
    return folder / "study.yaml"
