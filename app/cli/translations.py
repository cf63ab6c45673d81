"""The command for translators, and what `parley check` prints about a study's languages."""

from __future__ import annotations

from shlex import quote
from typing import Annotated

import typer
from rich.markup import escape

from app.cli.commands import command
from app.cli.common import StudyFile, err, out
from app.i18n.catalogues import catalogue, catalogues, is_supported
from app.studies.loader import load_study
from app.studies.translations import missing_translations
from experiments.errors import StudyError, ValidationIssue, suggestion
from experiments.study.study import Study
from experiments.views.translatable_texts import unused_translations
from storage.yaml_text import yaml_text

FIRST = 3
"""How many missing texts `parley check` names."""
SHOWN_CHARS = 60
WIDTH = 10_000
"""Wide enough that no text is wrapped that the study does not wrap."""


@command("translations")
def texts(
    study: StudyFile,
    language: Annotated[
        str, typer.Option("--language", "-l", metavar="LANGUAGE", help="The language to translate into, such as `de`.")
    ],
) -> None:
    """Prints a YAML file to fill in."""
    if not is_supported(language):
        raise StudyError(
            study,
            [
                ValidationIssue(
                    "--language",
                    f"Parley has no texts in the language {language!r}{suggestion(language, catalogues())}",
                )
            ],
        )
    wanted = missing_translations(load_study(study), language)
    if wanted:
        print(yaml_text(dict.fromkeys(wanted, ""), WIDTH), end="")
    err.print(
        f"{len(wanted)} texts of {escape(study)} have no translation into {language} ({catalogue(language).name})."
    )


def print_languages(study: Study, reference: str) -> None:
    """Print missing and unused translations for each language of the study."""
    for tag in study.file.offered:
        lacking, vain = missing_translations(study, tag), unused_translations(study, tag)
        if lacking:
            out.print(
                f"[yellow]{tag}: {_count(lacking)} of the study without a translation: {_first(lacking)}. "
                f"To list all: parley translations {escape(quote(reference))} --language {tag}[/yellow]"
            )
        if vain:
            out.print(f"[yellow]{tag}: translates {_count(vain)} that the study does not have: {_first(vain)}[/yellow]")


def _count(some: tuple[str, ...]) -> str:
    return "1 text" if len(some) == 1 else f"{len(some)} texts"


def _first(some: tuple[str, ...]) -> str:
    cut = [text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS].rstrip()}…" for text in some[:FIRST]]
    more = ", ..." if len(some) > FIRST else ""
    return escape(", ".join(f"“{' '.join(text.split())}”" for text in cut) + more)
