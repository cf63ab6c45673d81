"""`README.md`: the dataset card, for whoever comes upon the folder and knows nothing of Parley.

It says what is known and lists what is not; it never fills a gap.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from experiments.study.model_spec import ModelSpec
from storage.datasets.describe.croissant import record_set
from storage.datasets.describe.markdown import bullets, code, count, join, table
from storage.datasets.describe.study_documents import file_name
from storage.datasets.describe.summary_text import is_imported, published, summary, title
from storage.datasets.manifest import ExportedFile, ExportManifest, SessionSelection
from storage.db.checksums import NAME
from storage.registers.origins import Origin
from storage.yaml_text import yaml_text


def describe_selection(exported: ExportManifest) -> str:
    """What was asked of sessions, and how many each rule left out; empty where all of them are there."""
    selected = exported.selected
    if selected is None:
        return ""
    whole = [code(file.path) for file in exported.files if file.table.of_study]
    own = f" What belongs to the study itself is whole: {', '.join(whole)}." if whole else ""
    said = f"{selected.number:,} of {count(selected.of, 'session')} are here.{own}"
    return join("## Which sessions", said, _rules(selected), _left_out(selected), _excluded(selected))


def _rules(selected: SessionSelection) -> str:
    return join("What was asked of them:", bullets(selected.rules)) if selected.rules else ""


def _left_out(selected: SessionSelection) -> str:
    if not selected.left_out:
        return "Nobody is left out."
    rows = ((why, f"{number:,}") for why, number in selected.left_out)
    return join(
        "Left out, each session once, by the first of these that holds for it:", table(("why", "sessions"), rows)
    )


def _excluded(selected: SessionSelection) -> str:
    """Researchers' own words, as they stand in the log."""
    if not selected.excluded:
        return ""
    said = "Researchers excluded these, in their own words; "
    said += "they are among the data all the same:" if selected.with_excluded else "they are not among the data:"
    return join(said, table(("reason", "sessions"), ((code(why), f"{number:,}") for why, number in selected.excluded)))


WARNINGS: Mapping[str, str] = {
    Origin.BOT: "> **SIMULATED DATA. No person took part in this study.** Do not report it as what people did.",
    Origin.PILOT: "> **PILOT DATA. The study was only tried out.** Do not report it as the study's.",
}
SAFE = (
    "**This is the variant for spreadsheets, not the exact data.** Text that a spreadsheet would run as a formula "
    "begins with an apostrophe here, and each csv with the mark by which Excel knows UTF-8. For analyses, export "
    "without `--safe-for-spreadsheets`."
)


def dataset_card(exported: ExportManifest) -> str:
    """The card as Markdown, with what programs read of it at the top."""
    return join(
        f"---\n{yaml_text(_front(exported))}---",
        f"# {title(exported)}",
        WARNINGS.get(exported.origin, ""),
        summary(exported),
        SAFE if exported.safe else "",
        _users(exported),
        _files(exported),
        describe_selection(exported),
        _filtered(exported),
        _studies(exported),
        _sources(exported),
        _reading(exported),
        _formulas(exported),
        _checking(),
        _citing(exported),
        _unknown(exported),
    )


def _front(exported: ExportManifest) -> dict[str, Any]:
    """What Hugging Face reads of a card, as far as it is known."""
    languages = list(dict.fromkeys(tag for study in exported.studies for tag in study.file.offered))
    licence = published(exported).get("license", "").lower().replace(" ", "-")
    front = {"pretty_name": title(exported), "language": languages, "license": licence}
    configs = [{"config_name": _config(file), "data_files": file.path} for file in exported.files]
    return {key: value for key, value in front.items() if value} | {"configs": configs}


def _users(exported: ExportManifest) -> str:
    """Who played the simulated sessions. What a kind of user leaves to chance says nothing of anybody."""
    if not exported.users:
        return ""
    rows = ((code(who), f"{number:,}") for who, number in exported.users)
    said = "All simulated sessions of the study, by the kind of user that played them and the model that spoke for it:"
    chance = "What a kind of user does not say by its model (answers given alone, confidence) it does by chance."
    return join("## Who played", said, table(("user", "sessions"), rows), chance)


