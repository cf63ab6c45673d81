"""The variance of a least-squares coefficient from few participants, whose answers are alike: CR2, with Satterthwaite's
degrees of freedom.

Residuals are smaller than errors, the more so where few participants answer a question. CR2 (Bell and McCaffrey 2002,
Survey Methodology 28:169) takes that back. With the hat matrix H of all terms, and d~, the coefficient's variable
without what the other terms explain of it,

    V = sum over participants of (d~_g' A_g e_g)^2 / (d~'d~)^2        A_g = B_g^(-1/2)    B_g = (I - H)_gg

has no bias where answers are independent and vary equally. The degrees of freedom are those of a chi-square with its
mean and variance, for G_gh = d~_g' A_g (I - H)_gh A_h d~_h (Pustejovsky and Tipton 2018, Journal of Business and
Economic Statistics 36:672; the default of R's clubSandwich):

    df = tr(G)^2 / tr(G^2)

H is the projection onto the questions, 1 / n_q for two of the n_q answers to one, plus z z' for each orthonormal z
that is left of the other terms; d~ / |d~| is the last. So B_g is a diagonal minus outer products, in coordinates in
which the answers of a participant to a question become their sum over the root of their number, and their distances
from the mean. B_g^(-1/2) d~_g needs no matrix of a participant's answers: with J nodes t_j = (j - 1/2) pi / 2J,

    B^(-1/2) = c/J * sum over j of (c^2 sin^2 t_j + cos^2 t_j B)^-1

for c the fourth root of the smallest eigenvalue. This is the midpoint rule for 2/pi times the integral of 1 / (t^2 + B)
over t = c tan(angle); its relative error is 2 ((1 - c) / (1 + c))^2J. Each inverse is that of Sherman and Morrison.
"""

from __future__ import annotations

from math import ceil, log, pi, sqrt

import numpy as np

from app.analysis.intervals import Codes, Values
from app.errors import TrialError

ACCURACY = 1e-13
SMALLEST = 1e-6
"""The smallest eigenvalue for which the quadrature is exact."""


def cluster_variance(
    d: Values, errors: Values, terms: Values, people: Codes, questions: Codes | None
) -> tuple[float, float]:
    """The variance of the coefficient of `d`, and its degrees of freedom.

    `d` and the orthonormal `terms` have lost what the questions explain, and `d` what the terms explain. Raises
    TrialError where there is no estimate without one of the participants.
    """
    weight = float(d @ d)
    columns = np.array([*terms, d / sqrt(weight), errors])
    columns, person, question, share = _rotated(columns, people, questions)
    sizes = np.bincount(person)
    starts = np.cumsum(sizes) - sizes
    z, errors = columns[:-1], columns[-1]
    a = _inverse_root(z, np.where(share < 1, 1 - share, 1.0), person, starts)  # z is 0 where a share is 1
    among = int(question.max()) + 1
    cells = np.bincount(person * among + question, weights=a * np.sqrt(share), minlength=starts.size * among)
    shared = np.hstack([cells.reshape(-1, among), np.add.reduceat(z * a, starts, axis=1).T])  # G = diag(own) - shared^2
    own, part = np.add.reduceat(a * a, starts), np.einsum("gk,gk->g", shared, shared)
    if np.abs(own - part - np.add.reduceat(z[-1] ** 2, starts)).max() > SMALLEST:
        raise TrialError(
            "The effect rests on one participant: without one of them it cannot be estimated, so its error is not "
            "known. More participants of both groups must answer the same questions."
        )
    products = shared.T @ shared if among < starts.size else shared @ shared.T
    squares = own @ (own - 2 * part) + np.vdot(products, products)
    scores = np.add.reduceat(a * errors, starts)
    return float(scores @ scores) / weight, float((own - part).sum() ** 2 / squares)


def _rotated(columns: Values, people: Codes, questions: Codes | None) -> tuple[Values, Codes, Codes, Values]:
    """Columns in coordinates in which the projection onto the questions is diagonal for each participant; the person
    and question of each coordinate, and that diagonal. People are in order."""
    if questions is None:
        question, share = np.zeros_like(people), np.zeros(people.size)
    else:
        asked = np.bincount(questions)
        question, share = questions, 1 / asked[questions]
        cell = people * asked.size + questions
        if np.bincount(cell).max() > 1:
            cells, at, sizes = np.unique(cell, return_inverse=True, return_counts=True)
            means = np.array([np.bincount(at, weights=column) for column in columns]) / sizes
            columns = np.hstack([means * np.sqrt(sizes), columns - means[:, at]])
            share = np.concatenate([sizes / asked[cells % asked.size], np.zeros(people.size)])
            people = np.concatenate([cells // asked.size, people])
            question = np.concatenate([cells % asked.size, questions])
    if (people[1:] >= people[:-1]).all():
        return columns, people, question, share
    order = np.argsort(people, kind="stable")
    return columns[:, order], people[order], question[order], share[order]


def _inverse_root(z: Values, left: Values, person: Codes, starts: Codes) -> Values:
    """B^(-1/2) of the last z, for each participant's B: the diagonal `left` minus all z z'."""
    taken = np.add.reduceat((z * z / left).sum(axis=0), starts)
    c = max(SMALLEST, float(left.min() * (1 - taken.max()))) ** 0.25
    nodes = ceil(log(ACCURACY) / (2 * log((1 - c) / (1 + c))))
    angles = (np.arange(nodes)[:, None] + 0.5) * pi / (2 * nodes)
    scale = np.cos(angles) ** 2
    solved = z[:, None, :] / ((c * np.sin(angles)) ** 2 + scale * left)
    for at, one in enumerate(z):
        rest = 1 - scale * np.add.reduceat(one * solved[at], starts, axis=1)
        solved[at] /= rest[:, person]
        for later in solved[at + 1 :]:
            later += solved[at] * (scale * np.add.reduceat(one * later, starts, axis=1))[:, person]
    root: Values = c / nodes * solved[-1].sum(axis=0)
    return root
