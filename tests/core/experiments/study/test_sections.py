"""Sections of a study file: what they refuse, and what is made of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from app.studies.loader import load_study
from experiments.study.resolve import restore
from experiments.study.sections import two_step_simulator
from experiments.study.sections.dataset_info import Author, DatasetInfo, check_digit
from experiments.study.sections.prolific import ProlificRecruitment
from experiments.study.sections.two_step_simulator import SimulatorQuestion

STUDY = """
study: tiny
title: Tiny
flow:
- step: finish
  title: Thanks
"""
DATASET = """
dataset:
  license: cc-by-4.0
  doi: https://doi.org/10.5281/zenodo.1234567
  version: 1.10
  date_published: 2026-11-26
  authors:
  - {family_names: Carberry, given_names: Josiah, orcid: https://orcid.org/0000-0002-1825-0097}
  - {name: The Lab, affiliation: Brown University}
"""


def written(folder: Path, text: str) -> str:
    path = folder / "study.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_the_hash_does_not_depend_on_publication_metadata(tmp_path: Path) -> None:
    without = load_study(written(tmp_path, STUDY))
    with_ = load_study(written(tmp_path, STUDY + DATASET))
    other = load_study(written(tmp_path, STUDY + DATASET.replace("1234567", "7654321")))
    assert without.document == with_.document == other.document
    assert restore(with_.document).hash == without.hash
    assert with_.file.dataset is not None
    assert with_.file.dataset != other.file.dataset


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("license", "CC BY 4.0"),
        ("license", "LicenseRef-mine"),
        ("license", "Nonsense-1.0"),
        ("doi", "11.5281/zenodo.1234567"),
        ("url", "example.org/data"),
        ("date_published", "26.11.2026"),
        ("authors", [{"given_names": "Ada"}]),
        ("authors", [{"family_names": "Carberry", "orcid": "0000-0002-1825-0098"}]),
        ("licence", "CC-BY-4.0"),
    ],
)
def test_a_wrong_value_is_an_error(key: str, value: Any) -> None:
    with pytest.raises(ValidationError, match=key):
        DatasetInfo.model_validate({key: value})


# ORCID's own examples.
KNOWN = ("0000-0002-1825-0097", "0000-0001-5109-3700", "0000-0002-1694-233X")


@pytest.mark.parametrize("orcid", KNOWN)
def test_the_last_character_is_computed_from_the_others(orcid: str) -> None:
    assert check_digit(orcid) == orcid[-1]


def test_the_citation_holds_what_is_known_and_nothing_else() -> None:
    authors = (Author(family_names="Lovelace", given_names="Ada"), Author(name="The Lab"))
    assert DatasetInfo().cited_as("Notes") is None
    assert DatasetInfo(citation="As you like").cited_as("Notes") == "As you like"
    assert DatasetInfo(authors=authors).cited_as("Notes") == "Lovelace, Ada; The Lab. Notes [Data set]."
    whole = DatasetInfo.model_validate(
        {"authors": authors, "version": "1.0", "date_published": "2026-11-26", "doi": "10.1234/x"}
    )
    assert (
        whole.cited_as("Notes")
        == "Lovelace, Ada; The Lab (2026). Notes (Version 1.0) [Data set]. https://doi.org/10.1234/x"
    )


LEAST: dict[str, Any] = {"description": "A talk", "reward": "1.50", "minutes": 10, "spend_limit": 100}
OUT = {"reward": "0.20", "places": 5}


@pytest.mark.parametrize(
    "wrong",
    [
        {"filter_set": "f1", "filters": [{"filter_id": "handedness"}]},
        {"codes": {"timed_out": "screen_out"}},
        {"screen_out": {**OUT, "reward": "1.50"}},
        {"reward": "0"},
        {"devices": ["desk"]},
    ],
)
def test_what_prolific_would_refuse_is_an_error_of_the_study_file(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ProlificRecruitment(**LEAST | wrong)


def test_who_is_screened_out_is_paid_where_a_payment_is_given() -> None:
    assert ProlificRecruitment(**LEAST).action("screened_out") == "return"
    paid = ProlificRecruitment(**LEAST, screen_out=OUT, codes={"complete": "approve"})
    assert [paid.action(name) for name in ("screened_out", "complete", "timed_out")] == [
        "screen_out",
        "approve",
        "review",
    ]


SUM = SimulatorQuestion("What is 1 + 1?", {"A": "3", "B": "2", "C": "B", "D": "A lot"})


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ("  hello ", "hello"),
        ('"YOU: hello"', "hello"),
        ('YOU: "hello"', "hello"),
        ("“hello”", "hello"),
        ('"a" and "b"', '"a" and "b"'),
        ("what is 'x'", "what is 'x'"),
        ("SYSTEM: no", "SYSTEM: no"),
        ('"', '"'),
        ("", ""),
    ],
)
def test_quotes_around_a_reply_and_the_speakers_name_are_dropped(reply: str, said: str) -> None:
    assert two_step_simulator.cleaned(reply) == said


@pytest.mark.parametrize(
    ("answer", "key"),
    [
        ("A", "A"), ("a", "A"), ("D.", "D"), ("(D)", "D"), ("D) A lot", "D"), ("**D**", "D"), ("2", "B"),
        ("a lot", "D"), ("A or D", None), ("A lot more", None), ("E", None), ("", None), ("none of them", None),
    ],
)  # fmt: skip
def test_an_answer_is_matched_to_one_option_or_to_none(answer: str, key: str | None) -> None:
    assert SUM.key(answer) == key
