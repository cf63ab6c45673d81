"""Agreement between an annotator and people about a sample of conversations, field by field.

The share of equal labels has Wilson's interval by the cluster jackknife over conversations (intervals.py);
Cohen's kappa is (p_o - p_e)/(1 - p_e), p_e from how often each side gives each value (Cohen 1960, Educational and
Psychological Measurement 20:37), over all pairs of the annotator's label and a person's, with a percentile bootstrap
over conversations. Among people it is Krippendorff's alpha, for any number of them, with a jackknife over conversations
(dices/agreement.py): the people who label are few and are not a sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from app.extensions.analysis.dices.agreement import alpha_interval, marks_of
from app.extensions.analysis.intervals import ENOUGH, FEWEST, SAMPLES, SEED, Interval, central, codes, share_of

Tables = npt.NDArray[np.float64]


class Pair(NamedTuple):
    conversation: str
    rater: str
    annotator: str
    person: str


@dataclass(frozen=True, slots=True)
class FieldAgreement:
    """The agreement on a field: `n` labels of `conversations` by `raters`; undefined measures are None."""

    field: str
    n: int
    conversations: int
    raters: int
    agreement: Interval
    kappa: Interval | None
    people: Interval | None
    """The alpha among people, if several labelled the same conversations."""


def agreement_of(
    field: str, labels: Sequence[tuple[str, str, str, str]], options: Sequence[str]
) -> FieldAgreement | None:
    """The agreement by fields of each Pair; without `options` (free text) that of equal labels. None without labels."""
    pairs = [Pair(*label) for label in labels]
    if not pairs:
        return None
    held = codes([pair.conversation for pair in pairs])
    hits = np.asarray([pair.annotator == pair.person for pair in pairs], dtype=np.float64)
    raters = {pair.rater for pair in pairs}
    share = share_of(hits, held)
    if int(held.max()) + 1 < FEWEST:
        share = Interval(share.value, why=f"An interval needs {FEWEST} conversations.")
    size = len(set(held.tolist()))
    kappa = kappa_interval(pairs, options) if options else None
    return FieldAgreement(field, len(pairs), size, len(raters), share, kappa, _among(pairs, options, len(raters)))


def _among(pairs: Sequence[Pair], options: Sequence[str], people: int) -> Interval | None:
    if people < 2 or not options:
        return None
    items, raters, labels = zip(*((pair.conversation, pair.rater, pair.person) for pair in pairs), strict=True)
    marks, _, _ = marks_of(items, raters, labels, tuple(options))
    found = alpha_interval(marks, "nominal", raters_vary=False)
    return None if np.isnan(found.value) else found


def kappa_interval(pairs: Sequence[Pair], options: Sequence[str]) -> Interval | None:
    """Cohen's kappa with a percentile bootstrap interval over conversations; None if it is undefined."""
    place = {option: number for number, option in enumerate(options)}
    known = [pair for pair in pairs if pair.annotator in place and pair.person in place]
    held = codes([pair.conversation for pair in known])
    size = int(held.max(initial=-1)) + 1
    tables = np.zeros((size, len(options), len(options)))
    for number, pair in zip(held, known, strict=True):
        tables[number, place[pair.annotator], place[pair.person]] += 1
    value = float(_kappas(tables.sum(axis=0)[None])[0])
    if np.isnan(value):
        return None
    if size < FEWEST:
        return Interval(value, why=f"An interval needs {FEWEST} conversations.")
    drawn = np.random.default_rng(SEED).multinomial(size, np.full(size, 1 / size), size=SAMPLES)
    found = _kappas(np.tensordot(drawn.astype(float), tables, axes=1))
    return sampled(value, found, "Too few labels differ for an interval.")


def sampled(value: float, found: Tables, why: str) -> Interval:
    known = found[~np.isnan(found)]
    if known.size < ENOUGH * found.size:
        return Interval(value, why=why)
    if np.ptp(known) < 1e-12:
        return Interval(value, why="It is the same in all samples, so its variance is not known.")
    return Interval(value, *central(known))


def _kappas(tables: Tables) -> Tables:
    """The kappa of each of several tables of labels; NaN if expected agreement is 1 or a table is empty."""
    totals = tables.sum(axis=(1, 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        observed = np.trace(tables, axis1=1, axis2=2) / totals
        expected = (tables.sum(axis=2) * tables.sum(axis=1)).sum(axis=1) / totals**2
        return np.asarray(np.where(expected < 1, (observed - expected) / (1 - expected), np.nan), dtype=np.float64)
