"""What is found in DICES's tables, of either edition. Aroyo et al., NeurIPS 2023."""

from collections.abc import Mapping
from functools import partial

from app.analysis.dices.agreement import agreement
from app.analysis.parts import Part, of_one
from storage.dices import OVERALL

NAMES: Mapping[str, str] = {
    "dices.alpha_nominal.<column>": "Krippendorff's alpha, No, Unsure and Yes being merely different",
    "dices.alpha_ordinal.<column>": "Krippendorff's alpha, No, Unsure and Yes taken in this order",
}


def parts(edition: str) -> tuple[Part, ...]:
    """The parts for `dices-350` or `dices-990`."""
    columns = tuple(reversed(OVERALL[edition]))
    analyse = partial(agreement, columns=columns, edition=edition)
    table = edition.replace("-", "_")
    return (of_one("Agreement", table, ("rater_id", "item_id", *columns), analyse, quick=True),)
