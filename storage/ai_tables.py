"""The tables of what is asked of models alone: every reply, the cells that plans ask for, and the answers in them.

A reply is there once under (cell, sample, step): that is at once the lock, the resume and the cache. Triggers refuse
to change or delete one that brought something, unless it was about somebody who withdrew. They stand here and not in
`storage.alone`, which needs an open database, as every opened database needs them.
"""

from __future__ import annotations

from sqlalchemy import DDL, JSON, BigInteger, Column, Float, Index, Integer, String, Table, Text, event

from storage.tables import metadata

SETTLED = ("refusal", "content_filter")
"""Reasons that are outcomes of their own: the model was asked, and this is what it did. They are not asked again."""

replies = Table(
    "ai_reply",
    metadata,
    Column("cell", String(64), primary_key=True),
    Column("sample", Integer, primary_key=True, autoincrement=False),
    Column("step", Integer, primary_key=True, autoincrement=False),
    Column("run", String(36), nullable=False),
    Column("reason", Text),
    Column("model", Text, nullable=False),
    Column("backend", Text, nullable=False),
    Column("server", Text),
    Column("finish_reason", Text),
    Column("version", Text),
    Column("prompt_tokens", Integer),
    Column("completion_tokens", Integer),
    Column("cost", Float),
    Column("started_us", BigInteger, nullable=False),
    Column("total_us", BigInteger, nullable=False),
    Column("tries", Integer, nullable=False),
    Column("text", Text),
    Column("cause", Text),
    Column("request", Text, nullable=False),
    Column("raw", Text, nullable=False),
    Index("ix_ai_reply_run", "run", "model", "reason", "cost"),
)
"""What came of each call: `request` as it was sent and `raw` as it came, `reason` and `cause` where it brought nothing.

What is long comes last, so that SQLite reads the rest of a row without it."""

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

_KEPT = f"OLD.reason IS NULL OR OLD.reason IN {SETTLED}"
_STAYS = "SELECT 1 FROM ai_cell JOIN erasure ON erasure.stream = ai_cell.stream WHERE ai_cell.cell = OLD.cell"
_SQLITE = (
    f"CREATE TRIGGER IF NOT EXISTS ai_reply_is_kept_update BEFORE UPDATE ON ai_reply WHEN {_KEPT} "
    "BEGIN SELECT RAISE(ABORT, 'a reply is never changed'); END",
    f"CREATE TRIGGER IF NOT EXISTS ai_reply_is_kept_delete BEFORE DELETE ON ai_reply "
    f"WHEN ({_KEPT}) AND NOT EXISTS ({_STAYS}) "
    "BEGIN SELECT RAISE(ABORT, 'a reply is deleted only by an erasure'); END",
)
_POSTGRESQL = (
    "CREATE OR REPLACE FUNCTION ai_reply_is_kept() RETURNS trigger AS $$ BEGIN "
    f"IF {_KEPT} THEN "
    "IF TG_OP = 'UPDATE' THEN RAISE EXCEPTION 'a reply is never changed'; END IF; "
    f"IF NOT EXISTS ({_STAYS}) THEN RAISE EXCEPTION 'a reply is deleted only by an erasure'; END IF; "
    "END IF; IF TG_OP = 'UPDATE' THEN RETURN NEW; END IF; RETURN OLD; END $$ LANGUAGE plpgsql",
    "CREATE OR REPLACE TRIGGER ai_reply_is_kept BEFORE UPDATE OR DELETE ON ai_reply "
    "FOR EACH ROW EXECUTE FUNCTION ai_reply_is_kept()",
)
for _statement in _SQLITE:
    event.listen(metadata, "after_create", DDL(_statement).execute_if(dialect="sqlite"))  # type: ignore[no-untyped-call]
for _statement in _POSTGRESQL:
    event.listen(metadata, "after_create", DDL(_statement).execute_if(dialect="postgresql"))  # type: ignore[no-untyped-call]
