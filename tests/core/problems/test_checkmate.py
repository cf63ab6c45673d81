"""CheckMate's folder of theorems: names, order, topics and the dollars in them."""

from pathlib import Path

import pytest

from problems.checkmate import load, to_delimiters
from problems.errors import ProblemError

REAL = Path(__file__).parents[3].parent / "shared/data/checkmate_problems"


@pytest.mark.parametrize(
    ("source", "line"),
    [("one\ntwo $x", 2), ("$", 1), ("$x\n\ny$ z", 1), ("$$x", 1)],
    ids=["never closed", "alone", "closed in another paragraph", "display never closed"],
)
def test_a_dollar_without_partner_is_refused_with_its_line(source: str, line: int) -> None:
    with pytest.raises(ProblemError) as caught:
        to_delimiters(source)
    assert caught.value.faults[0].startswith(f"line {line}: a $ without its partner")


def test_the_number_gives_order_and_topic_and_the_rest_of_the_name_the_id(tmp_path: Path) -> None:
    names = ["p60_z.md", "p10_a^n+1.md", "p9_b-c_d.md", "p11_e.md", "p21_f.md", "p31_g.md", "p41_h.md", "p51_i.md"]
    for name in names:
        (tmp_path / name).write_text("\nShow that $x$.\n", encoding="utf-8")
    problems = load(tmp_path)
    assert [(problem.id, problem.tags["topic"]) for problem in problems] == [
        ("b-c_d.html", "Algebra"),
        ("a^n+1.html", "Algebra"),
        ("e.html", "Group Theory"),
        ("f.html", "Number Theory"),
        ("g.html", "Probability Theory"),
        ("h.html", "Topology"),
        ("i.html", "Linear Algebra"),
        ("z.html", "Linear Algebra"),
    ]
    assert {(problem.text, problem.plain, problem.dataset) for problem in problems} == {
        (r"Show that \(x\).", "\nShow that $x$.\n", "checkmate")
    }


def test_all_bad_files_are_named_at_once_and_others_passed_over(tmp_path: Path) -> None:
    texts = {
        "p1_good.md": "Show it.",
        "p2_open.md": "Let\n$x be.",
        "p3_empty.md": " \n",
        "p61_late.md": "Show it.",
        "q4_name.md": "Show it.",
        "p05_zero.md": "Show it.",
        "README.md": "About $",
        "._p1_good.md": "hidden",
        "notes.txt": "$",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(ProblemError) as caught:
        load(tmp_path)
    assert [fault.split(";")[0] for fault in caught.value.faults] == [
        "p05_zero.md: the name must be pN_name.md, with N from 1 to 60",
        "p2_open.md: line 2: a $ without its partner",
        "p3_empty.md: the file is empty",
        "p61_late.md: the name must be pN_name.md, with N from 1 to 60",
        "q4_name.md: the name must be pN_name.md, with N from 1 to 60",
    ]


@pytest.mark.skipif(not REAL.is_dir(), reason=f"CheckMate's own problems are not at {REAL}")
def test_the_real_folder_is_read() -> None:
    problems = load(REAL)
    assert len(problems) == 24
    assert problems[0].id == "minkowskis_inequality_for_lebesgue_spaces.html"
    assert "factorisation_of_z^n+1.html" in {problem.id for problem in problems}
    assert [problem.tags["topic"] for problem in problems].count("Algebra") == 9
    for problem in problems:
        # the dollars that are left come in twos
        assert "$" not in problem.text.replace("$$", "")
        assert problem.plain.replace("$$", "").count("$") == 2 * problem.text.count(r"\(")
