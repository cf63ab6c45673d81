"""What requests show to be wrong with a deployment is told in the log, and floods it not."""

from __future__ import annotations

from pathlib import Path

import httpx2
import pytest

from tests.fakes import studies
from tests.fakes.served import serving, settings_for

pytestmark = pytest.mark.anyio


async def test_a_flood_and_another_site_are_told_in_the_log_and_do_not_flood_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = settings_for(tmp_path, requests_per_second=0.02, request_burst=30, address_rate_multiplier=1)
    async with (
        serving(settings, studies.chat(tmp_path)) as served,
        httpx2.AsyncClient(timeout=60, base_url=served.url) as client,
    ):
        for _ in range(40):
            await client.post("/s/talk", headers={"origin": "https://study.example.org"})
            await client.post("/api/look", json={})
    told = [record.getMessage() for record in caplog.records if record.name == "app.web.throttled_log"]
    assert [words.partition(":")[0] for words in told] == ["refused (403)", "refused (429)"]
    assert f"a page at https://study.example.org asked what is served at {served.url}" in told[0]
    assert "PARLEY_TRUSTED_PROXIES" in told[1]
