"""Hostile texts outside a browser: on a terminal, in a log, and in a csv."""

from __future__ import annotations

import csv
import io
import json
import re

import pandas as pd
import pyarrow.csv as pa_csv
from hypothesis import HealthCheck, Phase, given
from hypothesis import strategies as st
from rich.panel import Panel
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from app.cli.printing import out
from app.cli.safe_console import EscapingConsole
from storage import columns
from storage.columns import Column
from storage.datasets.writers import CsvWriter, JsonWriter, escaped, is_formula
from tests.fakes.examples import examples
from tests.fakes.hostile import ALL, LIGHT
from tests.fakes.released_rows import NASTY

COMMANDS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def test_a_terminal_shows_what_would_command_it() -> None:
    written = io.StringIO()
    console = EscapingConsole(file=written, width=200, color_system=None)
    table, tree = Table("told"), Tree("top")
    for one in LIGHT:
        table.add_row(Text(one.text))
        tree.add(Text(one.text))
        console.print(one.text, markup=False)
        console.log(Text(one.text))
    console.print(table, tree, Panel(Text("".join(one.text for one in LIGHT))))
    assert COMMANDS.findall(written.getvalue()) == []
    assert isinstance(out, EscapingConsole)


nasty = st.lists(st.sampled_from([*NASTY, *(one.text for one in ALL)]) | st.text(), min_size=1, max_size=3).map("".join)


@given(st.lists(nasty, min_size=200, max_size=200))
@examples(1, phases=(Phase.reuse, Phase.generate), suppress_health_check=list(HealthCheck))  # shrinking takes minutes
def test_whoever_reads_a_csv_or_a_json_file_reads_what_was_written(texts: list[str]) -> None:
    file = io.StringIO(newline="")
    writer = CsvWriter(file, ["number", "text"])
    for number, text in enumerate(texts):  # one by one, as rows without a quote are written in another way
        writer.rows([(str(number), text)])
    written = file.getvalue()
    assert [text for _, text in csv.reader(io.StringIO(written, newline=""))] == ["text", *texts]
    frame = pd.read_csv(io.BytesIO(written.encode()), dtype=str, keep_default_na=False)
    assert list(frame.text) == texts
    parsing = pa_csv.ParseOptions(newlines_in_values=True)
    as_texts = pa_csv.ConvertOptions(column_types={"text": "string"}, strings_can_be_null=False)
    table = pa_csv.read_csv(io.BytesIO(written.encode()), parse_options=parsing, convert_options=as_texts)
    assert table["text"].to_pylist() == texts
    whole = io.BytesIO()
    objects = JsonWriter(whole, [Column("text", columns.TextColumn(), "a text", "here")])
    objects.rows([(text,) for text in texts])
    objects.close()
    assert [row["text"] for row in json.loads(whole.getvalue())] == texts


def test_no_cell_for_a_spreadsheet_is_a_formula_or_another_text() -> None:
    cells = [one for one in ALL if one.kind == "cell" and not one.text.startswith(('"', "a"))]
    assert all(is_formula(one.text) for one in cells)
    assert not [one.name for one in ALL if is_formula(escaped(one.text))]
    assert [one.name for one in ALL if escaped(one.text).removeprefix("'") != one.text.removeprefix("'")] == []
