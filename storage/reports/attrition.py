"""Attrition of a study with waves: who did not come back, and whether that differs between arms.

Participants are at risk in each wave until the first that they did not complete, or one that is not over for them. The
statistic is that of the log-rank test (Mantel 1966, Cancer Chemotherapy Reports 50:163). Its p is by permutation of the
arms among participants, as chance gave them out: it holds for few in a cell, where chi-square does not, and for any
number of arms and waves. With the sample itself counted it is exact (Phipson and Smyth 2010, SAGMB 9:39).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

DONE, PENDING = "done", "pending"
PERMUTATIONS, SEED = 1_999, 1
Counts = npt.NDArray[np.int64]


def attrition_test(arms: Sequence[int], states: Sequence[Sequence[str]]) -> tuple[float, float] | None:
    """The log-rank statistic and its p; None if nobody was lost, or there is one arm.

    Arms are numbered from 0. `states` has for each later wave of a participant DONE, PENDING if it is not over for
    them, or anything else if they did not complete it.
    """
    labels, width = np.asarray(arms, dtype=np.int64), 2 * (max(map(len, states), default=0) + 1)
    kinds = np.array([_kind(own) for own in states], dtype=np.int64)
    shape = (int(labels.max(initial=0)) + 1, width)
    if shape[0] < 2 or not (kinds % 2).any():
        return None

    def statistic(permuted: Counts) -> float:
        return log_rank(np.bincount(permuted * width + kinds, minlength=shape[0] * width).reshape(shape))

    found, chance = statistic(labels), np.random.default_rng(SEED)
    more = sum(statistic(chance.permutation(labels)) >= found - 1e-9 for _ in range(PERMUTATIONS))
    return found, (1 + more) / (1 + PERMUTATIONS)


def _kind(states: Sequence[str]) -> int:
    """Twice the number of waves at risk, and one more if lost in the last of them."""
    stayed = next((number for number, state in enumerate(states) if state != DONE), len(states))
    lost = stayed < len(states) and states[stayed] != PENDING
    return 2 * (stayed + lost) + lost


def log_rank(counts: Counts) -> float:
    """The statistic, from the numbers of participants by arm and kind (`_kind`)."""
    by_wave = counts.reshape(len(counts), -1, 2)
    lost = by_wave[:, 1:, 1].astype(np.float64)
    there = by_wave.sum(2)[:, ::-1].cumsum(1)[:, ::-1][:, 1:].astype(np.float64)
    all_lost, all_there = lost.sum(0), np.maximum(there.sum(0), 1)
    share = there / all_there
    away = (lost - share * all_lost).sum(1)
    spread = all_lost * (all_there - all_lost) / np.maximum(all_there - 1, 1)
    variance = np.diag(share @ spread) - (share * spread) @ share.T
    return float(away @ np.linalg.pinv(variance, hermitian=True) @ away)
