"""The tabs of the console, one per file, in their order on the page."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from app.web.console.context import ConsoleContext
from app.web.console.tab import Tab, TabLocation
from app.web.console.tabs.accounts import AccountsTab
from app.web.console.tabs.export import ExportTab
from app.web.console.tabs.integrity import IntegrityTab
from app.web.console.tabs.monitor import MonitorTab
from app.web.console.tabs.payments import PaymentsTab
from app.web.console.tabs.results import ResultsTab
from app.web.console.tabs.servers import ServersTab
from app.web.console.tabs.sessions import SessionsTab
from app.web.console.tabs.studies import StudiesTab

ROOMS: Sequence[Callable[[ConsoleContext, TabLocation], Tab]] = (
    StudiesTab,
    MonitorTab,
    SessionsTab,
    IntegrityTab,
    ExportTab,
    ResultsTab,
    PaymentsTab,
    ServersTab,
    AccountsTab,
)
