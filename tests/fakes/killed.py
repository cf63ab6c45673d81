"""`parley payments` killed at every moment that could matter, each time over a copy of one database."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

from storage.db.engine import open_database
from storage.payments.payment_files import PaymentRequest, run_payments
from storage.registers.participants import Participants

MOST_TOUCHES = 50


def kill_at_every_touch(place: Path, secret: str, copies: Path) -> None:
    """Pay in `copies/1`, `copies/2`, ..., each time killed one touch of a file or folder later; in the last it is done.

    To be run in a process without threads, as it forks.
    """
    _pay(place, secret, dry=True)  # what is imported and compiled now need not be by each child
    for touch in range(1, MOST_TOUCHES):
        folder = shutil.copytree(place, copies / f"{touch}")
        child = os.fork()
        if not child:
            _pay_until(touch, secret, folder)
        _, status = os.waitpid(child, 0)
        if os.waitstatus_to_exitcode(status) == 0:
            return
    raise AssertionError(f"it is not done after {MOST_TOUCHES} touches")


def _pay_until(touch: int, secret: str, folder: Path) -> None:
    """Pay, and die as by `kill -9` just before a file or folder is touched for that time."""
    touched = 0

    def hook(event: str, values: tuple[Any, ...]) -> None:
        nonlocal touched
        wrote = event in ("os.mkdir", "os.rename", "os.rmdir") or (event == "open" and ".part" in str(values[0]))
        touched += wrote
        if wrote and touched == touch:
            os._exit(9)

    sys.addaudithook(hook)
    _pay(folder, secret)
    os._exit(0)


def _pay(folder: Path, secret: str, *, dry: bool = False) -> None:
    database = open_database(f"sqlite:///{folder}/parley.db")
    run_payments(database, Participants(database, secret), PaymentRequest("paid", folder / "out", dry=dry), 0)
    database.dispose()
