"""`codebook.md`: the codebook for people."""

from __future__ import annotations

from collections.abc import Sequence

from storage.datasets.describe.codebook import Codebook, Entry, Sheet
from storage.datasets.describe.markdown import bullets, code, count, join, quote, table
from storage.datasets.describe.question_wording import Place, Wording
from storage.datasets.describe.study_documents import HASH_CHARS

NOT_KNOWN = "The wording that people saw is not known: no study file is part of these data."
NOT_ASKED = "No version of the study has a question for this column."
FILLED = (
    "Wordings stand as in the study file. `{{names}}` in them were replaced for each participant: `{{problem.text}}` "
    "by the problem on the screen, `{{number}}` by the number of the turn, `{{count}}` by how many there were."
)
BLANK = "A blank cell of a csv and a `null` in JSON mean that the value is unknown."


def page(book: Codebook) -> str:
    """The codebook as Markdown."""
    known = all(entry.wording_known for sheet in book.files for entry in sheet.columns)
    contents = bullets(f"{code(sheet.path)}: {count(len(sheet.columns), 'column')}" for sheet in book.files)
    about = f"Every column of every file of the study {code(book.study)}, in the schema {code(book.schema)}. {BLANK}"
    sheets = (_sheet(sheet) for sheet in book.files)
    return join("# Codebook", about, FILLED if known else NOT_KNOWN, contents, *sheets)


def _sheet(sheet: Sheet) -> str:
    return join(f"## {code(sheet.path)}", f"{count(sheet.rows, 'row')}.", *map(_entry, sheet.columns))


def _entry(entry: Entry) -> str:
    facts = bullets(
        [
            f"Type: {entry.type}",
            f"Source: {entry.source}",
            f"May be blank: {'yes' if entry.may_be_blank else 'no'}",
            f"What may stand there: {entry.allowed}",
        ]
    )
    labelled = [(code(value), label) for value, label in entry.values.items() if label]
    values = table(("value", "meaning"), labelled) if labelled else ""
    name = code(entry.name) if entry.name else "(a column without a name)"
    return join(f"### {name}", entry.meaning, facts, values, _asked(entry))


def _asked(entry: Entry) -> str:
    if not entry.asked:
        return ""
    if not entry.wording_known:
        return NOT_KNOWN
    return join(*map(_wording, entry.wordings)) if entry.wordings else NOT_ASKED


def _wording(wording: Wording) -> str:
    """What stood on the screen, from the top down, set apart as a quotation; what is stored stands as code."""
    options = bullets(shown if stored == shown else f"{code(stored)}: {shown}" for stored, shown in wording.options)
    heading = f"**{wording.heading}**" if wording.heading else ""
    matrix = f"**{wording.table}**" if wording.table else ""
    own = "(the problem's own options)" if wording.own_options else ""
    seen = join(heading, wording.instructions, matrix, wording.question, wording.help, options, own)
    could = "" if wording.required else "; it could be left without an answer"
    return join(f"What people saw in {_places(wording.places)}{could}:", quote(seen.strip("\n")))


def _places(places: Sequence[Place]) -> str:
    versions = dict.fromkeys((place.version, place.hash) for place in places)
    return "; ".join(
        ", ".join(code(place.step) for place in places if place.hash == hash_)
        + f" of version {version} (hash {code(hash_[:HASH_CHARS])})"
        for version, hash_ in versions
    )
