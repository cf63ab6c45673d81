"""The conversations of a study's sessions: how much was said, which models replied, and the verdicts on replies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from experiments.events import Event
from experiments.session.conversation import messages_of
from experiments.session.fidelity import Reply
from experiments.session.state import visited
from experiments.session.telemetry import without_indices
from experiments.study.reply_checks import words
from experiments.study.study import Study
from experiments.views.fidelity import Verdict, verdicts
from experiments.views.screen_measures import seconds_shown
from storage.db.engine import Database
from storage.reports.session_views import analysed_sessions


@dataclass(frozen=True, slots=True)
class HeldConversation:
    """What was said at a place. `turns` counts the participant's messages; `minutes` is how long its screen was there,
    None where it was not left. `replies` are those that were shown: model, version, and the time in microseconds."""

    session: str
    path: str
    arms: Mapping[str, str]
    turns: int
    words_written: int
    words_read: int
    minutes: float | None
    replies: tuple[tuple[str, str, int], ...]
    verdicts: tuple[Verdict, ...]


def has_conversations(study: Study) -> bool:
    return any(step.asks_models([*study.file.models]) for _, step in study.steps)


def held_conversations(
    database: Database, study: str, origin: str, *, complete: bool = False
) -> Iterator[HeldConversation]:
    """The conversations with a reply in the sessions of `analysed_sessions`."""
    for session in analysed_sessions(database, study, origin, complete=complete):
        for place in visited(session.study, session.state):
            said = messages_of(place.facts)
            written, read = ([one for one in said if one.kind == kind] for kind in ("said", "replied"))
            if read:
                seconds = seconds_shown(place)
                yield HeldConversation(
                    session.stream,
                    without_indices(place.path),
                    Reply(place, "", 0, "").condition,
                    turns=len(written),
                    words_written=_words(written),
                    words_read=_words(read),
                    minutes=None if seconds is None else seconds / 60,
                    replies=tuple((one.data["model"], one.data.get("version") or "", one.at_us) for one in read),
                    verdicts=tuple(verdicts(place.facts)),
                )


def _words(said: Iterable[Event]) -> int:
    return sum(len(words(one.data["text"])) for one in said)
