"""What every source of problems keeps, and what the sample sets of this project hold."""

import csv
import json
import re
from pathlib import Path

import pytest

from problems import registry
from problems.chatbench import COLUMNS
from problems.pools import load_pool
from problems.problem import Problem

HERE = Path(__file__).parents[1]
DATA = Path(registry.__file__).parent / "data"
SETS = [
    *((name, "sample") for name in registry.names()),
    ("chatbench", "sample/dev.csv"),
    ("chatbench", "sample/attention.csv"),
]
FORMULA = re.compile(r"\\\(.+?\\\)|\$\$.+?\$\$", re.DOTALL)
HEADING = re.compile(r"^\*\*[A-Z][a-z ]+\*\*$", re.MULTILINE)


def load(name: str, path: str) -> tuple[Problem, ...]:
    return load_pool({"source": name, "path": path}, "pool", HERE)


def shown(problem: Problem) -> list[str]:
    return [problem.text, *(option.text for option in problem.options)]


@pytest.mark.parametrize(("name", "path"), SETS)
class TestEverySampleSet:
    def test_holds_problems_of_different_ids(self, name: str, path: str) -> None:
        problems = load(name, path)
        assert problems
        assert len({problem.id for problem in problems}) == len(problems)

    def test_comes_back_from_json(self, name: str, path: str) -> None:
        for problem in load(name, path):
            assert Problem.from_json(json.loads(json.dumps(problem.to_json()))) == problem

    def test_offers_options_that_read_differently(self, name: str, path: str) -> None:
        for problem in load(name, path):
            for wordings in ([o.text for o in problem.options], [o.plain for o in problem.options]):
                assert len(set(wordings)) == len(wordings), problem.id

    def test_can_be_shown_as_markdown_with_bracketed_latex(self, name: str, path: str) -> None:
        for problem in load(name, path):
            for text in shown(problem):
                assert text.count(r"\(") == text.count(r"\)") == len(re.findall(r"\\\(.+?\\\)", text)), problem.id
                # outside of formulas and of headings in bold nothing that Markdown would take for a sign of its own
                assert not set("*_`\\^") & set(HEADING.sub("", FORMULA.sub("", text))), problem.id


def test_the_files_have_the_columns_of_the_release() -> None:
    for path in sorted((DATA / "chatbench").glob("*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            assert next(csv.reader(file)) == list(COLUMNS), path.name
