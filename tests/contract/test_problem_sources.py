"""What every source of problems keeps, and what the sample sets of this project hold."""

import csv
import json
import re
from collections import Counter
from pathlib import Path

import pytest

from problems import registry
from problems.chatbench import COLUMNS
from problems.item import Problem

HERE = Path(__file__).parent
DATA = Path(registry.__file__).parent / "data"
DATASETS = (
    "elementary_mathematics",
    "high_school_mathematics",
    "college_mathematics",
    "conceptual_physics",
    "moral_scenarios",
)
SETS = [
    *((name, "sample") for name in registry.names()),
    ("chatbench", "sample/dev.csv"),
    ("chatbench", "sample/attention.csv"),
]
FORMULA = re.compile(r"\\\(.+?\\\)|\$\$.+?\$\$", re.DOTALL)


def load(name: str, path: str) -> tuple[Problem, ...]:
    return registry.load(name, path, HERE)


def shown(problem: Problem) -> list[str]:
    return [problem.text, *(option.text for option in problem.options)]


def test_the_sources_of_this_package_are_found_by_themselves() -> None:
    assert {"chatbench", "checkmate", "jsonl"} <= set(registry.names())
    assert list(registry.names()) == sorted(registry.names())


@pytest.mark.parametrize(("name", "path"), SETS)
class TestEverySampleSet:
    def test_holds_problems_of_different_ids(self, name: str, path: str) -> None:
        problems = load(name, path)
        assert problems
        assert len({problem.id for problem in problems}) == len(problems)

    def test_is_the_same_each_time(self, name: str, path: str) -> None:
        assert load(name, path) == load(name, path)

    def test_comes_back_from_json(self, name: str, path: str) -> None:
        for problem in load(name, path):
            assert Problem.from_json(json.loads(json.dumps(problem.to_json()))) == problem

    def test_has_its_answers_among_its_options(self, name: str, path: str) -> None:
        for problem in load(name, path):
            keys = [option.key for option in problem.options]
            assert not keys or problem.answer in keys

    def test_offers_options_that_read_differently(self, name: str, path: str) -> None:
        for problem in load(name, path):
            for wordings in ([o.text for o in problem.options], [o.plain for o in problem.options]):
                assert len(set(wordings)) == len(wordings), problem.id

    def test_can_be_shown_as_markdown_with_bracketed_latex(self, name: str, path: str) -> None:
        for problem in load(name, path):
            for text in shown(problem):
                assert text.count(r"\(") == text.count(r"\)") == len(re.findall(r"\\\(.+?\\\)", text)), problem.id
                # outside of formulas nothing that Markdown would take for a sign of its own
                assert not set("*_`\\^") & set(FORMULA.sub("", text)), problem.id


def test_chatbench_has_twelve_questions_a_dataset_in_order() -> None:
    problems = load("chatbench", "sample")
    assert [problem.id for problem in problems] == [f"{name}-redux-{n}" for name in DATASETS for n in range(12)]
    assert [problem.dataset for problem in problems] == [name for name in DATASETS for _ in range(12)]


def test_chatbench_answers_are_balanced_in_each_dataset() -> None:
    counts = Counter((problem.dataset, problem.answer) for problem in load("chatbench", "sample"))
    assert counts == {(name, key): 3 for name in DATASETS for key in "ABCD"}


def test_chatbench_has_latex_in_twenty_questions_and_options_or_more() -> None:
    problems = load("chatbench", "sample")
    assert sum(r"\(" in problem.text for problem in problems) >= 20
    assert sum(any(r"\(" in option.text for option in problem.options) for problem in problems) >= 20
    assert not any(r"\(" in problem.plain for problem in problems)


def test_chatbench_has_five_examples_a_dataset_that_are_not_questions() -> None:
    examples = load("chatbench", "sample/dev.csv")
    assert [problem.id for problem in examples] == [f"{name}-dev-{n}" for name in DATASETS for n in range(5)]
    assert not {problem.plain for problem in examples} & {problem.plain for problem in load("chatbench", "sample")}


def test_the_attention_check_says_in_its_question_what_to_choose() -> None:
    (check,) = load("chatbench", "sample/attention.csv")
    assert (check.id, check.tags) == ("attention_check-1", {"dataset": "attention_check"})
    (right,) = [option.text for option in check.options if option.key == check.answer]
    assert f'choose the option "{right}"' in check.text


def test_the_files_have_the_columns_of_the_release() -> None:
    for path in sorted((DATA / "chatbench").glob("*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            assert next(csv.reader(file)) == list(COLUMNS), path.name


def test_checkmate_has_nine_theorems_a_topic() -> None:
    problems = load("checkmate", "sample")
    topics = ("Algebra", "Group Theory", "Number Theory", "Probability Theory", "Topology", "Linear Algebra")
    assert [problem.tags["topic"] for problem in problems] == [topic for topic in topics for _ in range(9)]
    numbers = sorted(int(path.name[1:].split("_")[0]) for path in (DATA / "checkmate").glob("p*.md"))
    assert numbers == [10 * tens + n for tens in range(6) for n in range(1, 10)]


def test_checkmate_theorems_each_say_what_to_show_and_differ() -> None:
    problems = load("checkmate", "sample")
    assert all(problem.text.count("\n\nShow") == 1 for problem in problems)
    assert len({problem.text for problem in problems}) == 54
    assert all(re.fullmatch(r"[a-z]+(_[a-z]+)*\.html", problem.id) for problem in problems)


def test_the_sample_sets_come_with_their_licence() -> None:
    assert "Creative Commons Attribution 4.0" in (DATA / "LICENSE").read_text(encoding="utf-8")
    readme = (DATA / "README.md").read_text(encoding="utf-8")
    for path in DATA.glob("*/*.*"):
        assert path.name in readme or path.parent.name == "checkmate"
