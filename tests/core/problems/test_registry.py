"""The sources: how they are found, and where their paths lead."""

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from problems import plugins, registry
from problems.errors import ParleyError, ProblemError
from problems.pools import load_pool

GROUP = "parley.problems"
LINE = '{"id": "a", "text": "T"}\n'


@pytest.fixture(autouse=True)
def _sources_of_this_test_only(monkeypatch: pytest.MonkeyPatch) -> None:
    registry.names()
    monkeypatch.setattr(registry.SOURCES, "entries", dict(registry.SOURCES.entries))


@pytest.mark.parametrize(
    ("name", "path", "says"),
    [
        ("chatbnch", "sample", r"no problem source 'chatbnch'; allowed: chatbench, .*Did you mean 'chatbench'\?"),
        ("chatbench", "sample/devs.csv", r"ships no 'devs.csv'; allowed: .*Did you mean 'dev.csv'\?"),
        ("chatbench", "sample/../../item.py", "ships no"),
        ("jsonl", "onw.jsonl", r"no such file .*Did you mean 'own.jsonl'\?"),
        ("jsonl", "nowhere/own.jsonl", "no such file"),
        ("jsonl", ".", "cannot be read"),
    ],
)
def test_a_name_or_path_that_leads_nowhere_is_refused(tmp_path: Path, name: str, path: str, says: str) -> None:
    (tmp_path / "own.jsonl").write_text(LINE)
    with pytest.raises(ProblemError, match=says):
        load_pool({"source": name, "path": path}, "pool", tmp_path)


def test_a_package_outside_brings_a_source_and_its_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "flashcards.py").write_text(
        "from problems.problem import Problem\n"
        "from problems.registry import source\n"
        "@source('flashcards', sample='cards.txt')\n"
        "def load(path):\n"
        "    return tuple(Problem(line, line, line, 'cards') for line in path.read_text().splitlines())\n"
    )
    (tmp_path / "data/flashcards").mkdir(parents=True)
    (tmp_path / "data/flashcards/cards.txt").write_text("one\ntwo\n")
    monkeypatch.syspath_prepend(tmp_path)
    entry = EntryPoint("flashcards", "flashcards", GROUP)
    monkeypatch.setattr(plugins, "entry_points", lambda group: [entry] if group == "parley.problems" else [])
    plugins.discover.__wrapped__("problems", GROUP)
    assert "flashcards" in registry.names()
    assert [problem.id for problem in load_pool({"source": "flashcards"}, "pool", tmp_path)] == ["one", "two"]


@pytest.mark.parametrize(
    "line",
    ["raise RuntimeError('licence expired')", "def :", "{}['x']", "import sys; sys.exit(3)"],
)
def test_whatever_a_package_raises_while_it_is_imported_is_told(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"broken_{abs(hash(line))}"
    (tmp_path / f"{name}.py").write_text(f"{line}\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(plugins, "entry_points", lambda group: [EntryPoint("mine", name, GROUP)])
    with pytest.raises(ParleyError, match=r"'mine', which another package provides.*cannot be loaded.*Repair"):
        plugins.discover.__wrapped__("problems", GROUP)


@pytest.mark.parametrize("given", [None, "T", [{"id": "a", "text": "T"}]], ids=["nothing", "a text", "dictionaries"])
def test_what_is_no_problem_is_told_with_its_source(given: object, tmp_path: Path) -> None:
    registry.source("wrong")(lambda _: given)  # type: ignore[arg-type, return-value]
    with pytest.raises(ProblemError, match=r"the source 'wrong' gave .*; it has to give problems"):
        load_pool({"source": "wrong", "path": "."}, "pool", tmp_path)
