"""The console's rooms, one a file, in the order of their tabs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from app.web.console.desk import Desk
from app.web.console.room import Place, Room
from app.web.console.rooms.data import DataRoom
from app.web.console.rooms.live import LiveRoom
from app.web.console.rooms.people import PeopleRoom
from app.web.console.rooms.results import ResultsRoom
from app.web.console.rooms.sessions import SessionsRoom
from app.web.console.rooms.studies import StudiesRoom

ROOMS: Sequence[Callable[[Desk, Place], Room]] = (
    StudiesRoom,
    LiveRoom,
    SessionsRoom,
    DataRoom,
    ResultsRoom,
    PeopleRoom,
)
