"""Random rankings, and reference implementations that follow the definitions pair by pair."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
from hypothesis import strategies as st


@st.composite
def rankings(draw, most_labels=6, most_rows=6, *, ties=True, missing=True, least_labels=1):
    """Draw rankings with at least one label per row, often with ties and missing labels."""
    k, n = draw(st.integers(least_labels, most_labels)), draw(st.integers(1, most_rows))
    rows = []
    for _ in range(n):
        row = np.array(draw(st.permutations(range(k))), dtype=float)
        if ties and draw(st.booleans()):
            row = np.floor(row / 2)
        if missing:
            left_out = draw(st.sets(st.integers(0, k - 1), max_size=k - 1))
            row[list(left_out)] = np.nan
        rows.append(row)
    return np.array(rows)


def weights_for(draw_from, n):
    """Draw one weight per row, sometimes 0, but not all 0."""
    some = st.sampled_from([0.0, 0.25, 1.0, 1 / 3, 2.0])
    return np.array(draw_from(st.lists(some, min_size=n, max_size=n).filter(any)))


def signs_by_pair(row):
    """Return the sign of every pair i < j, None if a label is missing."""
    return [
        None if np.isnan(row[i] + row[j]) else int(np.sign(row[i] - row[j]))
        for i, j in combinations(range(len(row)), 2)
    ]


def distance_by_definition(a, b):
    """Count the pairs that two rankings order differently; pairs tied in only one ranking count ½."""
    both = [(x, y) for x, y in zip(signs_by_pair(a), signs_by_pair(b), strict=True) if None not in {x, y}]
    return sum(abs(x - y) / 2 for x, y in both)


def loss_by_definition(p, ranking):
    """Sum over the observed pairs the share of rows that disagree with a ranking."""
    pairs = combinations(range(len(p)), 2)
    costs = [p[j, i] if ranking[i] < ranking[j] else p[i, j] for i, j in pairs]
    return sum(cost for cost in costs if not np.isnan(cost))


def all_losses(p):
    """Compute the loss of each of the k! rankings."""
    known, k = np.nan_to_num(p), len(p)
    ranks = np.array(list(permutations(range(1, k + 1))))
    losses = np.zeros(len(ranks))
    for i, j in combinations(range(k), 2):
        losses += np.where(ranks[:, i] < ranks[:, j], known[j, i], known[i, j])
    return dict(zip(map(tuple, ranks.tolist()), losses.tolist(), strict=True))
