"""The tables: the log, what stands beside it, who may use the console, and the released schemas' tables.

The log is append-only: triggers refuse to change a fact, and to delete one unless its stream has a row in `erasure`,
which is both the permission and the tombstone that stays. docs/decisions/0001 says why. Only imported facts may lack
the time at which they happened.
"""

from __future__ import annotations

from sqlalchemy import (
    DDL,
    JSON,
    BigInteger,
    Boolean,
    Column,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    event,
    text,
)

from experiments.events import REMINDING

metadata = MetaData()
# Reasons that are outcomes of their own: the model was asked, and this is what it did. It is not asked again.
SETTLED = ("refusal", "content_filter")
FINISHED = text("kind = 'finished'")
BEGAN = text("kind = 'began'")
REMINDERS = text(f"kind IN {REMINDING}")
DUE = text("due_us IS NOT NULL")
EXCLUDED = text("excluded IS NOT NULL")
ENDED = text("outcome IS NOT NULL")
OF_SESSION, OF_SAMPLE = text("cell IS NULL"), text("cell IS NOT NULL")
OPEN = text("closed_us IS NULL")
BROUGHT = text(f"cell IS NOT NULL AND (reason IS NULL OR reason IN {SETTLED})")

events = Table(
    "event",
    metadata,
    Column("stream", String(36), primary_key=True),
    Column("seq", Integer, primary_key=True),
    Column("at_us", BigInteger),
    Column("recorded_us", BigInteger, nullable=False),
    Column("by", String(16), nullable=False),
    Column("path", Text, nullable=False),
    Column("kind", String(32), nullable=False),
    Column("data", JSON, nullable=False),
    Column("key", String(64)),
    UniqueConstraint("stream", "key", name="uq_event_stream_key"),
    Index("ix_event_finished", "stream", sqlite_where=FINISHED),
    Index("ix_event_began", "stream", sqlite_where=BEGAN),
    Index("ix_event_reminding", "stream", sqlite_where=REMINDERS),
)
# The columns that an Event is made of.
EVENT = (events.c.seq, events.c.at_us, events.c.by, events.c.path, events.c.kind, events.c.data, events.c.key)

studies = Table(
    "study",
    metadata,
    Column("hash", String(64), primary_key=True),
    Column("name", String(60), nullable=False),
    Column("version", Integer, nullable=False),
    Column("document", Text, nullable=False),
    Column("registered_us", BigInteger, nullable=False),
    Index("ix_study_name", "name"),
)

# The pictures in the texts of studies, each once. Which study has which is part of the study's document.
pictures = Table(
    "picture",
    metadata,
    Column("sha256", String(64), primary_key=True),
    Column("type", String(20), nullable=False),
    Column("content", LargeBinary, nullable=False),
)

# The pictures that participants attached to their messages; what is known of each is in the session's events.
session_pictures = Table(
    "session_picture",
    metadata,
    Column("stream", String(36), primary_key=True),
    Column("sha256", String(64), primary_key=True),
    Column("type", String(20), nullable=False),
    Column("content", LargeBinary, nullable=False),
    Index("ix_session_picture_sha256", "sha256"),
)

# Only in studies with waves: `wave`, and `person`, a random id that joins a person's sessions until one is withdrawn.
sessions = Table(
    "session",
    metadata,
    Column("stream", String(36), primary_key=True),
    Column("study", String(60), nullable=False),
    Column("hash", String(64), nullable=False),
    Column("origin", String(16), nullable=False),
    Column("ordinal", Integer, nullable=False),
    Column("person", String(32)),
    Column("wave", String(60)),
    UniqueConstraint("study", "ordinal", name="uq_session_study_ordinal"),
    Index("uq_session_person_wave", "person", "wave", unique=True),
)

