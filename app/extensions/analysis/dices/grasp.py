"""Findings about groups of raters: the GRASP measures by axis and intersection.

GRASP's own figures for DICES-350 use only the 104 raters kept in the release: such figures have `kept` in their names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from app.extensions.analysis.dices.cohesion import normalised_xrr, xrr
from app.extensions.analysis.dices.coincidence_matrix import Sums
from app.extensions.analysis.dices.grasp_measures import DSI, PERMUTATIONS, MeasureResult, family, own, sides
from app.extensions.analysis.dices.rater_pool import LEAST, Axis, RaterPool, axes, pool
from app.extensions.analysis.dices.raters import REMOVED, without
from app.extensions.analysis.estimates import NUMBER, RANDOM, Estimate, Finding, estimate, slug
from app.extensions.analysis.intervals import SEED

COLUMN = "Q_overall"
TITLES: Mapping[str, tuple[str, str, tuple[float, float]]] = {
    "irr": ("Agreement within groups: IRR", "agreed among themselves with an IRR of {}", (-0.2, 1)),
    "plurality": ("Agreement within groups: plurality size", "had a mean plurality size of {}", (0, 1)),
    "negentropy": ("Agreement within groups: negentropy", "had a mean negentropy of {} nats", (0, 1.1)),
    "xrr": ("Agreement with others: XRR", "agreed with all others with an XRR of {}", (-0.2, 1)),
    "voting_agreement": ("Agreement with others: votes", "voted like all others with an alpha of {}", (-0.2, 1)),
    "gai": ("Group association: GAI", "had a GAI of {}", (0, 2)),
    DSI: ("Diversity sensitivity: DSI", "had groups with a GAI of up to {}", (0, 2)),
}
FORMULAS: Mapping[str, str] = {
    "irr": "IRR is Krippendorff's nominal alpha of a group.",
    "plurality": "Plurality size is the mean over conversations of the share of a group's most common answer.",
    "negentropy": "Negentropy is the mean over conversations of ln 3 − H in nats, H being the entropy of the answers.",
    "xrr": (
        "XRR is nominal cross-replication reliability (Wong et al. 2021) between a group and all other raters; "
        "normalised XRR is XRR divided by the root of the product of both IRRs."
    ),
    "voting_agreement": (
        "Voting agreement is the nominal alpha between the most common answers of a group and those of all other "
        "raters; of equally common answers, the first in the order No, Unsure, Yes counts."
    ),
    "gai": "GAI is IRR/XRR: above 1, a group agrees more within itself than with the others.",
    DSI: "DSI is the largest GAI among the groups of an axis.",
}
QUESTIONS = (
    "It says how well the value is known, and p whether it differs from that of random groups, "
    "which the sentences give."
)
JACKKNIFE = f"The 95 % interval is a jackknife over raters and conversations. {QUESTIONS}"
INTERVALS: Mapping[str, str] = {
    "irr": JACKKNIFE,
    "plurality": JACKKNIFE,
    "negentropy": JACKKNIFE,
    "xrr": JACKKNIFE,
    "voting_agreement": (
        f"The 95 % interval adds a jackknife over conversations and the variance over random groups. {QUESTIONS}"
    ),
    "gai": (
        "The 95 % interval has the values that the test does not reject, so it holds 1 where p is not below 0.05, and "
        "in 95 % of random groups."
    ),
}
REFERENCES = {"irr": 0.0, "xrr": 0.0, "voting_agreement": 0.0, "gai": 1.0, DSI: 1.0}


@dataclass(frozen=True, slots=True)
class GroupCounts:
    raters: int
    ratings: int
    group: Sums
    others: Sums


def groups(
    ratings: pd.DataFrame, edition: str, permutations: int = PERMUTATIONS, seed: int = SEED
) -> tuple[Finding, ...]:
    """The GRASP family of `Q_overall` by rater group; `further` has `p`, `p_adjusted` and `random_groups`.

    p is two-sided and compares with the median of random groups of the same size, `random_groups`; an interval of GAI
    or DSI holds 1 exactly where its p is not below 0.05. Groups of fewer than 2 raters, or with fewer than 2 others,
    are left out and named in the note.
    """
    return _findings(ratings, edition, "dices", permutations, seed)


def kept_groups(
    ratings: pd.DataFrame, edition: str, permutations: int = PERMUTATIONS, seed: int = SEED
) -> tuple[Finding, ...]:
    """The measures without raters who are removed in the release, as `dices.kept....`; empty if there are none."""
    if not ratings["rater_id"].isin(REMOVED[edition]).any():
        return ()
    return _findings(without(ratings, REMOVED[edition]), edition, "dices.kept", permutations, seed)


def _findings(ratings: pd.DataFrame, edition: str, prefix: str, permutations: int, seed: int) -> tuple[Finding, ...]:
    raters = pool(ratings, COLUMN)
    known = axes(raters)
    outcomes = family(raters, known, permutations, seed)
    sizes = {key: size for axis in known for key, size in _sizes(raters, axis)}
    raters_label = edition if prefix == "dices" else f"{edition}, raters kept by the release"
    found = [
        Finding(
            f"{prefix}.{measure}", f"{title} ({raters_label})", "ratings", NUMBER, scale,
            tuple(_estimates(outcomes, measure, sizes, (prefix, said))),
            f"{FORMULAS[measure]} {_method(measure, permutations, seed)}",
            reference=REFERENCES.get(measure), note=_left_out(known, outcomes, measure),
        )
        for measure, (title, said, scale) in TITLES.items()
    ]  # fmt: skip
    return tuple(finding for finding in found if finding.estimates)


def _method(measure: str, permutations: int, seed: int) -> str:
    drawn = f"{permutations:,} random permutations of the raters' profiles (seed {seed})"
    if measure == DSI:
        test = "p is the share of these with a DSI at least as large, (b + 1)/(N + 1)"
        holds = "The interval holds 1 where p is not below 0.05; its upper end is the largest of the groups'."
    else:
        test = "p is twice the share of these with a value at least as extreme, 2(b + 1)/(N + 1)"
        holds = INTERVALS[measure]
    return (
        f"{holds} The test compares with the same measure in {drawn}, that is in random groups of the same size: "
        f"{test}. The adjusted p is Benjamini and Hochberg's, over all tests of this figure. See Prabhakaran et al.: "
        "GRASP. NAACL 2024."
    )


def _sizes(pool: RaterPool, axis: Axis) -> Iterator[tuple[tuple[str, tuple[str, ...]], GroupCounts]]:
    one, others = (side[:, :, 0] for side in sides(pool, axis, own(pool)))
    sizes = axis.sizes()
    for place, number in enumerate(axis.large()):
        counts = one[:, place]
        yield (
            (axis.name, axis.groups[number]),
            GroupCounts(int(sizes[number]), int(counts.sum()), counts.T, others[:, place].T),
        )
    every = pool.counts((axis.codes >= 0)[None])[:, 0]
    yield (axis.name, ()), GroupCounts(int(sizes.sum()), int(every.sum()), every.T, every.T)


def _estimates(
    outcomes: Sequence[MeasureResult],
    measure: str,
    sizes: Mapping[tuple[str, tuple[str, ...]], GroupCounts],
    words: tuple[str, str],
) -> Iterator[Estimate]:
    prefix, said = words
    for outcome in outcomes:
        if outcome.measure != measure:
            continue
        size = sizes[outcome.axis, outcome.group]
        group_label = ", ".join(outcome.group)
        name = f"{prefix}.{measure}.{outcome.axis}" + (f".{slug('_x_'.join(outcome.group))}" if outcome.group else "")
        columns = {"axis": outcome.axis, **({"group": group_label} if group_label else {})}
        who = f"Raters who are {group_label}" if group_label else f"By {outcome.axis.replace('_x_', ' and ')}, raters"
        figure = (name, group_label or outcome.axis, columns, (size.ratings, size.raters), outcome.found)
        yield estimate(*figure, f"{who} {said}", NUMBER, "ratings", further=_further(outcome, size))


def _further(outcome: MeasureResult, size: GroupCounts) -> Mapping[str, float]:
    columns = {"p": outcome.p, "p_adjusted": outcome.p_adjusted, RANDOM: outcome.random}
    if outcome.measure == "xrr":
        columns["normalised"] = normalised_xrr(size.group, size.others)
        columns["interval"] = xrr(size.group, size.others, "interval")
        columns["conversations"] = float(((size.group.sum(axis=1) > 0) & (size.others.sum(axis=1) > 0)).sum())
    return {name: value for name, value in columns.items() if not np.isnan(value)}


def _left_out(axes: Sequence[Axis], outcomes: Sequence[MeasureResult], measure: str) -> str:
    """Which groups have no estimate, and why; empty for the DSI, because the GAI lists its groups."""
    there = {(outcome.axis, outcome.group) for outcome in outcomes if outcome.measure == measure}
    small: list[str] = []
    none: list[str] = []
    for axis in axes if measure != DSI else ():
        large = set(axis.large().tolist())
        for number, group in enumerate(axis.groups):
            if (axis.name, group) not in there:
                (none if number in large else small).append(", ".join(group))
    said = [f"Left out (fewer than {LEAST} raters, or fewer than {LEAST} others): {'; '.join(small)}."] if small else []
    said += [f"Left out (no value): {'; '.join(none)}."] if none else []
    return " ".join(said)
