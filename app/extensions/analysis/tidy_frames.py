"""A study's own data as data frames: the tables of the tidy export, read from the database.

from parley_studies.analysis import load
answers = load("mystudy").answers
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from app.config.settings import env_name
from app.config.settings import load as settings
from app.extensions.analysis.data_frames import DTYPES
from storage.datasets.exports.plan import ExportRequest, FileRows, plan_export
from storage.datasets.exports.session_filter import ALL, SessionFilter
from storage.datasets.tidy.columns import NAME, TIME
from storage.db.database_url import sqlite_path
from storage.db.engine import Database, open_database
from storage.errors import StorageError


def _table(about: str = "") -> cached_property[pd.DataFrame]:
    """A table that is read when it is first used; its name is that of the attribute."""
    read: cached_property[pd.DataFrame] = cached_property(lambda data: data.table(read.attrname))
    read.__doc__ = about
    return read


@dataclass(frozen=True)
class TidyData:
    """The tidy tables of a study. Each is read from the database when it is first used, and has the columns of the
    export."""

    database: Database
    request: ExportRequest
    sessions, answers, scores, messages, events = _table(), _table(), _table(), _table(), _table()
    answers_wide = _table("A row for each session, with a column for each question outside of loops.")
    ratings = _table("A row for each rating of a reply, a message or a conversation.")
    timings, model_calls = _table(), _table()
    fidelity = _table("A row for each verdict of a `fidelity` rule on a reply.")
    memory = _table("A row for each text that an assistant remembered of earlier waves.")
    rewards = _table("A row for each conversation about a task, and whether it did what the task wants.")
    tool_calls = _table("A row for each call of a tool that a model asked for.")
    documents = _table("A row for each document of a step `work`: the final text, and who wrote how much of it.")
    document_edits = _table("A row for each change of a document.")
    integrity = _table("A row for each session and indicator of how texts were written; it reads all sessions twice.")

    def table(self, name: str) -> pd.DataFrame:
        """Read a table by its name. Whole numbers are pandas' Int64, times have a time zone, and texts from a closed
        list are categories; raises StorageError."""
        with self.database.connect() as connection:
            chosen = next(one for one in plan_export(connection, self.request).files if one.table.name == name)
            found = [row for some in chosen.stream(connection, texts=False) for row in some]
        return _typed(pd.DataFrame(found, columns=[column.name for column in chosen.columns], dtype="object"), chosen)


def load(
    study: str, origin: str | None = None, *, session_filter: SessionFilter = ALL, database: Database | None = None
) -> TidyData:
    """A study's own data as data frames: people's sessions unless there are none, or of the given `origin` (person,
    pilot or bot). `session_filter` restricts the sessions; those that a researcher excluded are left out by default.

    The database is that of the settings, unless another one is given. Raises StorageError if it has no such study.
    """
    found = TidyData(database or open_settings_database(), ExportRequest(study, NAME, origin, selection=session_filter))
    with found.database.connect() as connection:
        plan_export(connection, found.request)
    return found


def open_settings_database() -> Database:
    """The database of the settings; raises StorageError if it is not there."""
    return open_existing_database(settings().database_url, f"{env_name('database_url')}=sqlite:///FILE")


def open_existing_database(url: str, another: str = 'open_database("sqlite:///FILE")') -> Database:
    """A database by its address; raises StorageError if it is not there, as what only reads has nothing to make.
    `another` is how another one is named."""
    file = sqlite_path(url)
    if file is not None and not file.exists():
        raise StorageError(
            f"There is no database {file.resolve()}. Is this the right folder? Another database: {another}"
        )
    return open_database(url)


def _typed(frame: pd.DataFrame, chosen: FileRows) -> pd.DataFrame:
    for column in chosen.columns:
        if column.form == TIME:
            frame[column.name] = pd.to_datetime(frame[column.name], format="ISO8601", utc=True)
        elif column.kind == "text" and column.form.labels:
            frame[column.name] = pd.Categorical(frame[column.name], categories=list(column.form.labels))
        else:
            frame = frame.astype({column.name: DTYPES[column.kind]})
    return frame