# A row for each session: who counts in which cell, where they are, and what is odd about them. A projection of the log
# but for `released_us`, when a recruiter had somebody returned, and `pasted`, how often the page reported pasting. What
# is read of all sessions that have ended is in an index of theirs alone, which no click of others touches.
seats = Table(
    "seat",
    metadata,
    Column("stream", String(36), primary_key=True),
    Column("study", String(60), nullable=False),
    Column("origin", String(16), nullable=False),
    Column("cell", Text, nullable=False),
    Column("until_us", BigInteger, nullable=False),
    Column("outcome", String(32)),
    Column("released_us", BigInteger),
    Column("due_us", BigInteger),
    Column("begun_us", BigInteger, nullable=False, default=0),
    Column("last_us", BigInteger, nullable=False, default=0),
    Column("place", Text, nullable=False, default=""),
    Column("furthest", Text, nullable=False, default=""),
    Column("language", String(16), nullable=False, default=""),
    Column("flags", Text, nullable=False, default=""),
    Column("pasted", Integer, nullable=False, default=0),
    Column("excluded", Text),
    Column("placed", Boolean, nullable=False, default=True),
    Index("ix_seat_begun", "study", "origin", "begun_us"),
    Index("ix_seat_counts", "study", "origin", "outcome", "placed", "cell"),
    Index(
        "ix_seat_ended",
        *("study", "origin", "outcome", "cell", "place", "furthest", "flags"),
        *("last_us", "begun_us", "pasted", "excluded"),
        sqlite_where=ENDED,
    ),
    Index("ix_seat_due", "due_us", sqlite_where=DUE),
    Index("ix_seat_excluded", "study", "origin", "excluded", sqlite_where=EXCLUDED),
)

identities = Table(
    "participant_identity",
    metadata,
    Column("stream", String(36), primary_key=True),
    Column("study", String(60), nullable=False),
    Column("recruiter", String(32), nullable=False),
    Column("digest", String(64), nullable=False),
    Column("sealed", LargeBinary, nullable=False),
    UniqueConstraint("study", "digest", name="uq_identity_study_digest"),
)

# How often links were refused, and how often sessions started without the id of their link, by reason. No ids.
link_problems = Table(
    "link_problem",
    metadata,
    Column("study", String(60), primary_key=True),
    Column("reason", String(32), primary_key=True),
    Column("parameter", String(40), primary_key=True),
    Column("refused", Integer, nullable=False),
    Column("started", Integer, nullable=False),
    Column("last_us", BigInteger, nullable=False),
)

drafts = Table(
    "draft",
    metadata,
    Column("stream", String(36), primary_key=True),
    Column("path", Text, primary_key=True),
    Column("data", JSON, nullable=False),
    Column("at_us", BigInteger, nullable=False),
)

