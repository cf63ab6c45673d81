"""YAML of strangers: what would do harm is refused in words, and nothing that can be written breaks the checker."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.studies.drafts import CheckResult, check_text
from app.studies.loader import STUDIES, find, shipped

BOMB = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12))
MERGES = "a0: &a0 {x: 1}\n" + "".join(f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}\n" for n in range(1, 12))
CHAIN = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 200))
HOSTILE = {
    "aliases that unfold": (BOMB, "expand to too much"),
    "merges that unfold": (MERGES, "expand to too much"),
    "a chain of aliases": (CHAIN, "nested too deeply"),
    "what holds itself": ("a: &a [*a]", "expand to too much"),
    "a mapping that merges itself": ("a: &a {<<: *a}", "expand to too much"),
    "depth": ("a: " + "[" * 5_000, "nested too deeply"),
    "depth that ends": ("a: " + "[" * 150 + "]" * 150, "nested too deeply"),
    "a tag of Python": ("a: !!python/object/apply:os.system [ls]", "is not allowed here"),
    "a tag that lies": ("a: !!bool x", "is not allowed here"),
    "an endless number": ("a: " + "9" * 5000, "number is too long"),
    "a letter that there is not": ('a: "\\UFFFFFFFF"', "is not YAML"),
    "an incomplete character": ('a: "\\ud800"', "U+D800"),
    "a list as a key": ("[a]: x", "a key is not a text"),
    "no key": (": x", "a key is not a text"),
}
JUNK = (
    "[a, b]", "{x: y}", "null", "5", "-1", "2020-01-01", "true", "[[a]]", "{a: {b: c}}", "'x'", "1e400", ".nan", "[]",
    "{}", "&a [*a]", "!!binary x", '"\\ud800"', "0x1", "yes", "'{{x}}'", "'..'", "{1: 2}", "? [a]", "*q", "\t",
)  # fmt: skip


@pytest.mark.parametrize("case", HOSTILE, ids=lambda case: case.replace(" ", "_"))
def test_what_would_do_harm_is_refused(case: str, tmp_path: Path) -> None:
    text, words = HOSTILE[case]
    (fault,) = check_text(text, tmp_path).faults
    assert words in fault.what


@given(st.sampled_from(shipped()), st.randoms(use_true_random=False))
def test_no_study_breaks_the_checker(
    tmp_path_factory: pytest.TempPathFactory, name: str, chance: random.Random
) -> None:
    lines = find(name).read_text(encoding="utf-8").splitlines()
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(lines))
        line, junk = lines[at], chance.choice(JUNK)
        head = f"{line.split(':')[0]}: {junk}"
        lines[at : at + 1] = chance.choice([[head], [], [line + junk], [line[: len(line) // 2] + junk], [line, line]])
    told = check_text("\n".join(lines), STUDIES)
    assert isinstance(told, CheckResult)
    assert (told.study is None) == bool(told.faults)
    assert all(fault.line is None or 1 <= fault.line <= len(lines) + 1 for fault in told.faults)
