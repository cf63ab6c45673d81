"""Data quality (flags of sessions) and the cost of models' replies, for the report."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from app.extensions.analysis.chatbench.accuracy import ATTENTION, TABLE
from app.extensions.analysis.data_frames import SESSION, frame
from app.extensions.analysis.reads.study_data import ParticipantFlow, origins_of
from experiments.views.quality_flags import FLAGS
from storage.db.engine import Database
from storage.log.seats import query_params
from storage.registers.origins import Origin
from storage.reports.blinding import ALL, blinding
from storage.reports.costs import Cost, costs
from storage.reports.monitoring.sessions import flag_counts, session_groups

EVERYBODY = (
    "Model calls of all sessions of the study: those of participants, pilot sessions and simulated participants."
)


@dataclass(frozen=True, slots=True)
class DataQuality:
    """Data-quality issues of sessions of an origin, including excluded ones.

    For imports only attention checks are known. `checked` is the number of participants with a question of ChatBench's
    attention check, and `missed` the number of those who answered one wrongly.
    """

    flags: Mapping[str, int]
    flagged: int
    pasted: int
    replies: int
    leaks: int
    checked: int
    missed: int

    def issues(self, people: ParticipantFlow) -> Iterator[tuple[str, int, int]]:
        """Each issue in words, with its count and the total."""
        if people.origin != Origin.IMPORT:
            yield "Sessions with a flag", self.flagged, people.arrived
            for name, words in FLAGS.items():
                yield f"Sessions that {words} ({name})", self.flags.get(name, 0), people.arrived
            yield "Sessions in which text was pasted", self.pasted, people.arrived
            yield "Sessions that a researcher excluded", sum(people.excluded.values()), people.arrived
        if self.replies:
            yield "Replies that revealed which model wrote them", self.leaks, self.replies
        if self.checked:
            yield "Participants who missed a question of the attention check", self.missed, self.checked


@dataclass(frozen=True, slots=True)
class ModelCosts:
    """The usage and cost of each model, most expensive first, and the currency."""

    currency: str
    models: Mapping[str, Cost]

    @property
    def total(self) -> Cost:
        return sum(self.models.values(), Cost())

    @property
    def by_model(self) -> Iterator[tuple[str, Cost]]:
        """The cost of each model, and the total if there are several."""
        yield from self.models.items()
        if len(self.models) > 1:
            yield "all", self.total

    @property
    def note(self) -> str:
        """Which calls the costs cover, and the number of replies with unknown cost."""
        unknown = self.total.unknown
        return f"{EVERYBODY} {unknown:,} replies have no known cost." if unknown else EVERYBODY


def money(cost: Cost) -> str:
    """Format a cost; `over` if part of it is unknown."""
    if not cost.unknown:
        return f"{cost.cost:,.4f}"
    return f"over {cost.cost:,.4f}" if cost.cost else "unknown"


def quality(
    database: Database, study: str, origin: str, schemas: Collection[str], now_us: int, part: str = ""
) -> DataQuality:
    """The data-quality issues of a study's sessions."""
    checked, missed = _attention(database, study, origin, part) if "chatbench" in schemas else (0, 0)
    if origin == Origin.IMPORT or origin not in origins_of(database, study):  # read, or of models alone
        return DataQuality({}, 0, 0, 0, 0, checked, missed)
    with database.connect() as connection:
        found = flag_counts(session_groups(connection, query_params(study, origin, now_us, 0)))
    rows = [row for row in blinding(database, study, origin).leaks if row.by == ALL]
    replies, leaks = sum(row.replies for row in rows), sum(row.flagged for row in rows)
    return DataQuality(found.flags, found.flagged, found.pasted, replies, leaks, checked, missed)


def _attention(database: Database, study: str, origin: str, part: str) -> tuple[int, int]:
    """How many participants had an attention check among their questions, and how many missed one."""
    answers = frame(database, study, TABLE, origin, excluded=True, columns=("dataset", "acc"), part=part)
    checks = answers[(answers["dataset"] == ATTENTION) & answers["acc"].notna()]
    missed = checks.loc[checks["acc"].astype("float64") < 1, SESSION]
    return int(checks[SESSION].nunique()), int(missed.nunique())


def spent(database: Database, study: str, currency: str) -> ModelCosts:
    """The usage and cost of a study's models, over sessions of all origins."""
    return ModelCosts(currency, costs(database, study, "model"))
