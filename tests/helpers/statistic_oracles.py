"""The definitions, computed the slow way."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import numpy as np

from symscreen.statistics.inference.p_value_counts import compute_harmonic_number


def t0_by_definition(theta, y) -> Fraction:
    """Sum over all ordered pairs of distinct rows (Luo and Li 2024, eq. 18), exactly."""
    theta, y = [Fraction(float(v)) for v in theta], [Fraction(float(v)) for v in y]
    n = len(y)
    total = Fraction(0)
    for i in range(n):
        for j in range(n):
            if i != j:
                above = theta[i] >= theta[j] and y[i] < y[j]
                below = theta[i] < theta[j] and y[i] >= y[j]
                total += 2 * abs(y[i] - y[j]) * (above + below)
    return total / (n * (n - 1))


def gini_by_definition(y) -> Fraction:
    y = [Fraction(float(v)) for v in y]
    n = len(y)
    return sum((abs(a - b) for a in y for b in y), Fraction(0)) / (n * (n - 1))


def xi_by_permutations(theta, y) -> float:
    """Average Chatterjee's ξ over every order of the rows that ascends in θ."""
    theta, y = np.asarray(theta), np.asarray(y)
    n = len(y)
    r = [(y <= v).sum() for v in y]
    at_least = np.array([(y >= v).sum() for v in y])
    sums = [
        sum(abs(r[p[k + 1]] - r[p[k]]) for k in range(n - 1))
        for p in permutations(range(n))
        if all(theta[p[k]] <= theta[p[k + 1]] for k in range(n - 1))
    ]
    return 1 - n * np.mean(sums) / (2 * (at_least * (n - at_least)).sum())


def xi_by_adjacency(theta, y) -> float:
    """Average Chatterjee's ξ over tie orders, by the probability that two rows are adjacent in θ-order.

    Two of m tied rows are adjacent with probability 2/m; two rows of neighbouring groups of l and m rows with
    probability 1/(l m). Unlike `xi_by_permutations` it is fast.
    """
    y = np.asarray(y)
    n = len(y)
    _, group, sizes = np.unique(theta, return_inverse=True, return_counts=True)
    size, distance = sizes[group], np.abs(group[:, None] - group)
    adjacent = np.where(distance == 0, 2 / size, np.where(distance == 1, 1 / (size[:, None] * size), 0.0))
    r, at_least = (y[:, None] >= y).sum(axis=1), (y[:, None] <= y).sum(axis=1)
    steps = np.triu(adjacent * np.abs(r[:, None] - r), 1).sum()
    return 1 - n * steps / (2 * (at_least * (n - at_least)).sum())


def q_in_memory(p, method):
    """Compute q-values from all p-values, sorted, by the definition."""
    order = np.argsort(p, kind="stable")
    scale = len(p) * (compute_harmonic_number(len(p)) if method == "by" else 1.0)
    ratios = scale * p[order] / np.arange(1, len(p) + 1)
    q = np.empty(len(p))
    q[order] = np.minimum(np.minimum.accumulate(ratios[::-1])[::-1], 1.0)
    return q
