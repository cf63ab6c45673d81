"""The tabs of the console, one per file, in their order on the page."""

from __future__ import annotations

from typing import Protocol

from app.extension import extensions, imported
from app.web.console.context import ConsoleContext
from app.web.console.tab import Tab, TabLocation
from app.web.console.tabs.accounts import AccountsTab
from app.web.console.tabs.export import ExportTab
from app.web.console.tabs.monitor import MonitorTab
from app.web.console.tabs.payments import PaymentsTab
from app.web.console.tabs.runs import RunsTab
from app.web.console.tabs.servers import ServersTab
from app.web.console.tabs.sessions import SessionsTab
from app.web.console.tabs.studies import StudiesTab


class TabKind(Protocol):
    name: str

    def __call__(self, context: ConsoleContext, location: TabLocation, /) -> Tab: ...


CORE: tuple[TabKind, ...] = (
    StudiesTab,
    MonitorTab,
    SessionsTab,
    ExportTab,
    PaymentsTab,
    RunsTab,
    ServersTab,
    AccountsTab,
)


def tab_kinds() -> list[TabKind]:
    """The core's tabs, each followed by those that extensions put behind it."""
    behind = {kind: [place for one in extensions() for place in one.tabs.get(kind.name, ())] for kind in CORE}
    return [made for kind, places in behind.items() for made in (kind, *map(imported, places))]
