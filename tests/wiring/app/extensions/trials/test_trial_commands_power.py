"""`parley trial power`: the same numbers again, from options or from sessions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.fakes.commanding import parley
from tests.fakes.trials import trial

pytestmark = pytest.mark.nightly

SMALL = ("trial", "power", "trial.yaml", "--hypothesis", "right", "-n", "30", "--runs", "20", "--workers", "1")
FLAGS = (
    "--assume", "baseline=0.6", "--assume", "icc_participant=0.1", "--assume", "icc_question=0.05",
)  # fmt: skip


def test_power_is_the_same_again(tmp_path: Path) -> None:
    trial(tmp_path)
    done = parley(*SMALL, *FLAGS, "--json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    (right,) = found["hypotheses"]
    assert [(one["participants"], one["effect"]) for one in right["points"]] == [
        (size, effect) for effect in (0.0, 0.05, 0.05 * 1.5) for size in (30, 40)
    ]
    assert all(one["low"] <= one["power"] <= one["high"] for one in right["points"])
    assert {one["power"] for one in right["needed"]} == {0.8, 0.9}
    assert json.loads(parley(*SMALL, *FLAGS, "--json", folder=tmp_path).stdout) == found


def test_what_lacks_is_said(tmp_path: Path) -> None:
    trial(tmp_path)
    for words, part in (
        (SMALL, "baseline"),
        (("trial", "power", "demo"), "no `plan:`"),
        ((*SMALL, "--from", "nowhere"), "pilot"),
        ((*SMALL[:3], *FLAGS), "several"),
    ):
        done = parley(*words, folder=tmp_path)
        assert (done.returncode, part in done.stderr) == (2, True), done.stderr
