"""Piecewise constant rankings with Mallows noise on a 2 × 3 grid."""

from __future__ import annotations

import numpy as np


def mallows_about(centers, phi, rng):
    """Draw one ranking about each centre by repeated insertion."""
    ranks = np.empty(centers.shape)
    for row, center in enumerate(centers):
        order = []
        for label in np.argsort(center):
            weights = np.exp(-phi * np.arange(len(order), -1, -1))
            order.insert(rng.choice(len(order) + 1, p=weights / weights.sum()), label)
        ranks[row, order] = np.arange(1.0, len(order) + 1.0)
    return ranks


def grid_of_six(rng, n, k, phi):
    """Return inputs (n, 2), noisy rankings (n, k) and their centres (n, k)."""
    inputs = rng.random((n, 2))
    cells = (inputs[:, 0] > 0.5) * 3 + np.minimum(inputs[:, 1] * 3, 2).astype(int)
    centers = np.array([rng.permutation(k) + 1.0 for _ in range(6)])[cells]
    return inputs, mallows_about(centers, phi, rng), centers


def some_rankings(rng, n, k, *, ties=False, missing=False):
    ranks = rng.permuted(np.tile(np.arange(1.0, k + 1), (n, 1)), axis=1)
    if ties:
        ranks = np.ceil(ranks / 2)
    if missing:
        ranks[rng.random((n, k)) < 0.3] = np.nan
        ranks[np.isnan(ranks).all(axis=1), 0] = 1.0
    return ranks
