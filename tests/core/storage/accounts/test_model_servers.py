"""Keys of model servers are sealed: only the same secret opens them, for the same server, and nothing prints them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from storage.accounts.model_servers import SavedServer, open_key, seal_key
from storage.errors import StorageError

SECRET, URL = "s" * 32, "https://models.example/v1"
KEYS = st.text(min_size=1, max_size=80)


def sealed(key: str, secret: str = SECRET) -> SavedServer:
    return SavedServer("lab", "other", URL, "ada", 0, seal_key(secret, "lab", URL, key))


@given(KEYS, st.text(min_size=32, max_size=50))
def test_a_key_is_opened_with_its_secret_alone(key: str, secret: str) -> None:
    assume(secret != SECRET)
    server = sealed(key, secret)
    assert open_key(secret, server) == key
    with pytest.raises(StorageError, match="Enter the key again"):
        open_key(SECRET, server)


@given(KEYS, st.data())
def test_a_changed_seal_is_refused(key: str, data: st.DataObject) -> None:
    server = sealed(key)
    at = data.draw(st.integers(0, len(server.sealed) - 1))
    other = data.draw(st.integers(0, 255).filter(lambda byte: byte != server.sealed[at]))
    tampered = server.sealed[:at] + bytes([other]) + server.sealed[at + 1 :]
    with suppress(StorageError):
        assert open_key(SECRET, replace(server, sealed=tampered)) == key, "unused bits of base64 change nothing"


@pytest.mark.parametrize("change", [{"name": "other"}, {"url": "https://attacker.example/v1"}])
def test_a_seal_holds_for_its_server_alone(change: dict[str, str]) -> None:
    with pytest.raises(StorageError, match="cannot be opened"):
        open_key(SECRET, replace(sealed("sk-secret"), **change))


def test_neither_key_nor_seal_is_in_what_is_printed() -> None:
    server = sealed("sk-zqcanaryqz")
    assert "canary" not in repr(server)
    assert server.sealed.decode() not in repr(server)
    assert b"canary" not in server.sealed
