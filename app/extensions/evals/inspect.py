"""Inspect's forms: the scores that people gave, and their conversations as a log (`inspect_ai`, UK AI Security
Institute; log version 2).

A sample is a problem, and its epochs are the people who met it. An answer with a right one is `C` or `I`, as Inspect's
own scorers say; any other answer is its number or text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from app.errors import SettingsError
from app.extensions.evals.samples import HumanSample
from experiments.events import Event
from experiments.session.conversation import SPEAKERS
from experiments.views.answers import AnswerView
from storage.datasets.tidy.rows import text, time
from storage.db.private_files import writing

INSTALL = "pip install 'parley-studies[inspect]'"
RIGHT, WRONG = "C", "I"
# Inspect's name for runs that no model answers: here people do, with the models that their messages name.
NO_MODEL = "none/none"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def score_records(samples: Iterable[HumanSample]) -> dict[str, list[dict[str, Any]]]:
    records: dict[str, list[dict[str, Any]]] = {}
    for sample in samples:
        for name, (_, view) in sample.answers.items():
            known = {"id": sample.problem.id, "epoch": sample.epoch, **_score(sample, view)}
            records.setdefault(name, []).append(known)
    return records


def write_scores(samples: Iterable[HumanSample], folder: Path) -> Iterator[tuple[Path, int]]:
    """Write a file for each question, with its number of records."""
    for name, records in score_records(samples).items():
        file = folder / f"{name}.jsonl"
        with writing(file) as stream:
            for record in records:
                stream.write((json.dumps(record, ensure_ascii=False) + "\n").encode())
        yield file, len(records)


def log_values(study: str, version: int, samples: Iterable[HumanSample], made_us: int) -> dict[str, Any]:
    found = [_sample(sample) for sample in samples]
    ids = list(dict.fromkeys(sample["id"] for sample in found))
    dataset = {"name": study, "samples": len(ids), "sample_ids": ids}
    return {
        "version": 2,
        "status": "success",
        "eval": {
            "created": moment(made_us),
            "task": study,
            "task_version": version,
            "dataset": dataset,
            "model": NO_MODEL,
            "config": {"epochs": max((sample["epoch"] for sample in found), default=1)},
        },
        "samples": found,
    }


def write_log(values: Mapping[str, Any], file: Path) -> None:
    """Write a log by Inspect's own writer, in the form of the file's ending (.eval or .json)."""
    try:
        from inspect_ai.log import EvalLog, write_eval_log
    except ImportError:
        raise SettingsError(f"A log of Inspect is written by Inspect itself, which is not here: {INSTALL}") from None
    write_eval_log(EvalLog.model_validate(values), str(file))


def _sample(sample: HumanSample) -> dict[str, Any]:
    problem = sample.problem
    events = [*sample.messages, *(event for event, _ in sample.answers.values())]
    return {
        "id": problem.id,
        "epoch": sample.epoch,
        "input": problem.plain,
        "choices": [option.plain for option in problem.options] or None,
        "target": problem.answer or "",
        "messages": [_message(event) for event in sample.messages],
        "scores": {name: _score(sample, view) for name, (_, view) in sample.answers.items()},
        "metadata": {"dataset": problem.dataset, **problem.tags, **sample.facts},
        "started_at": moment(min(event.at_us for event in events)),
        "completed_at": moment(max(event.at_us for event in events)),
    }


def _score(sample: HumanSample, view: AnswerView) -> dict[str, Any]:
    value = view.value if isinstance(view.value, int | float) else text(view.value)
    if view.correct is not None:
        value = RIGHT if view.correct else WRONG
    asked = {"question": view.question} if view.question else {}
    return {"value": value, "answer": text(view.value), "metadata": {**sample.facts, **asked}}


def _message(event: Event) -> dict[str, Any]:
    speaker = SPEAKERS[event.kind]
    names = ("slot", "source", "version") if speaker == "assistant" else ()
    metadata = {"time": time(event.at_us), **{name: event.data[name] for name in names if event.data.get(name)}}
    model = {"model": event.data["model"]} if event.data.get("model") else {}
    return {"role": speaker, "content": event.data["text"], "metadata": metadata, **model}


def moment(at_us: int) -> str:
    return (EPOCH + timedelta(microseconds=at_us)).isoformat()