# Every attempt to get a reply: what was asked, what came back (or came before it failed), how long, at what cost.
# Beside the log, because a transcript holds only what was said. Of a session `turn` is its last fact when it was asked.
# Of a run of models alone `stream` is the run and `turn` counts its calls; an attempt asked for a step of a sample of a
# cell, and has in `sent` and `raw` what went over the wire. What came for it is there once, for whatever run: the
# unique index is at once the lock, the resume and the cache. Triggers refuse to change or delete an attempt, unless it
# is about somebody who withdrew.
attempts = Table(
    "attempt",
    metadata,
    Column("stream", String(36), primary_key=True),
    Column("turn", Integer, primary_key=True, autoincrement=False),
    Column("slot", String(16), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("study", String(60), nullable=False),
    Column("path", Text, nullable=False),
    Column("started_us", BigInteger, nullable=False),
    Column("model", Text, nullable=False),
    Column("backend", Text, nullable=False),
    Column("server", Text),
    Column("request", JSON, nullable=False),
    Column("text", Text, nullable=False),
    Column("finish_reason", Text),
    Column("version", Text),
    Column("prompt_tokens", Integer),
    Column("completion_tokens", Integer),
    Column("first_token_us", BigInteger),
    Column("total_us", BigInteger, nullable=False),
    Column("cost", Float),
    Column("reason", Text),
    Column("cause", Text),
    Column("cell", String(64)),
    Column("sample", Integer),
    Column("step", Integer),
    Column("sent", Text),
    Column("raw", Text),
    Column("reasoning", Text),
    Index(
        "ix_attempt_study_cost",
        *("study", "stream", "model", "cost", "reason"),
        sqlite_where=OF_SESSION,
    ),
    Index(
        "ix_attempt_recent",
        *("study", "started_us", "model", "first_token_us", "total_us", "reason"),
        sqlite_where=OF_SESSION,
    ),
    Index("ix_attempt_cell", "cell", "sample", "step", "reason", sqlite_where=OF_SAMPLE),
    Index("uq_attempt_reply", "cell", "sample", "step", unique=True, sqlite_where=BROUGHT),
)

# The attempts added up by hour, so that what a study has used is read in no time however many there are; the times of
# those that brought a reply.
usage = Table(
    "model_usage",
    metadata,
    Column("study", String(60), primary_key=True),
    Column("origin", String(16), primary_key=True),
    Column("model", Text, primary_key=True),
    Column("hour_us", BigInteger, primary_key=True, autoincrement=False),
    Column("calls", Integer, nullable=False),
    Column("failed", Integer, nullable=False),
    Column("unknown", Integer, nullable=False),
    Column("prompt_tokens", BigInteger, nullable=False),
    Column("completion_tokens", BigInteger, nullable=False),
    Column("cost", Float, nullable=False),
    Column("first_token_us", BigInteger, nullable=False),
    Column("total_us", BigInteger, nullable=False),
)

# Telemetry of pages, in times and counts; the first row of a batch has its key.
telemetry = Table(
    "telemetry",
    metadata,
    Column("stream", String(36), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("batch", String(32)),
    Column("path", Text, nullable=False),
    Column("at_us", BigInteger, nullable=False),
    Column("kind", String(16), nullable=False),
    Column("data", JSON, nullable=False),
    UniqueConstraint("stream", "batch", name="uq_telemetry_stream_batch"),
)

erasures = Table(
    "erasure",
    metadata,
    Column("stream", String(36), primary_key=True),
    Column("at_us", BigInteger, nullable=False),
    Column("by", String(16), nullable=False),
    Column("reason", Text, nullable=False),
)

# The accounts of the console. A name stays with whom it was given to: the deeds speak of it.
researchers = Table(
    "researcher",
    metadata,
    Column("name", String(60), primary_key=True),
    Column("password", Text, nullable=False),
    Column("role", String(16), nullable=False),
    Column("made_us", BigInteger, nullable=False),
    Column("removed_us", BigInteger),
)

logins = Table(
    "login",
    metadata,
    Column("digest", String(64), primary_key=True),
    Column("researcher", String(60), nullable=False),
    Column("made_us", BigInteger, nullable=False),
    Column("seen_us", BigInteger, nullable=False),
    Column("ended_us", BigInteger),
    Index("ix_login_researcher", "researcher", "seen_us"),
)

invitations = Table(
    "invitation",
    metadata,
    Column("digest", String(64), primary_key=True),
    Column("role", String(16), nullable=False),
    Column("by", String(60), nullable=False),
    Column("expires_us", BigInteger, nullable=False),
    Column("used_us", BigInteger),
)

# What was done in the console, and by whom: append-only, as the log is, and nothing ever takes a row away.
deeds = Table(
    "deed",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("at_us", BigInteger, nullable=False),
    Column("who", String(60), nullable=False),
    Column("what", Text, nullable=False),
    Column("about", Text, nullable=False),
    Index("ix_deed_who", "who", "id"),
)

# What researchers were alerted to. The unique index allows one open alert for each condition, whoever opens it.
alerts = Table(
    "alert",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("kind", String(16), nullable=False),
    Column("study", String(60), nullable=False),
    Column("origin", String(16), nullable=False),
    Column("subject", Text, nullable=False),
    Column("data", JSON, nullable=False),
    Column("opened_us", BigInteger, nullable=False),
    Column("last_us", BigInteger, nullable=False),
    Column("notified_us", BigInteger, nullable=False),
    Column("closed_us", BigInteger),
    Column("seen_us", BigInteger),
    Column("seen_by", String(60)),
    Column("undelivered", JSON, nullable=False),
    Index(
        "uq_alert_open",
        *("kind", "study", "origin", "subject"),
        unique=True,
        sqlite_where=OPEN,
    ),
)

# Model servers entered in the console; `sealed` is the encrypted key, or empty.
model_servers = Table(
    "model_server",
    metadata,
    Column("name", String(60), primary_key=True),
    Column("kind", String(32), nullable=False),
    Column("url", Text, nullable=False),
    Column("sealed", LargeBinary, nullable=False),
    Column("by", String(60), nullable=False),
    Column("at_us", BigInteger, nullable=False),
)

# Whether replies of a model at a server's address begin with reasoning without an opening mark, as its test found.
model_reasoning = Table(
    "model_reasoning",
    metadata,
    Column("url", Text, primary_key=True),
    Column("model", Text, primary_key=True),
    Column("unopened", Boolean, nullable=False),
    Column("at_us", BigInteger, nullable=False),
)

# What the judges of a study's rules have cost, with what calls in progress can cost still.
judge_budgets = Table(
    "judge_budget",
    metadata,
    Column("study", String(60), primary_key=True),
    Column("rule", String(60), primary_key=True),
    Column("spent", Float, nullable=False),
)

# What is there where an attempt is about somebody who withdrew.
_WITHDREW = (
    "SELECT 1 FROM erasure WHERE erasure.stream = OLD.stream UNION ALL "
    "SELECT 1 FROM ai_cell JOIN erasure ON erasure.stream = ai_cell.stream WHERE ai_cell.cell = OLD.cell"
)
_SQLITE = (
    "CREATE TRIGGER IF NOT EXISTS attempt_is_kept_update BEFORE UPDATE ON attempt "
    f"WHEN NOT EXISTS ({_WITHDREW}) BEGIN SELECT RAISE(ABORT, 'an attempt is changed only by an erasure'); END",
    "CREATE TRIGGER IF NOT EXISTS attempt_is_kept_delete BEFORE DELETE ON attempt "
    f"WHEN NOT EXISTS ({_WITHDREW}) BEGIN SELECT RAISE(ABORT, 'an attempt is deleted only by an erasure'); END",
    "CREATE TRIGGER IF NOT EXISTS event_is_fact_update BEFORE UPDATE ON event "
    "BEGIN SELECT RAISE(ABORT, 'a fact is never changed'); END",
    "CREATE TRIGGER IF NOT EXISTS event_is_fact_delete BEFORE DELETE ON event "
    "WHEN NOT EXISTS (SELECT 1 FROM erasure WHERE erasure.stream = OLD.stream) "
    "BEGIN SELECT RAISE(ABORT, 'a fact is deleted only by an erasure'); END",
    "CREATE TRIGGER IF NOT EXISTS deed_is_done_update BEFORE UPDATE ON deed "
    "BEGIN SELECT RAISE(ABORT, 'what was done is never changed'); END",
    "CREATE TRIGGER IF NOT EXISTS deed_is_done_delete BEFORE DELETE ON deed "
    "BEGIN SELECT RAISE(ABORT, 'what was done is never deleted'); END",
)
_POSTGRESQL = (
    "CREATE OR REPLACE FUNCTION attempt_is_kept() RETURNS trigger AS $$ BEGIN "
    f"IF NOT EXISTS ({_WITHDREW}) THEN "
    "RAISE EXCEPTION 'an attempt is changed or deleted only by an erasure'; END IF; "
    "IF TG_OP = 'UPDATE' THEN RETURN NEW; END IF; RETURN OLD; END $$ LANGUAGE plpgsql",
    "CREATE OR REPLACE TRIGGER attempt_is_kept BEFORE UPDATE OR DELETE ON attempt "
    "FOR EACH ROW EXECUTE FUNCTION attempt_is_kept()",
    "CREATE OR REPLACE FUNCTION event_is_fact() RETURNS trigger AS $$ BEGIN "
    "IF TG_OP = 'UPDATE' THEN RAISE EXCEPTION 'a fact is never changed'; END IF; "
    "IF NOT EXISTS (SELECT 1 FROM erasure WHERE erasure.stream = OLD.stream) THEN "
    "RAISE EXCEPTION 'a fact is deleted only by an erasure'; END IF; RETURN OLD; END $$ LANGUAGE plpgsql",
    "CREATE OR REPLACE TRIGGER event_is_fact BEFORE UPDATE OR DELETE ON event "
    "FOR EACH ROW EXECUTE FUNCTION event_is_fact()",
    "CREATE OR REPLACE FUNCTION deed_is_done() RETURNS trigger AS $$ BEGIN "
    "RAISE EXCEPTION 'what was done is never changed or deleted'; END $$ LANGUAGE plpgsql",
    "CREATE OR REPLACE TRIGGER deed_is_done BEFORE UPDATE OR DELETE OR TRUNCATE ON deed "
    "FOR EACH STATEMENT EXECUTE FUNCTION deed_is_done()",
)
for _statement in _SQLITE:
    event.listen(metadata, "after_create", DDL(_statement).execute_if(dialect="sqlite"))  # type: ignore[no-untyped-call]
for _statement in _POSTGRESQL:
    event.listen(metadata, "after_create", DDL(_statement).execute_if(dialect="postgresql"))  # type: ignore[no-untyped-call]

# What models are asked alone, beside their replies (`attempt`): the cells that plans ask for, and the answers.

# What a study's plans ask for: of `kind` alone (a problem by a method) or annotation (a conversation, by stream and
# path, by an annotator), with what scoring needs in `data`.
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

# What scoring made of each sample: a projection of the replies.
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
