"""Small columns with and without ties, and all their partitions."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import strategies as st


def columns(least=2, most=10, **kind):
    """Draw columns of integers: their sums are exact, and ties are common."""
    return st.lists(st.integers(-30, 30), min_size=least, max_size=most, **kind).map(
        lambda values: np.array(values, dtype=float)
    )


@st.composite
def two_columns(draw, least=2, most=10):
    n = draw(st.integers(least, most))
    return draw(columns(n, n)), draw(columns(n, n))


def loss(y, first):
    """Compute eq. (10), row by row."""
    parts = [[y[i] for i in range(len(y)) if (i in first) is side] for side in (True, False)]
    return sum(sum((v - sum(part) / len(part)) ** 2 for v in part) for part in parts if part)


def partitions(n, size):
    return [set(rows) for rows in combinations(range(n), size)]
