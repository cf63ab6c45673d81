"""A study that is live at the fake of Prolific, and its participants: each is at both places, as Prolific's link leads
from one to the other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from app.clock import VirtualClock
from app.config.settings import Settings
from app.recruiters.prolific import CompletionCode, Prolific, StudyDraft
from app.session.service import SessionService
from app.session.transitions import LoadedSession
from app.studies.loader import load_study
from app.use_cases.submissions import RecruitedStudy
from experiments.study.study import Study
from storage.db.engine import Database, open_database
from storage.payments.recruiter_acts import ActEvent, add_acts
from storage.registers.participants import ParticipantId, Participants
from tests.fakes.let_go import let_go
from tests.fakes.prolific_api import TOKEN, WORKSPACE, FakeProlific, prolific_api
from tests.fakes.served import SECRET
from tests.fakes.studies import write

START_US = 1_790_000_000_000_000
STUDY: dict[str, Any] = {
    "study": "paid",
    "title": "Paid by Prolific",
    "bonus": [{"per": "completion", "amount": 0.25}],
    "recruitment": {"channels": ["prolific"]},
    "outcomes": {"complete": {"code": "DONE"}, "no_consent": {"code": "NO"}},
    "quotas": [{"max": 500}],
    "flow": [
        {"step": "consent", "text": "Do you agree?", "decline": "No"},
        {"step": "finish"},
    ],
}
PROLIFIC: dict[str, Any] = {"description": "A study", "reward": 1, "minutes": 5, "spend_limit": 1000}
REVIEW = {"action": "MANUALLY_REVIEW"}


@dataclass
class Live:
    """`ids` are the studies at Prolific, the last first; `sessions` the streams, by the ids of their submissions."""

    folder: Path
    fake: FakeProlific
    database: Database
    clock: VirtualClock
    study: Study
    ids: list[str]
    service: SessionService
    sessions: dict[str, str]

    def recruited(self, client: Prolific) -> RecruitedStudy:
        people = Participants(self.database, SECRET)
        return RecruitedStudy(self.database, people, client, self.clock, self.study, tuple(self.ids), Decimal(1_000))

    def recruit(self, places: int = 500) -> None:
        """Publish a (further) study at Prolific."""
        draft = StudyDraft(
            name="Paid",
            description="A study",
            external_study_url="https://lab.example.org/s/paid",
            completion_codes=(
                CompletionCode(code="DONE", code_type="COMPLETED", actions=(REVIEW,)),
                CompletionCode(code="NO", code_type="NO_CONSENT", actions=(REVIEW,)),
            ),
            total_available_places=places,
            estimated_completion_time=5,
            reward=100,
        )
        with client_of(self.fake) as client:
            id_ = client.transition_study(client.create_study(draft).id, "PUBLISH").id
        made(self.database, self.study.name, id_)
        self.ids.insert(0, id_)

    async def join(self) -> str:
        """A participant takes a place at Prolific and opens the study; the id of the submission."""
        submission = self.fake.join(self.ids[0])
        person = ParticipantId("prolific", self.fake.submissions[submission]["participant_id"], submission)
        entry = Participants(self.database, SECRET).entry("paid", person)
        session = await self.service.enrol(self.study, origin="person", identity=entry)
        self.sessions[submission] = session.stream
        return submission

    async def answer(self, submission: str, agreed: str = "on") -> LoadedSession:
        """Give consent, or none, and so come to the end."""
        session = await self.service.get(self.sessions[submission])
        assert session is not None
        seen, values = session.screen, {"agreed": agreed} if agreed else {}
        kind = "submit" if agreed else "decline"
        self.clock.advance(0.01)
        return await self.service.participant(session.stream, kind, seen.path, values, seen=seen.seen)

    async def complete(self, submission: str, code: str = "DONE") -> None:
        await self.answer(submission)
        self.fake.submit(submission, code)

    async def decline(self, submission: str) -> None:
        await self.answer(submission, "")
        self.fake.submit(submission, "NO")


def made(database: Database, study: str, at_prolific: str) -> None:
    """A study that Parley has made at Prolific."""
    asked = ActEvent("asked", {"act": at_prolific, "what": "create", "who": "ada"}, START_US, "researcher")
    sent = ActEvent("sent", {"act": at_prolific, "attempt": 1}, START_US)
    done = {"act": at_prolific, "attempt": 1, "result": "done", "detail": "", "study": at_prolific}
    add_acts(database, study, [asked, sent, ActEvent("settled", done, START_US)], lambda _: True)


@contextmanager
def live(folder: Path, places: int = 500, **section: Any) -> Iterator[Live]:
    """`section` are more keys of the study's section `prolific`."""
    raw = {**STUDY, "prolific": {**PROLIFIC, **section}}
    study, clock = load_study(str(write(folder, raw))), VirtualClock(START_US)
    database = open_database(f"sqlite:///{folder}/parley.db")
    service = SessionService(database, Settings(_env_file=None), clock)
    service.prepare(study)
    with prolific_api(clock_s=lambda: clock.now_us() / 1e6) as fake:
        here = Live(folder, fake, database, clock, study, [], service, {})
        here.recruit(places)
        with client_of(fake) as client:
            client.create_hook_secret(WORKSPACE)
        yield here
    service.log.close()
    let_go(database)


def client_of(fake: FakeProlific) -> Prolific:
    return Prolific(fake.url, TOKEN, sleep=lambda _: None)
