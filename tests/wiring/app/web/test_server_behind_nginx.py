"""Who comes, behind the nginx that is shipped: as compose.yaml starts it, with a proxy that does TLS before it and
without, and as that of a host. Addresses arrive, no one is believed about theirs, nothing about people is logged, and
nobody outside learns how the servers are."""

from __future__ import annotations

import asyncio
import itertools
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from email.parser import BytesParser
from pathlib import Path

import httpx2
import pytest

from app.web.redaction import WITH_TOKEN
from tests.fakes.nginx import CALM, Nginx, before, front

pytestmark = pytest.mark.anyio
ONE, OTHER = "127.0.0.50", "127.0.0.60"
CLAIMED = "203.0.113.9"
CANARY = "zq5f2a77d2"
WAYS = ("compose, and TLS before it", "compose, asked itself", "host")
each_way = pytest.mark.parametrize("way", WAYS)


@dataclass
class Echo:
    """A server that answers everything with nothing, and keeps what it was told."""

    port: int = 0
    paths: list[str] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked, _, rest = (await reader.readuntil(b"\r\n\r\n")).partition(b"\r\n")
        self.paths.append(asked.decode("latin-1").split()[1])
        self.headers = {name.lower(): value for name, value in BytesParser().parsebytes(rest).items()}
        writer.write(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n")
        await writer.drain()
        writer.close()


@asynccontextmanager
async def echoing() -> AsyncIterator[Echo]:
    echo = Echo()
    async with await asyncio.start_server(echo.answer, "127.0.0.1", 0) as server:
        echo.port = server.sockets[0].getsockname()[1]
        yield echo


@contextmanager
def reached(nginx: str, way: str, folder: Path, port: int, logged: str = CALM) -> Iterator[tuple[Nginx, Nginx]]:
    with ExitStack() as stack:
        shipped = stack.enter_context(before(nginx, folder / "shipped", port, host=way == "host", logged=logged))
        outer = stack.enter_context(front(nginx, folder / "front", shipped)) if "TLS" in way else shipped
        yield outer, shipped


def client(at: Nginx, address: str) -> httpx2.AsyncClient:
    transport = httpx2.AsyncHTTPTransport(verify=at.trusted, local_address=address)
    return httpx2.AsyncClient(base_url=at.url, transport=transport, timeout=60)


@each_way
async def test_the_address_that_arrives_is_whose_it_is_and_no_log_has_it(nginx: str, tmp_path: Path, way: str) -> None:
    async with echoing() as echo:
        with reached(nginx, way, tmp_path, echo.port) as (at, shipped):
            for address, claimed in itertools.product((ONE, OTHER), ("", CLAIMED, f"{CLAIMED}, 127.0.0.1", "nonsense")):
                async with client(at, address) as who:
                    claim = {"x-forwarded-for": claimed, "x-real-ip": CLAIMED, "forwarded": f"for={CLAIMED}"}
                    assert (await who.get("/", headers=claim if claimed else {})).status_code == 204
                assert echo.headers["x-forwarded-for"] == address
                assert echo.headers["x-forwarded-proto"] == ("http" if "itself" in way else "https")
            async with client(at, ONE) as who:
                assert (await who.get(f"/s/demo?PROLIFIC_PID={CANARY}&parley_sig=x")).status_code == 204
                for place in WITH_TOKEN:
                    assert (await who.get(f"/{place}/{CANARY}")).status_code == 204
                shutil.rmtree(shipped.folder / "client")  # what it cannot write it complains of, with the whole request
                large = await who.post(f"/s/demo?PROLIFIC_PID={CANARY}", content=b"x" * 60_000)
                assert large.status_code == 500
        logs = {
            path.name: path.read_text(encoding="utf-8")
            for path in shipped.folder.iterdir()
            if path.suffix != ".pem" and path.is_file() and path.name not in ("nginx.conf", "study.key")
        }
        assert "GET /s/demo 204" in logs["calm.log"]
        assert [name for name, text in logs.items() if CANARY in text or ONE in text] == []


SPELLINGS = (
    "/healthz", "/healthz/ready", "/healthz/live", "//healthz", "/%68ealthz/ready", "/./healthz/ready", "/x/../healthz",
    "/healthz/ready?x=/", "/parley/..%2fhealthz/ready", "/healthz%2fready", "/api/act/../../healthz",
)  # fmt: skip


@each_way
async def test_nobody_outside_learns_how_the_servers_are_and_no_request_is_logged(
    nginx: str, tmp_path: Path, way: str
) -> None:
    async with echoing() as echo:
        with reached(nginx, way, tmp_path, echo.port, logged="") as (at, shipped):
            reader, writer = await asyncio.open_connection(
                "127.0.0.1", int(at.url.rpartition(":")[2]), ssl=at.trusted if at.url.startswith("https") else None
            )
            for path in SPELLINGS:
                writer.write(f"GET {path} HTTP/1.1\r\nhost: x\r\nx-forwarded-for: 127.0.0.1\r\n\r\n".encode())
            writer.write(b"GET /end HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
            answers = await asyncio.wait_for(reader.read(), 60)
            writer.close()
    assert answers.count(b"HTTP/1.1 404 ") == len(SPELLINGS)
    assert echo.paths == ["/end"]
    assert shipped.complaints == ""
    assert not [*shipped.folder.glob("*.log")]
