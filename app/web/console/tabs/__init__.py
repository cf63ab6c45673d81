"""The tabs of the console, one per file, in their order on the page."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from app.web.console.context import Desk
from app.web.console.tab import Place, Room
from app.web.console.tabs.accounts import PeopleRoom
from app.web.console.tabs.export import DataRoom
from app.web.console.tabs.monitor import LiveRoom
from app.web.console.tabs.results import ResultsRoom
from app.web.console.tabs.sessions import SessionsRoom
from app.web.console.tabs.studies import StudiesRoom

ROOMS: Sequence[Callable[[Desk, Place], Room]] = (
    StudiesRoom,
    LiveRoom,
    SessionsRoom,
    DataRoom,
    ResultsRoom,
    PeopleRoom,
)
