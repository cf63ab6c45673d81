"""People over four weeks on a virtual clock: how long their simulation takes (16 at a time), and the report on them.

`python -m tests.bench.weeks --people 300` is a short form. Each week has a chat with the scripted model and a survey.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from app.bots.run_many import SimulationRun
from app.bots.user_config import read_user_config
from app.config.settings import Settings
from app.extensions.analysis.report.build import build_report
from app.studies.loader import load_study
from app.use_cases.simulate import SimulationProgress, simulate
from storage.db.engine import open_database
from storage.registers.origins import Origin
from tests.bench import bars
from tests.fakes.four_weeks import raw, week
from tests.fakes.studies import write

PEOPLE, MOST_S = 3_000, 600
CHAT = {"each": "question", "of": "questions", "take": 1, "do": "direct-to-AI@1"}
USED = {"models": {"tutor": {"backend": "scripted"}}, "problems": {"questions": {"source": "chatbench"}}}


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=PEOPLE)
    people = parser.parse_args(argv).people
    waves = [{**one, "flow": [*one["flow"][:-1], CHAT, one["flow"][-1]]} for one in map(week, (1, 2, 3, 4))]
    with TemporaryDirectory() as folder:
        own = load_study(str(write(Path(folder), raw(waves=waves, **USED))))
        run = SimulationRun(own, read_user_config("random"), people, "1", at_once=16)
        database, progress = open_database(f"sqlite:///{Path(folder) / 'parley.db'}"), SimulationProgress(run)
        begun = time.monotonic(), time.process_time()
        asyncio.run(simulate(database, Settings(_env_file=None), progress))
        took_s, processor_s = time.monotonic() - begun[0], time.process_time() - begun[1]
        begun_s = time.monotonic()
        report = build_report(database, "weeks", Origin.BOT, time.time_ns() // 1000)
        report_s = time.monotonic() - begun_s
        database.dispose()
    row = (f"{people:,}", f"{progress.sessions:,}", f"{took_s:.0f}", f"{processor_s:.0f}", f"{report_s:.0f}")
    header = ("people", "sessions", "seconds", "of processor", "report, seconds")
    kept = took_s <= MOST_S * people / PEOPLE and report.results.analysed == people and not progress.stopped
    return bars.told("Four weeks of simulated people", header, [row], () if kept else ("seconds",))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
