"""A pool written into a study file: only its lines change, and what cannot be changed is refused."""

from __future__ import annotations

import pytest

from app.studies.loader import find, shipped
from app.studies.pool_text import pools_in, with_pool
from experiments.errors import StudyError

POOL = {"path": "q: 1.csv", "columns": {"question": "Frage", "options": ["A", "B"]}}
BLOCK = """# mine
study: small
problems:
  # the first
  one:  # here
    source: jsonl
    path: one.jsonl
    groups: {tag: batch, within: topic, size: 3}
    # its end

  # the second
  two: {source: jsonl,
        path: two.jsonl}  # there

# the flow
flow:
  - {step: finish}
"""


def test_a_pool_is_replaced_and_the_comments_around_it_stay() -> None:
    text = with_pool(BLOCK, "one", POOL)
    assert pools_in(text)["one"] == {**POOL, "groups": {"tag": "batch", "within": "topic", "size": 3}}
    assert pools_in(text)["two"] == pools_in(BLOCK)["two"]
    assert [line for line in BLOCK.splitlines() if line.strip().startswith("#") and line not in text] == []
    assert text.index("# the second") > text.index("one:")
    assert pools_in(with_pool(BLOCK, "two", POOL))["two"] == POOL


@pytest.mark.parametrize("name", shipped())
def test_a_pool_of_each_study_that_comes_with_parley_can_be_replaced(name: str) -> None:
    text = find(name).read_text(encoding="utf-8")
    for pool in (*pools_in(text), "another"):
        edited = with_pool(text, pool, POOL)
        comments = [line for line in text.splitlines() if line.lstrip().startswith("#")]
        assert [line for line in comments if line not in edited] == []


@pytest.mark.parametrize("text", ["- a list", "study: [", "{study: x, problems: {a: &one {path: x}, b: *one}}"])
def test_a_text_that_cannot_be_edited_is_refused(text: str) -> None:
    with pytest.raises(StudyError):
        with_pool(text, "a", POOL)
