"""`README.md`: the dataset card, for readers who do not know Parley.

It states what is known and lists what is not known; nothing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from experiments.study.sections.dataset_info import Author
from experiments.study.sections.model_spec import ModelSpec
from storage.datasets.describe.croissant import record_set
from storage.datasets.describe.huggingface import header
from storage.datasets.describe.markdown import bullets, code, count, join, table
from storage.datasets.describe.model_work import model_sections
from storage.datasets.describe.pictures import FOLDER, TABLE
from storage.datasets.describe.publication import (
    STATED,
    UNKNOWN,
    citation,
    is_imported,
    is_release,
    is_simulated,
    license_url,
    original_origins,
    publication,
    title,
)
from storage.datasets.describe.responsible_ai import collection_facts
from storage.datasets.describe.screening_report import MARKED, disclosure_section, screening_section
from storage.datasets.describe.study_documents import file_name
from storage.datasets.describe.summary_text import summary
from storage.datasets.describe.tidy_documents import R_LINE, tidy_files
from storage.datasets.manifest import ExportedFile, ExportManifest, SessionSelection
from storage.datasets.tidy import columns as tidy
from storage.db.checksums import NAME
from storage.registers.origins import Origin
from storage.yaml_text import yaml_text


def describe_selection(exported: ExportManifest) -> str:
    """The rules that selected the sessions, and how many sessions each rule left out; empty if all are included."""
    selected = exported.selected
    if selected is None:
        return ""
    whole = [code(file.path) for file in exported.files if file.table.of_study]
    own = f" These files belong to the study as a whole and are complete: {', '.join(whole)}." if whole else ""
    said = f"{selected.number:,} of {count(selected.of, 'session')} are included.{own}"
    return join("## Which sessions", said, _rules(selected), _left_out(selected), _excluded(selected))


def _rules(selected: SessionSelection) -> str:
    return join("Sessions were selected by these rules:", bullets(selected.rules)) if selected.rules else ""


def _left_out(selected: SessionSelection) -> str:
    if not selected.left_out:
        return "No session is left out."
    rows = ((why, f"{number:,}") for why, number in selected.left_out)
    return join(
        "Sessions that are left out. Each is counted once, under the first reason that applies:",
        table(("reason", "sessions"), rows),
    )


def _excluded(selected: SessionSelection) -> str:
    """The sessions that researchers excluded, with the reasons as recorded in the log."""
    if not selected.excluded:
        return ""
    said = "Researchers excluded these sessions, for the reasons that they gave. "
    said += "The data include them nevertheless:" if selected.with_excluded else "The data do not include them:"
    return join(said, table(("reason", "sessions"), ((code(why), f"{number:,}") for why, number in selected.excluded)))


WARNINGS: Mapping[str, str] = {
    Origin.BOT: "> **SIMULATED DATA. No person took part in this study.** Do not report it as human behaviour.",
    Origin.REHEARSAL: "> **REHEARSAL. No person took part.** Do not report it as data.",
    Origin.PILOT: "> **PILOT DATA. These data are from a trial run.** Do not report them as results of the study.",
}
SAFE = (
    "**This is the variant for spreadsheets, not the exact data.** Text that a spreadsheet would run as a formula "
    "has an apostrophe in front, and each csv begins with a byte order mark, by which Excel recognises UTF-8. For "
    "analyses, export without `--safe-for-spreadsheets`."
)


def dataset_card(exported: ExportManifest) -> str:
    """The card as Markdown, with machine-readable metadata at the top."""
    return join(
        f"---\n{yaml_text(header(exported), anchors=True)}---",
        f"# {title(exported)}",
        *(WARNINGS.get(origin, "") for origin in original_origins(exported)),
        summary(exported),
        SAFE if exported.safe else "",
        _publication(exported),
        _collection(exported),
        _users(exported),
        model_sections(exported),
        _files(exported),
        describe_selection(exported),
        _filtered(exported),
        _studies(exported),
        _sources(exported),
        _reading(exported),
        screening_section(exported),
        disclosure_section(exported),
        _formulas(exported),
        _checking(),
        _use(exported),
        _citing(exported),
        _unknown(exported),
    )


def _users(exported: ExportManifest) -> str:
    """The simulated users that played the sessions."""
    if not exported.users:
        return ""
    rows = ((code(who), f"{number:,}") for who, number in exported.users)
    said = "All simulated sessions of the study, by kind of simulated user and the model that it used:"
    chance = "Whatever a simulated user does not take from its model (answers given alone, confidence) is random."
    return join("## Simulated users", said, table(("user", "sessions"), rows), chance)


def _files(exported: ExportManifest) -> str:
    rows = ((code(file.path), f"{file.rows:,}", str(len(file.columns))) for file in exported.files)
    cited = "`CITATION.cff` and `.zenodo.json`: how to cite and deposit the data"
    beside = [
        "`codebook.md` and `codebook.json`: every column, its meaning and the question that was asked",
        "`metadata.json`: a machine-readable description of the files and columns, in Croissant 1.0",
        *(
            f"{code(file_name(study, exported.studies))}: the study as it ran, with its protocols and problems"
            for study in exported.studies
        ),
        *(_pictures() if exported.pictures else []),
        *([cited] if publication(exported).authors else []),
        *(f"{code(name)}: {about}" for name, about in tidy_files(exported).items()),
        *([f"{code(MARKED)}: where personal data were found"] if exported.screening == "mark" else []),
        f"{code(NAME)}: the checksum of every file except those that may be edited, which are this card and the files "
        "for citing and depositing",
    ]
    return join(
        "## Files", table(("file", "rows", "columns"), rows), _copies(exported), "Other files:", bullets(beside)
    )


def _pictures() -> list[str]:
    return [
        f"{code(FOLDER + '/')}: the pictures that participants saw, each named by its SHA-256",
        f"{code(TABLE)}: for each picture its name in the texts of a version of the study, the alternative text that "
        "models and screen readers were given, its file, type, width and height in pixels, and checksum",
    ]


COPIES: Mapping[str, str] = {
    "jsonl": "JSON Lines, for Hugging Face's `datasets`, which reads all configs of a folder in one format",
    "parquet": "Apache Parquet, with the types of the columns",
    "sav": "SPSS, with labels of variables and values",
    "dta": "Stata 14 and later, with labels of variables and values; the codebook lists names that had to be changed",
}


def _copies(exported: ExportManifest) -> str:
    """The copies, by format."""
    copies = [(copy.format, copy.path) for file in exported.files for copy in file.copies]
    lines = (
        f"{', '.join(code(path) for name, path in copies if name == format_)}: {about}"
        for format_, about in COPIES.items()
        if any(name == format_ for name, _ in copies)
    )
    return join("Copies of these files in other formats:", bullets(lines)) if copies else ""


def _filtered(exported: ExportManifest) -> str:
    if not exported.filtered:
        return ""
    files = ", ".join(code(file.path) for file in exported.files if file.table.filters)
    rows = ((kept.step, f"{kept.people:,}", f"{kept.answers:,}") for kept in exported.filtered)
    said = f"{files} is filtered; the other files hold all participants. What remains after each step of the filter:"
    return join("## The filter", said, table(("step", "people", "answers"), rows))


def _studies(exported: ExportManifest) -> str:
    if not exported.studies:
        return ""
    rows = (
        (
            study.file.title,
            str(study.file.version),
            code(study.hash),
            code(file_name(study, exported.studies)),
        )
        for study in exported.studies
    )
    changed = "The study was changed while it was running. " if len(exported.studies) > 1 else ""
    said = f"{changed}The hash is the SHA-256 of the study file, which holds everything that could change a result."
    return join("## The study", said, table(("title", "version", "hash", "file"), rows), _models(exported))


def _models(exported: ExportManifest) -> str:
    """The models, by their names in the data. Settings that are not listed were left to the model server."""
    models = {(name, _settings(model)): None for study in exported.studies for name, model in study.file.models.items()}
    said = "Models, by their names in the data; their system prompts are in the study file:"
    return join(said, bullets(f"{code(name)}: {settings}" for name, settings in models)) if models else ""


def _settings(model: ModelSpec) -> str:
    given = model.model_dump(exclude_none=True, exclude={"options", "system"})
    options = [f"{name} {code(str(value))}" for name, value in model.options.items()]
    return ", ".join([*(f"{name} {code(str(value))}" for name, value in given.items() if value != ""), *options])


def _sources(exported: ExportManifest) -> str:
    if not exported.sources:
        return ""
    known = exported.schema.sha256
    rows = (
        (
            code("/".join(filter(None, (source["part"], source["file"])))),
            f"{source['rows']:,}",
            code(source["sha256"]),
            "yes" if source["sha256"] in known else "not known",
        )
        for source in exported.sources
    )
    said = "The data were imported from these files. All of their rows are included."
    return join("## Where the data come from", said, table(("file", "rows", "SHA-256", "the released file"), rows))


def _reading(exported: ExportManifest) -> str:
    lines = ["import json", "from pathlib import Path", "", "import mlcroissant", "import pandas as pd", ""]
    lines += [_line(file) for file in exported.files]
    if exported.files:
        lines.append(f'records = mlcroissant.Dataset("metadata.json").records("{record_set(exported.files[0].path)}")')
    why = (
        "Without `keep_default_na=False`, pandas reads texts such as `None` and `NA` as missing values. mlcroissant "
        "does so too and has no option against it; it also reads digits as numbers."
    )
    in_r = f"```r\n{R_LINE}\n```" if exported.schema.name == tidy.NAME else ""
    return join("## Reading the files", "```python\n" + "\n".join(lines) + "\n```", why, in_r)


def _line(file: ExportedFile) -> str:
    name = re.sub(r"\W", "_", record_set(file.path))
    if file.path.endswith(".json"):
        return f'{name} = json.loads(Path("{file.path}").read_text(encoding="utf-8"))'
    if file.path.endswith(".jsonl"):
        return f'{name} = pd.read_json("{file.path}", lines=True)'
    return f'{name} = pd.read_csv("{file.path}", keep_default_na=False, na_values=[""])'


def _formulas(exported: ExportManifest) -> str:
    found = [(file.path, name, number) for file in exported.files for name, number in file.formulas.items() if number]
    if not found:
        return ""
    rows = ((code(path), _column(name), f"{number:,}") for path, name, number in found)
    said = (
        "These cells begin with a sign that makes a spreadsheet run them as a formula. "
        + (
            "They are escaped with an apostrophe."
            if exported.safe
            else "They are exact here: do not open the files in "
        )
        + ("" if exported.safe else "a spreadsheet; export them with `--safe-for-spreadsheets` for that.")
    )
    return join("## Cells that look like formulas", said, table(("file", "column", "cells"), rows))


def _column(name: str) -> str:
    return code(name) if name else "(without a name)"


def _checking() -> str:
    return join("## Checking the files", f"    sha256sum -c {NAME}", "On macOS: `shasum -a 256 -c " + NAME + "`.")


def _publication(exported: ExportManifest) -> str:
    """Who published the data, and how."""
    info = publication(exported)
    facts = {
        "Authors": "; ".join(map(_author, info.authors)),
        "Licence": f"{info.license} ({license_url(info)})" if info.license != license_url(info) else info.license,
        "Version": info.version,
        "Published": info.date_published.isoformat() if info.date_published else "",
        "DOI": f"https://doi.org/{info.doi}" if info.doi else "",
        "Address": info.url,
        "Funding": "; ".join(", ".join(filter(None, (grant.funder, grant.award))) for grant in info.funding),
    }
    rows = [f"**{name}:** {text}" for name, text in facts.items() if text]
    return join("## Publication", bullets(rows)) if rows else ""


def _author(author: Author) -> str:
    orcid = f"https://orcid.org/{author.orcid}" if author.orcid else ""
    more = ", ".join(filter(None, (author.affiliation, orcid)))
    return f"{author.last_first} ({more})" if more else author.last_first


def _collection(exported: ExportManifest) -> str:
    rows = [f"**{name}:** {text}" for name, text in collection_facts(exported).items()]
    return join("## How the data were collected", bullets(rows)) if rows else ""


def _use(exported: ExportManifest) -> str:
    """The uses that the data are meant for, and their limits, in their authors' words."""
    info = publication(exported)
    parts = {
        "Intended uses": info.use_cases,
        "Limitations": info.limitations,
        "Biases": info.biases,
        "Personal and sensitive information": info.personal_information,
        "Social impact": filter(None, (info.social_impact,)),
        "Maintenance": filter(None, (info.maintenance,)),
    }
    rows = [f"**{name}:** {' '.join(texts)}" for name, texts in ((n, tuple(t)) for n, t in parts.items()) if texts]
    return join("## Using the data", bullets(rows)) if rows else ""


