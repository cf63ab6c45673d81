"""The tables of what is asked of models alone, beside their replies (`attempt`): the cells that plans ask for, and the
answers in their replies. They stand here and not in `storage.ai_alone`, which needs an open database, as every opened
database needs them.
"""

from __future__ import annotations

from sqlalchemy import JSON, Column, Index, Integer, String, Table, Text

from storage.tables import metadata

cells = Table(
    "ai_cell",
    metadata,
    Column("study", String(60), primary_key=True),
    Column("cell", String(64), primary_key=True),
    Column("kind", String(16), nullable=False),
    Column("name", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("dataset", Text),
    Column("problem", Text),
    Column("stream", String(36)),
    Column("path", Text),
    Column("position", Integer, nullable=False),
    Column("samples", Integer, nullable=False),
    Column("data", JSON, nullable=False),
    Index("ix_ai_cell_cell", "cell"),
    Index("ix_ai_cell_stream", "stream"),
)
"""What a study's plans ask for: of `kind` alone (a problem by a method) or annotation (a conversation, by stream and
path, by an annotator), with what scoring needs in `data`."""

answers = Table(
    "ai_answer",
    metadata,
    Column("study", String(60), primary_key=True),
    Column("cell", String(64), primary_key=True),
    Column("sample", Integer, primary_key=True, autoincrement=False),
    Column("outcome", String(16), nullable=False),
    Column("answer", Text),
    Column("right", Integer),
    Index("ix_ai_answer_cell", "cell"),
)
"""What scoring made of each sample: a projection of the replies."""
