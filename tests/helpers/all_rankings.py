"""All rankings of k labels, and a goodness-of-fit test of a sample of them."""

from __future__ import annotations

from itertools import permutations

import numpy as np
from scipy.stats import chisquare


def every_ranking(k):
    return np.array(list(permutations(range(1, k + 1))), dtype=float)


def fits(sample, rankings, probabilities):
    """Compute the p-value of Pearson's test; rankings expected less than 5 times are pooled."""
    key = 10 ** np.arange(rankings.shape[1])
    places = {value: at for at, value in enumerate(rankings @ key)}
    counts = np.bincount([places[value] for value in sample @ key], minlength=len(rankings))
    expected = probabilities * len(sample)
    rare = expected < 5.0
    counts, expected = (np.append(each[~rare], each[rare].sum()) for each in (counts, expected))
    if expected[-1] < 1e-9:
        assert counts[-1] == 0
        counts, expected = counts[:-1], expected[:-1]
    return chisquare(counts, expected).pvalue if counts.size > 1 else 1.0
