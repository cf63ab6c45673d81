"""Publication metadata of a study's data: facts for readers that the data do not contain.

Licence, authors, DOI and the like become known, and change, after data have been collected. They are therefore no part
of the study's document or its hash (docs/decisions/0012-publication-metadata.md).
"""

from __future__ import annotations

import re
from datetime import date
from typing import Annotated, Self

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression
from pydantic import AfterValidator, Field, model_validator

from experiments.study.base_model import StrictModel
from problems.errors import did_you_mean

# SPDX identifiers of licences that are often used for data; named in the error for an unknown one.
DATA_LICENSES = ("CC0-1.0", "CC-BY-4.0", "CC-BY-SA-4.0", "CC-BY-NC-4.0", "ODbL-1.0", "ODC-By-1.0", "PDDL-1.0")
_DOI = re.compile(r"10\.\d{4,9}/\S+")
_ORCID = re.compile(r"\d{4}-\d{4}-\d{4}-\d{3}[\dX]")
_SPDX = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+-]*")


def spdx_id(text: str) -> str | None:
    """The SPDX identifier of a single licence in its standard spelling; None if the text is not one."""
    try:
        found = str(canonicalize_license_expression(text)) if _SPDX.fullmatch(text) else ""
    except InvalidLicenseExpression:
        return None
    return None if not found or found.startswith("LicenseRef-") else found


def _license(text: str) -> str:
    found = spdx_id(text)
    if found is None:
        hint = did_you_mean(text.replace(" ", "-"), DATA_LICENSES)
        raise ValueError(
            f"not the SPDX identifier of a licence, such as {', '.join(DATA_LICENSES)}.{hint} "
            "https://spdx.org/licenses/ lists all of them"
        )
    return found


def _doi(text: str) -> str:
    found = re.sub(r"^(https?://(dx\.)?doi\.org/|doi:\s*)", "", text.strip(), flags=re.IGNORECASE)
    if not _DOI.fullmatch(found):
        raise ValueError("not a DOI: it begins with `10.`, as in 10.5281/zenodo.1234567")
    return found


def _orcid(text: str) -> str:
    found = re.sub(r"^https?://orcid\.org/", "", text.strip())
    if not _ORCID.fullmatch(found):
        raise ValueError("not an ORCID iD: four groups of four digits, as in 0000-0002-1825-0097")
    if found[-1] != (expected := check_digit(found)):
        raise ValueError(f"not an ORCID iD: its last character would be {expected}. Is a digit wrong or left out?")
    return found


def check_digit(orcid: str) -> str:
    """The last character of an ORCID iD, computed from the others by ISO 7064 MOD 11-2."""
    total = 0
    for digit in orcid.replace("-", "")[:15]:
        total = (total + int(digit)) * 2
    rest = (12 - total % 11) % 11
    return "X" if rest == 10 else str(rest)


def _web_address(text: str) -> str:
    if not re.fullmatch(r"https?://\S+", text):
        raise ValueError("not a web address, which begins with https://")
    return text


License = Annotated[str, AfterValidator(_license)]
Doi = Annotated[str, AfterValidator(_doi)]
Orcid = Annotated[str, AfterValidator(_orcid)]
WebAddress = Annotated[str, AfterValidator(_web_address)]
Text = Annotated[str, Field(min_length=1)]


class Author(StrictModel):
    """An author of the dataset: a person with `family_names`, or an organisation with `name`."""

    family_names: str = ""
    """The family names of a person."""
    given_names: str = ""
    """The given names of a person."""
    name: str = ""
    """The name of an organisation, or of a person with a single name."""
    orcid: Orcid | None = None
    """The ORCID iD; its check digit is verified."""
    affiliation: str = ""
    """The institution."""

    @model_validator(mode="after")
    def _one_name(self) -> Self:
        if bool(self.name) == bool(self.family_names):
            raise ValueError("needs either `family_names` (a person) or `name` (an organisation)")
        if self.name and self.given_names:
            raise ValueError("has `given_names`, which go with `family_names`")
        return self

    @property
    def last_first(self) -> str:
        """The name as lists of references have it: `Lovelace, Ada`."""
        return self.name or ", ".join(filter(None, (self.family_names, self.given_names)))


class Grant(StrictModel):
    """A source of funding."""

    funder: Text
    """The name of the funder."""
    award: str = ""
    """The number of the grant."""


class DatasetInfo(StrictModel):
    """Publication metadata of the study's data. All keys are optional: what is not given is called unknown, and never
    guessed. They are not part of the study's version, so they can be changed after the data have been collected
    (`parley metadata`)."""

    title: Text | None = None
    """The title of the dataset. The study's title by default."""
    description: Text | None = None
    """A description of the dataset, in a few sentences. It precedes the description that Parley makes."""
    authors: tuple[Author, ...] = ()
    """The authors of the dataset, in order. `CITATION.cff` and `.zenodo.json` are written if there are any."""
    license: License | None = None
    """The licence under which the data are published, by its SPDX identifier, such as `CC-BY-4.0`."""
    citation: Text | None = None
    """The citation of the data. Made from authors, year, title, version and DOI by default."""
    doi: Doi | None = None
    """The DOI of the dataset, such as `10.5281/zenodo.1234567`."""
    url: WebAddress | None = None
    """The web address at which the data are published."""
    version: Text | None = None
    """The version of the published data, such as `1.0.0`; not that of the study."""
    date_published: date | None = None
    """The day of publication, such as `2026-11-26`."""
    keywords: tuple[Text, ...] = ()
    """Keywords, for search engines and the Hugging Face Hub."""
    funding: tuple[Grant, ...] = ()
    """The grants that funded the work."""
    ethics_approval: Text | None = None
    """The ethics board that approved the study and the number of its approval, or why none was needed."""
    participants: Text | None = None
    """The people who took part or rated, and their recruitment and selection."""
    pay: Text | None = None
    """The payment of participants."""
    consent: Text | None = None
    """The consent of participants, especially to the publication of their data."""
    personal_information: tuple[Text, ...] = ()
    """The personal or sensitive information in the data, such as age or ethnicity."""
    limitations: tuple[Text, ...] = ()
    """Known limitations of the data, and uses that are not recommended."""
    biases: tuple[Text, ...] = ()
    """Known biases of the data."""
    use_cases: tuple[Text, ...] = ()
    """The uses that the data are meant for."""
    social_impact: Text | None = None
    """The expected impact of publishing the data."""
    maintenance: Text | None = None
    """The maintainers of the published data, and their way of publishing corrections."""

    def cited_as(self, title: str) -> str | None:
        """The citation, or else one in the form that DataCite recommends; None if the authors are not known."""
        if self.citation or not self.authors:
            return self.citation
        authors = "; ".join(author.last_first for author in self.authors)
        year = f" ({self.date_published.year})" if self.date_published else ""
        version = f" (Version {self.version})" if self.version else ""
        at = f" {self.link}" if self.link else ""
        return f"{authors}{year}. {title}{version} [Data set].{at}"

    @property
    def link(self) -> str | None:
        return f"https://doi.org/{self.doi}" if self.doi else self.url
