"""`parley synergy` with numpyro: known parameters are found again, the same seed gives the same numbers, and a release.

numpyro is in the readers' environment, as it brings JAX: Parley's own Python looks there for what it has not itself.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

from app.analysis.synergy.answers import SynergyAnswers, synergy_answers
from storage.db.engine import open_database
from storage.reports.conversations import origin_of
from tests.bench.synergy import drawn
from tests.fakes.commanding import parley
from tests.fakes.trials import trial
from tests.readers.conftest import OFFLINE

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500), pytest.mark.nightly]
BOTH = "import sys; sys.path.append({packages!r}); "
SAMPLE = (
    "import json; import numpy as np; from app.analysis.synergy.figures import synergy_figures; "
    "from dataclasses import asdict; from app.analysis.synergy.posterior import sample; "
    "from tests.bench.synergy import drawn; "
    "answers, _ = drawn(np.random.default_rng(11), people=150); "
    "found = synergy_figures(answers, sample(answers, seed=2, draws=200, warmup=200, chains=1)); "
    "print(json.dumps({**asdict(found), 'doubts': found.doubts}))"
)
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def with_numpyro(readers_python: str) -> Run:
    """Run Python code, or a command of Parley, where numpyro is found too."""
    asked = [readers_python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    packages = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()

    def run(code: str, *words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        root = str(Path(__file__).parents[2])
        whole = BOTH.format(packages=packages) + f"sys.path.insert(0, {root!r}); " + code
        command = [sys.executable, "-c", whole, *words]
        return subprocess.run(command, cwd=cwd, env=dict(OFFLINE), capture_output=True, text=True, check=False)

    return run


def test_known_parameters_are_found_again(with_numpyro: Run) -> None:
    """150 people with four answers alone and four with a model: each true value is in its interval of four widths."""
    done = with_numpyro(SAMPLE)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    answers, truth = drawn(np.random.default_rng(11), people=150)
    told = {"alone": found["accuracy_alone"], **{one["model"]: one["synergy"] for one in found["models"]}}
    true = {"alone": truth[0], "one": truth[1] - truth[0], "two": truth[2] - truth[0]}
    for name, value in true.items():
        assert near(told[name], value), (name, value, told[name])
    for name, value in (("sd_own", 1.0), ("sd_collaborative", 0.7), ("correlation", 0.6)):
        assert near(found[name], value), (name, found[name])
    assert (found["people"], found["questions"]) == (answers.people, answers.questions)
    assert found["divergences"] < 10
    assert found["worst_r_hat"] < 1.1


def near(interval: Mapping[str, float], value: float) -> bool:
    """Within the 95 % interval, widened to twice as much."""
    half = interval["high"] - interval["low"]
    return abs(interval["value"] - value) <= half


def test_the_command_on_a_study_of_its_own_and_on_an_imported_release(
    with_numpyro: Run, tmp_path: Path, soak: bool
) -> None:
    """Simulated people answer alone and with a model: the estimate is near the plain difference, and the study's data
    are the same answers where they come back as a release of ChatBench."""
    export = ("export", "chatbench", "--schema", "chatbench", "--origin", "bot", "-o", "release")
    imported = ("import", "chatbench", "release", "--study", "again")
    for words in (("simulate", "chatbench", "-n", "12"), export, imported):
        done = parley(*words, folder=tmp_path)
        assert done.returncode == 0, done.stderr
    own, release = answers_of(tmp_path, "chatbench"), answers_of(tmp_path, "again")
    assert (release.models, release.questions) == (own.models, own.questions)
    assert each_persons(release) == each_persons(own)
    command = "from app.cli import main; sys.argv[0] = 'parley'; main()"
    runs = [
        with_numpyro(command, "synergy", study, "--draws", "100", "--json", cwd=tmp_path)
        for study in ("chatbench", *["again"] * (2 if soak else 0))
    ]
    assert [done.returncode for done in runs] == [0] * len(runs), [done.stderr for done in runs]
    assert len({done.stdout for done in runs[1:]}) < 2, "the same seed gives the same numbers"
    for found in (json.loads(done.stdout) for done in runs):
        assert {one["model"] for one in found["models"]} == {"tutor-a", "tutor-b"}
        for one in found["models"]:
            assert abs(one["synergy"]["value"] - one["observed"]) < 0.15
            assert one["synergy"]["low"] < one["synergy"]["value"] < one["synergy"]["high"]
        assert (found["people"], found["questions"]) == (own.people, own.questions)


def answers_of(folder: Path, study: str) -> SynergyAnswers:
    """The answers that the command takes."""
    database = open_database(f"sqlite:///{folder}/parley.db")
    try:
        return synergy_answers(database, study, origin_of(database, study, None))
    finally:
        database.dispose()


def each_persons(answers: SynergyAnswers) -> list[list[tuple[int, float]]]:
    """Of each person what they answered with which model, whatever people and questions are called."""
    rows = list(zip(answers.person, answers.model, answers.correct, strict=True))
    return sorted(sorted((m, right) for who, m, right in rows if who == one) for one in range(answers.people))


def test_without_answers_alone_and_without_numpyro_it_says_what_to_do(tmp_path: Path) -> None:
    trial(tmp_path)
    assert parley("simulate", "trial.yaml", "-n", "4", folder=tmp_path).returncode == 0
    done = parley("synergy", "trial", folder=tmp_path)
    assert done.returncode != 0
    assert "alone" in done.stderr
    assert "Traceback" not in done.stderr
