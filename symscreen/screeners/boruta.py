"""Boruta's shadow rule: a feature matters where it beats the best of all features shuffled (Kursa 2010).

In each round every feature gets a shadow, itself in random order, and all compete in one forest. A feature
has a hit where it is more important than every shadow. One that matters no more than the best of the shadows
has a hit in at most half of the rounds.

Boruta decides after every round, and drops what it has rejected. Here the number of rounds is fixed and one
test is made at the end, so that its level is what it says; features that are rejected stay in the forest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Values = NDArray[np.float64]

__all__ = ["confirmed", "shadow_hits"]

_SHADOWS = 5  # at least, as in Boruta: the best of one or two shadows is no bar


def shadow_hits(
    columns: Values,
    importance: Callable[[Values, np.random.SeedSequence], Values],
    rounds: int,
    seed: np.random.SeedSequence,
) -> NDArray[np.int64]:
    """Count the rounds in which each feature is more important than every shadow.

    Parameters
    ----------
    columns : float64 array, shape (n, q)
        One column a feature.
    importance : callable
        (columns, seed) to the importance of each column.
    rounds : int
        How many rounds.
    seed : SeedSequence
        From which every round draws its own.

    Returns
    -------
    int64 array, shape (q,)

    Examples
    --------
    >>> columns = np.arange(6.0)[:, None] * [1.0, 0.0]
    >>> rising = lambda shown, seed: np.diff(shown, axis=0).min(axis=0)
    >>> shadow_hits(columns, rising, 8, np.random.SeedSequence(0)).tolist()
    [8, 0]
    """
    q = columns.shape[1]
    hits = np.zeros(q, dtype=np.int64)
    for own in seed.spawn(rounds):
        shuffle, growth = own.spawn(2)
        originals = np.tile(columns, (1, -(-_SHADOWS // q)))
        shadows = np.random.default_rng(shuffle).permuted(originals, axis=0)
        found = importance(np.hstack([columns, shadows]), growth)
        hits += found[:q] > found[q:].max()
    return hits


def confirmed(hits: NDArray[np.int64], rounds: int, alpha: float) -> NDArray[np.bool_]:
    """Say which features beat the best shadow more often than chance.

    Parameters
    ----------
    hits : int64 array, shape (q,)
        In how many rounds each feature was more important than every shadow.
    rounds : int
        How many rounds there were.
    alpha : float
        The level, shared among the features (Bonferroni).

    Returns
    -------
    bool array, shape (q,)
        Where P(Binomial(rounds, ½) ≥ hits) ≤ α/q (Kursa and Rudnicki 2010, J. Stat. Softw. 36(11), 3.2).

    Examples
    --------
    >>> confirmed(np.array([20, 16, 10]), rounds=20, alpha=0.05).tolist()
    [True, True, False]
    """
    from scipy.stats import binom

    return np.asarray(binom.sf(hits - 1, rounds, 0.5) <= alpha / len(hits))