def _config(file: ExportedFile) -> str:
    return record_set(file.path).replace("/", "-")


def _files(exported: ExportManifest) -> str:
    rows = ((code(file.path), f"{file.rows:,}", str(len(file.columns))) for file in exported.files)
    beside = bullets(
        [
            "`codebook.md` and `codebook.json`: every column, its meaning and what people were asked",
            "`metadata.json`: the same for programs, in Croissant 1.0",
            *(
                f"{code(file_name(study, exported.studies))}: the study as it was, with its protocols and problems"
                for study in exported.studies
            ),
            f"{code(NAME)}: the checksum of every file",
        ]
    )
    return join("## Files", table(("file", "rows", "columns"), rows), "Beside them:", beside)


def _filtered(exported: ExportManifest) -> str:
    if not exported.filtered:
        return ""
    files = ", ".join(code(file.path) for file in exported.files if file.table.filters)
    rows = ((kept.step, f"{kept.people:,}", f"{kept.answers:,}") for kept in exported.filtered)
    said = f"{files} is filtered; the other files hold everybody. What each step of the filter left:"
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
    changed = "The study was changed while it ran. " if len(exported.studies) > 1 else ""
    said = f"{changed}The hash covers all that could change a result; it is the SHA-256 of the file."
    return join("## The study", said, table(("title", "version", "hash", "file"), rows), _models(exported))


def _models(exported: ExportManifest) -> str:
    """The models under the names that the data know; what is not given was left to the server."""
    models = {(name, _settings(model)): None for study in exported.studies for name, model in study.file.models.items()}
    said = "Models, under their names in the data; their system prompts are in the study's file:"
    return join(said, bullets(f"{code(name)}: {settings}" for name, settings in models)) if models else ""


def _settings(model: ModelSpec) -> str:
    given = model.model_dump(exclude_none=True, exclude={"options", "system"})
    options = [f"{name} {code(str(value))}" for name, value in model.options.items()]
    return ", ".join([*(f"{name} {code(str(value))}" for name, value in given.items() if value != ""), *options])


def _sources(exported: ExportManifest) -> str:
    if not exported.sources:
        return ""
    rows = (
        (code("/".join(filter(None, (source["part"], source["file"])))), f"{source['rows']:,}", code(source["sha256"]))
        for source in exported.sources
    )
    said = "These files were read, and the rows of all of them are here."
    return join("## Where the data come from", said, table(("file", "rows", "SHA-256"), rows))


def _reading(exported: ExportManifest) -> str:
    lines = ["import json", "from pathlib import Path", "", "import mlcroissant", "import pandas as pd", ""]
    lines += [_line(file) for file in exported.files]
    if exported.files:
        lines.append(f'records = mlcroissant.Dataset("metadata.json").records("{record_set(exported.files[0].path)}")')
    why = (
        "Without `keep_default_na=False` pandas takes texts such as `None` and `NA` for nothing; so does mlcroissant, "
        "which has no such switch, and reads digits as numbers."
    )
    return join("## Reading them", "```python\n" + "\n".join(lines) + "\n```", why)


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
    return join("## Checking them", f"    sha256sum -c {NAME}", "On macOS: `shasum -a 256 -c " + NAME + "`.")


def _citing(exported: ExportManifest) -> str:
    schema, known = exported.schema, published(exported)
    if "citeAs" in known:
        at = f" <{known['url']}>" if "url" in known else ""
        return join("## Citing them", f"{known['citeAs']}{at}")
    said = f"The names and columns of the files are those of {schema.title}: {schema.source} The data are not theirs."
    return join("## Citing them", said)


def _unknown(exported: ExportManifest) -> str:
    return join("## What is not known", bullets(_gaps(exported)))


def _gaps(exported: ExportManifest) -> Iterator[str]:
    if is_imported(exported):
        yield "Whether the files are the published ones: compare their checksums with the publisher's."
        yield "The wording that people saw: published files do not come with their study."
        if "license" not in published(exported):
            yield "The licence."
    else:
        yield (
            "The licence, the authors and how to cite the data: whoever publishes them has to say so, here and in "
            "`metadata.json`."
        )
    yield "The date of publication."
