"""What an author types in a study file stays what it is, and what is written as YAML reads back as it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from app.studies.drafts import check_text
from app.studies.loader import load_study
from app.studies.yaml_loader import parse_yaml
from experiments.study.resolve import restore
from experiments.study.study import Study
from problems.text import clean
from storage.yaml_text import yaml_text

# Scalars without quotes, which one version of YAML or another takes for something else.
TYPED = (
    "7:30", "8:00", "12:30:15", "007", "010", "0o17", "0x1F", "0b11", "1_000", "1,000", "1.10", "2.50", "1.0", "1e3",
    "1E5", "1e400", "12e4567", "-0", "+5", ".5", "5.", "-1", "12", "0.5", "yes", "no", "on", "off", "y", "N", "true",
    "false", "True", "FALSE", "Null", ".nan", ".inf", "NaN", "Infinity", "2024-01-01", "2024-13-45", "1.2.3", "5 %",
    "2024-01-01T12:00:00Z", "=", "<<", "00123456", "42798",
)  # fmt: skip
HEAD = "study: typed\ntitle: Typed\nflow:\n"
LAST = "- {step: finish, code: X}\n"
SINGLE = """\
- step: survey
  id: s{number}
  questions:
  - type: single_choice
    name: listed
    options:
    - {typed}
    - something else
  - type: single_choice
    name: mapped
    text: {said}
    options:
      {typed}: {typed}
      other: something else
- {{step: info, id: i{number}, text: Seen, when: {{s{number}.listed: {condition}}}}}
"""
MODEL = """\
study: typed
title: {typed}
problems: {{questions: {{source: chatbench}}}}
models:
  tutor:
    backend: scripted
    model: {typed}
    temperature: 1.10
    price: {{prompt: 2.50, completion: 1e1}}
    options: {{wrong: 0.30}}
flow:
- {{each: question, of: questions, take: 1, do: user-alone, with: {{alone: {{text: {typed}}}}}}}
- {{step: finish, code: {typed}}}
"""
TEXTS = st.text().map(clean) | st.sampled_from(
    (*TYPED, "", "~", "null", "-", " a\nb", "a\n", "a\n\n", "- x\n# y\n", "a \nb")
)
FLOATS = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from((1e-05, 5e-324, -2e16))
SCALARS = st.none() | st.booleans() | st.integers() | FLOATS | TEXTS
JSON = st.recursive(SCALARS, lambda inside: st.lists(inside) | st.dictionaries(TEXTS, inside))


def both(text: str, folder: Path) -> tuple[Study, Study]:
    """A study as it was read, and as it is restored from its document."""
    path = folder / "study.yaml"
    path.write_text(text, encoding="utf-8")
    made = load_study(str(path))
    return made, restore(made.document)


def test_an_option_is_as_it_was_typed(tmp_path: Path) -> None:
    words = [word for word in TYPED if word != "<<"]  # as a key it merges
    said = ["x" if word in ("true", "false") else word for word in words]
    condition = [f"'{word}'" if "," in word else word for word in words]
    each = zip(words, said, condition, strict=True)
    parts = [SINGLE.format(number=n, typed=w, said=s, condition=c) for n, (w, s, c) in enumerate(each)]
    for found in both(HEAD + "".join(parts) + LAST, tmp_path):
        surveys, seen = found.flow[:-1:2], found.flow[1::2]
        listed = [survey.questions[0].options for survey in surveys]
        mapped = [survey.questions[1].options for survey in surveys]
        assert listed == [{word: word, "something else": "something else"} for word in words]
        assert mapped == [{word: word, "other": "something else"} for word in words]
        assert [survey.questions[1].text for survey in surveys] == said
        numbers = {"true": True, "false": False, "-1": -1, "12": 12, "42798": 42798}
        assert [step.when for step in seen] == [{f"s{n}.listed": numbers.get(w, w)} for n, w in enumerate(words)]


@pytest.mark.parametrize("typed", ["00123456", "1.10", "1e3", "7:30", "12", "0.5", "no", "2024-01-01"])
def test_where_a_text_is_wanted_it_is_one_and_where_a_number_is_a_number(typed: str, tmp_path: Path) -> None:
    for found in both(MODEL.format(typed=typed), tmp_path):
        each, last = found.flow
        model = found.file.models["tutor"]
        alone = next(node for node in each.flow if node.id == "alone")
        assert (found.file.title, model.model, alone.text, last.code) == (typed,) * 4
        assert (model.temperature, model.price.prompt, model.price.completion) == (1.1, 2.5, 10.0)
        assert model.options == {"wrong": 0.3}
        assert type(model.options["wrong"]) is float


@pytest.mark.parametrize("separator", ["\u2028", "\u2029"])
def test_a_separator_that_yaml_may_take_for_a_line_end_is_told(separator: str, tmp_path: Path) -> None:
    (fault,) = check_text(f"study: typed\ntitle: a {separator} b\n{HEAD[-6:]}{LAST}", tmp_path).faults
    assert (fault.line, fault.column) == (2, 10)
    escaped = f'study: typed\ntitle: "a \\u{ord(separator):x} b"\n{HEAD[-6:]}{LAST}'
    made = check_text(escaped, tmp_path).study
    assert made is not None
    assert made.file.title == f"a {separator} b"


@given(JSON)
def test_what_is_written_reads_back_as_it_was_in_each_version(value: Any) -> None:
    text = yaml_text(value)
    assert repr(parse_yaml(text).value) == repr(value)
    older = YAML(typ="safe", pure=True)
    older.version = (1, 1)
    assert older.load(text) == value
