"""What the screening for personal data found, and which columns were left out or rounded: sections of the card, and a
list of the rows. No value is repeated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from storage.datasets.describe.markdown import code, join, table
from storage.datasets.manifest import ExportManifest
from storage.datasets.writers import csv_text

MARKED = "personal_data.csv"
"""The list of rows, of an export that marks."""
HEADER = ("file", "row", "column", "kind", "count")
HOW: Mapping[str, str] = {
    "mark": f"The data are exact; `{MARKED}` lists the rows, counted from 1 without the header.",
    "mask": "Each is replaced by its kind in capitals and brackets, such as `[EMAIL]`; everything else is exact.",
}
LIMITS = (
    "Patterns and checksums find addresses of mail, profiles and computers, phone numbers, bank accounts, payment "
    "cards, recruiters' ids and dates of birth, and sometimes take another number for one. They find no names, places "
    "or circumstances: read the texts, or let a model look (`parley annotate`, annotator `personal_data`)."
)


def screening_section(exported: ExportManifest) -> str:
    """What was found, by file, column and kind; empty if nothing was screened."""
    if not exported.screening:
        return ""
    found = Counter[tuple[str, str, str]]()
    for one in exported.personal:
        found[one.path, one.column, one.kind] += one.number
    rows = ((code(path), code(column), kind, f"{number:,}") for (path, column, kind), number in found.items())
    said = table(("file", "column", "kind", "found"), rows) if found else "Nothing was found."
    how = HOW[exported.screening] if found else ""
    return join("## Personal data", "Free text was screened for personal data.", how, said, LIMITS)


def disclosure_section(exported: ExportManifest) -> str:
    """The columns that were left out or rounded; empty if there are none."""
    if not exported.without and not exported.rounded:
        return ""
    out = f"Columns that were left out: {', '.join(map(code, exported.without))}." if exported.without else ""
    widths = (f"{code(name)} to a multiple of {width}" for name, width in exported.rounded)
    rounded = f"Numbers that were rounded down: {', '.join(widths)}." if exported.rounded else ""
    return join("## Disclosure control", "So that nobody can be singled out, these data are less exact.", out, rounded)


def marked_rows(exported: ExportManifest) -> Mapping[str, bytes]:
    """The file with the rows in which something was found, by its name; none unless the export marks."""
    if exported.screening != "mark":
        return {}
    rows = ((one.path, one.row, one.column, one.kind, one.number) for one in exported.personal)
    return {MARKED: csv_text(HEADER, rows).encode()}
