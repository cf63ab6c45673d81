"""What an author types in a study file stays what it is, and what is written as YAML reads back as it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.studies.drafts import check_text
from app.studies.loader import load_study
from experiments.study.resolve import restore
from experiments.study.study import Study

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


@pytest.mark.parametrize("separator", ["\u2028", "\u2029"])
def test_a_separator_that_yaml_may_take_for_a_line_end_is_told(separator: str, tmp_path: Path) -> None:
    (fault,) = check_text(f"study: typed\ntitle: a {separator} b\n{HEAD[-6:]}{LAST}", tmp_path).faults
    assert (fault.line, fault.column) == (2, 10)
    escaped = f'study: typed\ntitle: "a \\u{ord(separator):x} b"\n{HEAD[-6:]}{LAST}'
    made = check_text(escaped, tmp_path).study
    assert made is not None
    assert made.file.title == f"a {separator} b"