def _citing(exported: ExportManifest) -> str:
    schema, said = exported.schema, citation(exported)
    at = publication(exported).link
    known = f"{said} <{at}>" if said and at and at not in said else said or ""
    form = f"The names and columns of the files are those of {schema.title}: {schema.source} {_authorship(exported)}"
    of_schema = form.strip() if schema.source and not is_release(exported) else ""
    return join("## Citing the data", known, of_schema) if known or of_schema else ""


def _authorship(exported: ExportManifest) -> str:
    """Whether the data are those of the authors of their schema; empty if the importer states the source."""
    match original_origins(exported):
        case origins if UNKNOWN in origins:
            return "Whether those authors produced the data is not known."
        case origins if STATED in origins:
            return ""
        case _:
            return "Those authors did not produce the data."


def _unknown(exported: ExportManifest) -> str:
    gaps = tuple(_gaps(exported))
    add = f"To add what you know: `parley metadata {exported.study} FILE`, then export again; or edit this card."
    return join("## What is not known", bullets(gaps), add) if gaps else ""


GAPS: Mapping[str, tuple[str, ...]] = {
    "The licence.": ("license",),
    "The authors.": ("authors",),
    "The citation.": ("citation", "authors"),
    "The date of publication.": ("date_published",),
}
"""What readers look for, with the metadata of which one has to be given."""
PEOPLE_GAPS: Mapping[str, str] = {
    "participants": "Who took part, and how they were selected.",
    "pay": "What participants were paid.",
    "ethics_approval": "Whether an ethics board approved the study.",
}
"""What is asked about participants in addition, for data that were not simulated."""


def _gaps(exported: ExportManifest) -> Iterator[str]:
    info = publication(exported)
    if is_imported(exported):
        if not is_release(exported):
            yield "Whether the files are the released ones: their checksums are not among those that Parley knows."
        yield "The wording that participants saw: the imported files do not include their study."
    yield from (gap for gap, keys in GAPS.items() if not any(getattr(info, key) for key in keys))
    if not is_simulated(exported):
        yield from (gap for key, gap in PEOPLE_GAPS.items() if not getattr(info, key))
