"""The command for who translates a study, and what `parley check` says of its languages."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.markup import escape

from app.cli.common import app, err, out
from app.i18n.catalogues import catalogue, catalogues, spoken
from app.studies.loader import load_study
from app.studies.translations import missing
from experiments.errors import Fault, StudyError, allowed
from experiments.study.resolve import Study
from experiments.views.translatable_texts import strays
from storage.yaml_text import yaml_text

FIRST = 3
"""How many texts `parley check` names of those that are missing."""
SHOWN_CHARS = 60
WIDTH = 10_000
"""So that no text is wrapped which is not wrapped in the study."""


@app.command(name="translations")
def texts(
    study: Annotated[str, typer.Argument(metavar="STUDY", help="A study file, or the name of one of Parley's own.")],
    language: Annotated[str, typer.Option("--language", "-l", help="The language to translate into: de, ar, ...")],
) -> None:
    """Print the texts of a study that have no translation yet, as a YAML file to be filled in."""
    if not spoken(language):
        raise StudyError(
            study, [Fault("--language", f"Parley has no words in {language!r}{allowed(language, catalogues())}")]
        )
    wanted = missing(load_study(study), language)
    if wanted:
        print(yaml_text(dict.fromkeys(wanted, ""), WIDTH), end="")
    err.print(
        f"{len(wanted)} texts of {escape(study)} have no translation into {language} ({catalogue(language).name})."
    )


def tell_languages(study: Study, reference: str) -> None:
    """What is not translated into a language that the study offers, and what is translated in vain."""
    for tag in study.file.offered:
        lacking, vain = missing(study, tag), strays(study, tag)
        if lacking:
            out.print(
                f"[yellow]{tag}: {_count(lacking)} of the study without a translation: {_first(lacking)}. "
                f"List them all: parley translations {escape(reference)} --language {tag}[/yellow]"
            )
        if vain:
            out.print(f"[yellow]{tag}: translates {_count(vain)} that the study does not have: {_first(vain)}[/yellow]")


def _count(some: tuple[str, ...]) -> str:
    return "1 text" if len(some) == 1 else f"{len(some)} texts"


def _first(some: tuple[str, ...]) -> str:
    cut = [text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS].rstrip()}…" for text in some[:FIRST]]
    more = ", ..." if len(some) > FIRST else ""
    return escape(", ".join(f"“{' '.join(text.split())}”" for text in cut) + more)
