"""Settings with the model servers that owners saved in the console, for every process on the same database."""

from __future__ import annotations

import time
from collections.abc import Mapping

from cachetools import TTLCache

from app.config.model_servers import Server
from app.config.secret import load_secret
from app.config.settings import Settings
from app.errors import SettingsError
from storage.accounts.model_servers import SavedServer, known_reasoning, open_key, save_reasoning, saved_servers
from storage.db.engine import Database
from storage.errors import StorageError

# Seconds after which the table is read again, so that a running server finds what the console has changed.
FRESH_S = 2
_ALL = "all"


class SavedServers:
    def __init__(self, settings: Settings, database: Database, fresh_s: float = FRESH_S) -> None:
        self._settings, self._database = settings, database
        self._read: TTLCache[str, Mapping[str, SavedServer]] = TTLCache(1, fresh_s)
        self._reasoning: TTLCache[str, Mapping[tuple[str, str], bool]] = TTLCache(1, fresh_s)

    def names(self) -> tuple[str, ...]:
        return tuple(self._all())

    def find(self, name: str) -> Server | None:
        """The server of this name; None if there is none. Raises SettingsError if its key cannot be opened."""
        saved = self._all().get(name)
        if saved is None:
            return None
        try:
            key = open_key(load_secret(self._settings), saved) if saved.sealed else None
        except StorageError as error:
            said = str(error)
            raise SettingsError(f"{said[0].upper()}{said[1:]}.") from None
        return Server.model_validate({"url": saved.url, "key": key})

    def reasoning(self, url: str, model: str) -> bool | None:
        known = self._reasoning.get(_ALL)
        if known is None:
            known = self._reasoning[_ALL] = known_reasoning(self._database)
        return known.get((url, model))

    def save_reasoning(self, url: str, model: str, *, unopened: bool) -> None:
        save_reasoning(self._database, url, model, unopened=unopened, at_us=time.time_ns() // 1000)
        self._reasoning.clear()

    def _all(self) -> Mapping[str, SavedServer]:
        known = self._read.get(_ALL)
        if known is None:
            known = self._read[_ALL] = {server.name: server for server in saved_servers(self._database)}
        return known


def with_saved_servers(settings: Settings, database: Database) -> Settings:
    """The settings, whose `server` also finds the servers saved in a database; those of the settings win."""
    return settings.with_lookup(SavedServers(settings, database))
