"""Publication metadata: identifiers are checked, the citation is made of what is known, and no hash depends on them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from app.studies.loader import load_study
from experiments.study.resolve import restore
from experiments.study.sections.dataset_info import Author, DatasetInfo, check_digit

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
