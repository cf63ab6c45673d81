"""Metrics: on a port of their own, only where a setting asks for them, and nothing of a study or a person in them."""

from __future__ import annotations

import re
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest

from tests.fakes import studies
from tests.fakes.http_bot import HttpBot
from tests.fakes.served import Served, serving, settings_for

pytestmark = pytest.mark.anyio
LABELS = re.compile(r'(\w+)="([^"]*)"')
WORDS = re.compile(
    r"page|act|draft|look|reply|telemetry|out|start|walk|healthz|file|other|[1-5]\d\d|complete|\+Inf|[\d.]+|"
)
ABSENT = ("talk", "only", "scripted", "zq_said_qz", "zq_person_qz", "Do you agree", "TESTPERSON")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
async def measured(tmp_path: Path) -> AsyncIterator[tuple[Served, str]]:
    port = free_port()
    async with serving(settings_for(tmp_path, metrics_port=port), studies.chat(tmp_path)) as served:
        yield served, f"http://127.0.0.1:{port}/metrics"


async def scrape(url: str) -> str:
    async with httpx2.AsyncClient(timeout=60) as client:
        return (await client.get(url)).text


def value(told: str, line: str) -> float:
    return next((float(found.split(" ")[-1]) for found in told.splitlines() if found.startswith(line)), 0.0)


async def test_they_tell_what_happened(measured: tuple[Served, str]) -> None:
    served, url = measured
    async with HttpBot(served.url, "one", canary="zq_said_qz") as bot, HttpBot(served.url, "two") as other:
        await bot.arrive("talk", "?PROLIFIC_PID=zq_person_qz&STUDY_ID=a&SESSION_ID=b")
        await other.arrive("talk")
        await bot.finish()
        await bot.send("GET", "/zq_said_qz?zq_said_qz")
        said = sum(act.kind == "say" for act in bot.acts)
        told = await scrape(url)
    assert value(told, 'parley_request_seconds_count{route="act",status="200"}') == len(bot.acts)
    assert value(told, 'parley_request_seconds_count{route="other",status="404"}') == 1
    assert value(told, 'parley_model_attempts_total{reason=""}') == said > 0
    assert value(told, "parley_first_token_seconds_count") == said
    assert value(told, "parley_commit_seconds_count") >= len(bot.acts)
    assert value(told, 'parley_sessions_ended{outcome="complete"}') == 1
    assert value(told, "parley_sessions_live") == 1
    for name in ("parley_replies_on_the_way 0.0", "parley_writer_queue 0.0", "process_resident_memory_bytes"):
        assert f"\n{name}" in told
    assert [word for word in ABSENT if word.lower() in told.lower()] == []
    strays = {found for name, found in LABELS.findall(told) if not WORDS.fullmatch(found)}
    assert strays == set()


async def test_no_participant_reaches_them(measured: tuple[Served, str], served: Served) -> None:
    for one in (measured[0], served):
        async with httpx2.AsyncClient(timeout=60, base_url=one.url) as client:
            for path in ("/metrics", "/metrics/", "/api/metrics", "/parley/metrics"):
                assert (await client.get(path)).status_code == 404
