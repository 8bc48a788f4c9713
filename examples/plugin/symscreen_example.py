"""A screener, a grammar and a backend for symscreen."""

import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata

from symscreen.screeners import Screener, compute_correlation_loss, compute_sign_direction

WAVES = 'unary = ["sin", "cos"]\nbinary = ["add", "mul"]\nlayers = "ub"\n'


def _scores(doubled, n):  # Φ⁻¹(R/(n + 1)), written so that mirrored ranks give exactly the negative
    return np.sign(doubled - (n + 1)) * ndtri(0.5 + np.abs(doubled - (n + 1)) / (2 * n + 2))


def _correlation(ordered, target):
    a, b = _scores(ordered.doubled_ranks, target.n), _scores(2 * rankdata(target.values), target.n)
    return (a * b).sum(axis=1) / np.sqrt((a * a).sum(axis=1) * (b * b).sum())


NORMAL_SCORES = Screener(
    name="normal_scores",
    scope="column",
    statistic=_correlation,
    loss=compute_correlation_loss,
    direction=compute_sign_direction,
    equivalence="ranks",
    summary="van der Waerden's correlation of normal scores",
    assumes="a relation that rises or falls",
    fails="where it turns",
    cost="O(n) a feature, its order known",
    source="van der Waerden 1952",
)


class Serial:  # a backend: one task after the other
    def __init__(self, jobs):
        self.name, self.jobs, self.map = "serial", jobs, map
