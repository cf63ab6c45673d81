"""What asking costs at the least: aiohttp and orjson in a process of their own, nothing checked and nothing stored."""

from __future__ import annotations

import asyncio
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import aiohttp
import orjson
import uvloop

AT_ONCE = 128
QUESTION = "Which of these is the value of the expression, and why are the others not? " * 8


def measure(url: str, calls: int) -> tuple[float, float]:
    """Calls a second, and milliseconds of a processor for each."""
    command = [sys.executable, "-m", "tests.bench.bare_client", url, str(calls)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2])
    rate, cpu_ms = json.loads(done.stdout)
    return rate, cpu_ms


async def ask(url: str, calls: int) -> tuple[float, float]:
    """Ask so often."""
    numbers = iter(range(calls))
    headers = {"authorization": "Bearer sk-none", "content-type": "application/json"}
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), headers=headers) as session:

        async def work() -> None:
            for number in numbers:
                body = {"model": "fast-1", "messages": [{"role": "user", "content": f"[{number}] {QUESTION}"}]}
                async with session.post(f"{url}/chat/completions", data=orjson.dumps(body)) as reply:
                    orjson.loads(await reply.read())

        used, begun = _used_s(), time.perf_counter()
        async with asyncio.TaskGroup() as group:
            for _ in range(AT_ONCE):
                group.create_task(work())
        return calls / (time.perf_counter() - begun), 1e3 * (_used_s() - used) / calls


def _used_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    print(json.dumps(uvloop.run(ask(sys.argv[1], int(sys.argv[2])))))
