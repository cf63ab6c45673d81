"""A model server, and the settings that lead to it."""

import pytest

from tests.fakes.asking import settings_at
from tests.fakes.model_server import serve


@pytest.fixture(scope="module")
def server():
    with serve() as running:
        yield running


@pytest.fixture
def settings(server):
    return settings_at(server.base_url)
