"""The preparation of the DICES authors' multilevel models works on exports of own studies of both editions.

Homan et al. (arXiv 2306.11530) map what raters chose as their race or ethnicity to a factor with the reference White,
and have `phase` in their formulas. The texts and groups are those of their `preprocess_and_cache_data.R`.
"""

from __future__ import annotations

import asyncio
import csv
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from app.bots.random_bot import RandomBot
from experiments.instruments.dices_raters import JOINED, NO_ANSWER, race_of
from experiments.study.screen import Screen
from storage.schemas.registry import schema
from tests.fakes.databases import export, fill_by
from tests.fakes.once import database_of

pytestmark = pytest.mark.nightly

WHITE, BLACK, NATIVE = "White", "Black or African American", "American Indian or Alaska Native"
LATINE, EAST = "LatinX, Latino, Hispanic or Spanish Origin", "East or South-East Asian"
SOUTH = "Indian subcontinent (including Bangladesh, Bhutan, India, Maldives, Nepal, Pakistan, and Sri Lanka)"
ARAB, PACIFIC = "Middle Eastern or North African", "Native Hawaiian or other Pacific Islander"
# What raters of each edition chose, and the group that the authors give it. One text of the release, Mexican
# Indigenous, is no option of the shipped studies: it occurs only beside another choice, so it was probably written in.
CHOSEN: dict[str, dict[tuple[str, ...], str]] = {
    "dices-350": {
        (WHITE,): "White",
        (EAST,): "Asian",
        (BLACK,): "Black",
        (SOUTH,): "Indian Subcontinent",
        (NATIVE,): "Indigenous",
        (LATINE, NATIVE): "Indigenous",
        (PACIFIC,): "Indigenous",
        (WHITE, NATIVE): "Indigenous",
        (LATINE,): "Latin(x)e",
        (BLACK, EAST): "Multiracial",
        (LATINE, EAST): "Multiracial",
        (WHITE, EAST): "Multiracial",
        (WHITE, LATINE): "Multiracial",
        (ARAB,): "Other",
        ("Other",): "Other",
        (NO_ANSWER,): "Other",
    },
    "dices-990": {
        (WHITE,): "White",
        ("Asian",): "Asian",
        (BLACK,): "Black",
        ("Indian",): "Indian Subcontinent",
        ("Latino, Hispanic or Spanish Origin",): "Latin(x)e",
        ("Mixed",): "Multiracial",
    },
}
COLUMN = {"dices-350": "rater_raw_race", "dices-990": "rater_race_raw"}


class Rater(RandomBot):
    """A rater by chance, who chooses these races."""

    def __init__(self, seed: str, column: str, chosen: Sequence[str]) -> None:
        super().__init__(seed)
        self._column, self._chosen = column, chosen

    def act(self, screen: Screen) -> tuple[str, dict[str, Any]]:
        kind, values = super().act(screen)
        return kind, values | ({self._column: [*self._chosen]} if self._column in values else {})


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """An export of each edition, rated by one rater of each choice."""
    found = {}
    for edition, chosen in CHOSEN.items():
        bots = [Rater(str(number), COLUMN[edition], races) for number, races in enumerate(chosen)]
        database = database_of(
            tmp_path_factory,
            f"{edition}-races",
            lambda database, edition=edition, bots=bots: asyncio.run(fill_by(database, edition, bots)),
        )
        folder = tmp_path_factory.mktemp("export") / edition
        export(database, edition, edition, folder)
        database.dispose()
        found[edition] = folder / schema(edition).tables[0].file
    return found


@pytest.mark.parametrize("edition", CHOSEN)
def test_choices_are_written_as_in_the_release(edition: str, files: dict[str, Path]) -> None:
    rows = pd.read_csv(files[edition])
    raters = rows.drop_duplicates("rater_id").set_index(COLUMN[edition])["rater_race"]
    assert len(raters) == len(CHOSEN[edition])
    assert raters.to_dict() == {JOINED.join(chosen): race_of(chosen) for chosen in CHOSEN[edition]}


def test_the_factor_has_its_reference_and_nothing_is_unknown(files: dict[str, Path]) -> None:
    groups = {JOINED.join(chosen): group for known in CHOSEN.values() for chosen, group in known.items()}
    names = ["rater_gender", "rater_age", "rater_education", "degree_of_harm", "phase", "Q_overall"]
    rows = pd.concat(
        pd.read_csv(files[edition]).rename(columns={COLUMN[edition]: "raw"})[[*names, "raw"]] for edition in CHOSEN
    )
    rows["ethnicity"] = rows["raw"].map(groups)
    assert not rows.isna().to_numpy().any()
    assert set(rows["ethnicity"]) == set(groups.values())
    assert "White" in set(rows["raw"])
    assert set(rows["phase"]) == {"Phase1", "Phase3"}
    assert set(rows["Q_overall"]) <= {"No", "Unsure", "Yes"}


def test_r_prepares_the_models(files: dict[str, Path], tmp_path: Path) -> None:
    rscript = shutil.which("Rscript")
    if rscript is None:
        pytest.skip("there is no Rscript; install R to run this test")
    known = tmp_path / "known.csv"
    with known.open("w", encoding="utf-8", newline="") as out:
        texts = [(JOINED.join(chosen), group) for of in CHOSEN.values() for chosen, group in of.items()]
        csv.writer(out).writerows([("raw", "group"), *texts])
    script = Path(__file__).parent / "scripts" / "brms_preparation.R"
    done = subprocess.run([rscript, str(script), *map(str, files.values()), str(known)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == sum(len(pd.read_csv(file)) for file in files.values())
