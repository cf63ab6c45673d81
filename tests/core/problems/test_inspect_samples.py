"""Samples of Inspect as problems."""

import json
from pathlib import Path

import pytest

from problems.errors import ProblemError
from problems.inspect_samples import load

SAMPLES = [
    {"input": "2+2?", "choices": ["3", "4"], "target": "B", "id": 7, "metadata": {"topic": "sums", "level": 2}},
    {"input": [{"role": "user", "content": [{"type": "text", "text": "Name a prime."}]}], "target": "2"},
    {"input": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}], "target": ["Hi"]},
]


def written(path: Path, samples: object) -> Path:
    lines = path.suffix == ".jsonl" and isinstance(samples, list)
    path.write_text("\n".join(map(json.dumps, samples)) if lines else json.dumps(samples), encoding="utf-8")
    return path


@pytest.mark.parametrize("ending", ["json", "jsonl"])
def test_samples_are_read_as_inspect_reads_them(tmp_path: Path, ending: str) -> None:
    sums, prime, greeting = load(written(tmp_path / f"samples.{ending}", SAMPLES), {})
    assert (sums.id, sums.text, sums.answer, dict(sums.tags)) == ("7", "2+2?", "B", {"topic": "sums", "level": "2"})
    assert [(option.key, option.text) for option in sums.options] == [("A", "3"), ("B", "4")]
    assert (prime.id, prime.text, prime.answer, prime.options) == ("2", "Name a prime.", "2", ())
    assert (greeting.id, greeting.answer) == ("3", "Hi")
    assert "Be brief." in greeting.text


def test_csv_has_choices_with_commas_and_fields_of_other_names(tmp_path: Path) -> None:
    path = tmp_path / "samples.csv"
    path.write_text('q,gold,choices,topic\n"Sky?",b,"red, blue,",colour\n"Grass?",,"green blue",\n', encoding="utf-8")
    sky, grass = load(path, {"question": "q", "answer": "gold"})
    assert [option.text for option in sky.options] == ["red", "blue"]
    assert (sky.id, sky.answer, dict(sky.tags)) == ("1", "B", {"topic": "colour"})
    assert ([option.text for option in grass.options], grass.answer) == (["green", "blue"], None)


BAD = {
    "target": {"input": "a", "choices": ["x", "y"], "target": "C"},
    "targets": {"input": "a", "choices": ["x", "y"], "target": ["A", "B"]},
    "sandbox": {"input": "a", "target": "b", "sandbox": "docker"},
    "picture": {"input": [{"role": "user", "content": [{"type": "image", "image": "a.png"}]}], "target": "b"},
    "metadata": {"input": "a", "target": "b", "metadata": ["c"]},
}


def test_all_samples_that_cannot_be_asked_are_named_at_once(tmp_path: Path) -> None:
    samples = [SAMPLES[0], *BAD.values()]
    with pytest.raises(ProblemError) as raised:
        load(written(tmp_path / "samples.jsonl", samples), {})
    assert [fault.partition(":")[0] for fault in raised.value.faults] == [f"line {n}" for n in range(2, 7)]
