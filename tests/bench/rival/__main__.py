"""Load oTree and Parley with the same flow, and tell how many people each of them holds.

`python -m tests.bench.rival`; `--otree 20 --parley 20 --seconds 10` is a short form. A next page is what a participant
waits for after a click: the posted form and the page that it leads to at oTree, the answer to the click at Parley. A
server holds so many if its p95 is under 500 ms and nothing fails. Parley shall hold ten times as many as oTree does.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

import aiohttp
import uvloop
from rich.console import Console
from rich.table import Table

from tests.bench import report
from tests.bench.harnesses import NotThere, installed
from tests.bench.load import servers
from tests.bench.load.run import Run, Up, coming_s, loaded, measure
from tests.bench.rival import project
from tests.bench.rival.people import of_otree

WANTED = ("otree==6.0.15", "aiohttp")
OTREE, PARLEY = (50, 100, 150, 200), (100, 200, 400, 700, 1000)
MOST_MS, TIMES = 500.0, 10
SHORTEST_S = 15.0
"""Nobody is through sooner, so that a session needs no more places than this makes."""


def otree(people: int, seconds: float) -> Run:
    """oTree under so many."""
    programs = installed("otree", WANTED, ("otree",))
    with TemporaryDirectory() as at, servers.model_server() as model_url:
        folder, port = Path(at) / "project", servers.free_port()
        project.write(folder)
        env = {
            "PATH": f"{programs}:{os.environ['PATH']}",
            "OTREE_REST_KEY": project.KEY,
            "OTREE_PRODUCTION": "1",
            "MODEL_URL": model_url,
            "PYTHONPATH": "",
        }
        command = [str(programs / "otree"), "prodserver1of2", f"127.0.0.1:{port}"]
        with servers.served(command, env, folder, port, health="/demo") as number:
            places = int(people * (2 + (seconds + coming_s(people)) / SHORTEST_S))
            link = session(port, places)
            with servers.on_drivers_core():
                return uvloop.run(visited(Up("oTree", number, port), link, people, seconds))


def session(port: int, places: int) -> str:
    """A session with places for so many; gives the path of the link for all of them."""
    asked = json.dumps({"session_config_name": project.CONFIG, "num_participants": places}).encode()
    headers = {"otree-rest-key": project.KEY, "content-type": "application/json"}
    request = urllib.request.Request(f"http://127.0.0.1:{port}/api/sessions", asked, headers)
    with urllib.request.urlopen(request, timeout=600) as answer:
        return urlsplit(json.load(answer)["session_wide_url"]).path


async def visited(up: Up, link: str, people: int, seconds: float) -> Run:
    """Participants of oTree come."""
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as talker:
        visit = of_otree(f"http://127.0.0.1:{up.port}", link, talker)
        return await loaded(up, visit, people, seconds)


def quick(run: Run) -> bool:
    """Whether the next page came soon enough, where it came."""
    return run.found.p("click", 0.95) < MOST_MS


def holds(run: Run) -> bool:
    """Whether the server held so many."""
    return quick(run) and not run.found.errors


def most(runs: list[Run], held: Callable[[Run], bool] = holds) -> int:
    """The largest number that was held."""
    return max((run.people for run in runs if held(run)), default=0)


def table_of(runs: list[Run]) -> Table:
    """All runs."""
    table = Table(
        "server", "people", "next page p50 / p95, ms", "first token later by p95, ms", "finished", "errors",
        "core", "MB", f"p95 < {MOST_MS:.0f} ms", title="The same flow",
    )  # fmt: skip
    for run in runs:
        found = run.found
        table.add_row(
            run.server, str(run.people), f"{found.p('click', 0.5):.0f} / {found.p('click', 0.95):.0f}",
            f"{found.p('first token', 0.95):.0f}", str(found.finished), str(sum(found.errors.values())),
            f"{100 * run.core:.0f} %", f"{run.mb:.0f}", "held" if holds(run) else "not held",
        )  # fmt: skip
    return table


def main(given: list[str] | None = None) -> int:
    """Measure and print; 1 where Parley does not hold ten times as many."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--otree", type=int, nargs="+", default=OTREE, help="how many at once, in turn")
    parser.add_argument("--parley", type=int, nargs="+", default=PARLEY)
    parser.add_argument("--seconds", type=float, default=40)
    report.add_docs(parser)
    wanted = parser.parse_args(given)
    out = Console(width=140)
    try:
        theirs = [otree(people, wanted.seconds) for people in wanted.otree]
    except NotThere as reason:
        out.print(f"oTree is left out: {reason}", markup=False)
        return 0
    ours = [measure("parley", people, wanted.seconds) for people in wanted.parley]
    table = table_of([*theirs, *ours])
    rival = most(theirs, quick)
    told = (
        f"Of these numbers oTree holds {most(theirs)} ({rival} if what failed is not counted) and Parley {most(ours)}."
    )
    out.print(table, told)
    for run in (*theirs, *ours):
        for error, often in run.found.errors.most_common(2):
            out.print(f"  {run.server}, {run.people}: {often} x {error}", markup=False)
    if wanted.docs:
        report.write(
            "rival", f"Measured on {report.measured_on(servers.served_by())}.\n\n{report.drawn_as(table)}\n\n{told}"
        )
    return int(most(ours) < max(1, TIMES * rival))


if __name__ == "__main__":
    sys.exit(main())
