"""Manage studies: import a study file, publish a version, delete a draft, and erase a study's records."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.clock import Clock
from app.config.settings import Settings
from app.errors import NotYaml, SettingsError
from app.session.replies.tools import SessionTools
from app.session.service import Sessions
from app.studies.drafts import Drafts, save_draft
from app.studies.loader import FILE
from app.studies.yaml_loader import parse_yaml
from experiments.errors import NotPossible
from experiments.plural import count as how_many
from experiments.study.study import Study
from storage.db.engine import Database
from storage.payments.retention import unpaid_streams
from storage.registers.participants import Participants
from storage.registers.study_status import operations_of, set_status
from storage.registers.study_versions import StudyVersion, publish, versions
from storage.reports.sessions import own_streams

STUDY_FILE = (
    "A study file is text in YAML with the lines `study: NAME`, `title: ...` and `flow:`, and the steps below it."
)


@dataclass(frozen=True, slots=True)
class Publication:
    """A published version; not `new` if it was the current one already. `state` is that of the study."""

    hash: str
    new: bool
    state: str
    others: Sequence[StudyVersion]


def add_draft(drafts: Drafts, text: str) -> str:
    """Keep a text, which may have errors, by its name. Raises SettingsError without one, StudyError if taken."""
    try:
        raw = parse_yaml(text).value
    except NotYaml as error:
        where = f"line {error.line} is not YAML" if error.line else "it is not YAML"
        raise SettingsError(f"This is not a study file: {where}. {STUDY_FILE}") from None
    name = raw.get("study") if isinstance(raw, dict) else None
    if not isinstance(name, str):
        what = "it has no line `study: NAME`" if text.strip() else "it is empty"
        raise SettingsError(f"This is not a study file: {what}. {STUDY_FILE}")
    save_draft(drafts.reserve(name) / FILE, text)
    return name


def others_of_number(versions: Iterable[StudyVersion], study: Study) -> list[StudyVersion]:
    """The published versions that have this study's number, and differ from it."""
    return [one for one in versions if one.version == study.file.version and one.hash != study.hash]


def publish_study(database: Database, settings: Settings, study: Study, clock: Clock) -> Publication:
    """Make this version that of new sessions. Models are offered the tools that its servers have now; raises
    SettingsError where they cannot be read, or this version was published with others."""
    same = asyncio.run(SessionTools(database, settings, clock).read_all(study)) if study.file.tools else {}
    if changed := [name for name, is_same in same.items() if not is_same]:
        raise SettingsError(
            f"The tools of {', '.join(changed)} are no longer those that this version offers to models. Increase "
            "`version:` to publish it with the new ones."
        )
    done = publish(database, study, by="researcher", at_us=clock.now_us())
    history = versions(database, study.name)
    return Publication(done.hash, done.new, operations_of(database, study.name).state, others_of_number(history, study))


def is_deletable(database: Database, drafts: Drafts, name: str) -> bool:
    """True for a draft that was never published, and for a closed study."""
    now = operations_of(database, name)
    return now.closed is not None if now.published is not None else name in drafts.names()


async def delete_study(
    sessions: Sessions, database: Database, participants: Participants, drafts: Drafts, name: str, at_us: int
) -> int:
    """Delete a draft, with the files beside it; of a closed study also erase every session, as if each had withdrawn,
    and archive it. Returns the number of erased sessions; raises NotPossible, with nothing deleted, for a study that is
    not closed, and while a bonus is not paid, as without its ID it never can be."""
    if not is_deletable(database, drafts, name):
        raise NotPossible(f"{name} is not closed. Close it first; then it can be deleted.")
    erased = 0
    if operations_of(database, name).published is not None:
        if unpaid := unpaid_streams(database, participants, name):
            raise NotPossible(
                f"The bonuses of {how_many(len(unpaid), 'session')} are not paid, and without the recruiter's IDs they "
                "never can be. Nothing is deleted. Create the payment files first."
            )
        for stream in own_streams(database, name):
            erased += await sessions.withdraw(stream)
        if not operations_of(database, name).archived:
            set_status(database, name, "archived", {}, by="researcher", at_us=at_us)
    if name in drafts.names():
        shutil.rmtree(drafts.folder(name))
    return erased
