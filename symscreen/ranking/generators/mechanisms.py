"""What of a ranking is shown: the mechanisms M of Fotakis and others (2022), definitions 2.4 and C.1.

Any function of (inputs, noisy scores, generator) is a mechanism. These two draw their coins independently,
with probabilities that may depend on the inputs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.errors import OptionError
from symscreen.label_ranking import as_rankings
from symscreen.ranking.generators.by_score import ranks_by_score

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from symscreen.ranking.generators.nonparametric import Mechanism

    Probabilities = ArrayLike | Callable[[NDArray[np.float64]], NDArray[np.float64]]

__all__ = ["buckets", "survivors"]


def survivors(q: Probabilities) -> Mechanism:
    """Show the order of the labels that survive; where they stood among all is not shown (definition 2.4).

    Parameters
    ----------
    q : float, array_like of shape (k,), or callable
        Probability of each label's survival; a callable takes the inputs, shape (n, d), to shape (n, k).

    Returns
    -------
    callable
        For `Oracle.mechanism`. A row that would lose all its labels tosses its coins again, so that every row
        shows at least one.

    Raises
    ------
    OptionError
        When it draws: if a probability is not in [0, 1], or a row has none above 0.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.array([[0.4, 0.9, 0.7, 0.8, 0.1]])
    >>> survivors([1.0, 0.0, 1.0, 0.0, 1.0])(np.zeros((1, 1)), y, np.random.default_rng(0))
    array([[ 2., nan,  1., nan,  3.]])
    """
    return _Survivors(q)


def buckets(p: Probabilities) -> Mechanism:
    """Show a bucket order: neighbours in the ranking are tied unless a border falls between (definition C.1).

    Parameters
    ----------
    p : float, array_like of shape (k − 1,), or callable
        Probability of a border after each position of the ranking; a callable takes the inputs, shape (n, d),
        to shape (n, k − 1). All 1 shows the complete ranking.

    Returns
    -------
    callable
        For `Oracle.mechanism`: ranks with ties, as mid-ranks.

    Raises
    ------
    OptionError
        When it draws: if a probability is not in [0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> y = np.array([[0.2, 0.4, 0.1, 0.3, 0.5]])  # e > b > d > a > c
    >>> buckets([0, 1, 1, 0])(np.zeros((1, 1)), y, np.random.default_rng(0))  # e = b > d > a = c
    array([[4.5, 1.5, 4.5, 3. , 1.5]])
    """
    return _Buckets(p)


@dataclass(frozen=True, eq=False)
class _Survivors:
    q: Probabilities

    def __call__(
        self, x: NDArray[np.float64], y: NDArray[np.float64], rng: np.random.Generator
    ) -> NDArray[np.float64]:
        q = _probabilities(self.q, x, (y.shape[0], y.shape[1]))
        if not q.any(axis=1).all():
            raise OptionError("a row in which no label can survive has no ranking to show; raise q")
        coins = rng.random(q.shape) < q
        while not (shown := coins.any(axis=1)).all():
            coins[~shown] = rng.random((int((~shown).sum()), q.shape[1])) < q[~shown]
        return as_rankings(np.where(coins, ranks_by_score(y), np.nan))


@dataclass(frozen=True, eq=False)
class _Buckets:
    p: Probabilities

    def __call__(
        self, x: NDArray[np.float64], y: NDArray[np.float64], rng: np.random.Generator
    ) -> NDArray[np.float64]:
        p = _probabilities(self.p, x, (y.shape[0], y.shape[1] - 1))
        bucket = np.zeros(y.shape, dtype=np.int64)
        bucket[:, 1:] = np.cumsum(rng.random(p.shape) < p, axis=1)
        places = ranks_by_score(y).astype(np.int64) - 1
        return as_rankings(np.take_along_axis(bucket, places, axis=1))


def _probabilities(
    given: Probabilities, x: NDArray[np.float64], shape: tuple[int, int]
) -> NDArray[np.float64]:
    values = np.asarray(given(x) if callable(given) else given, dtype=np.float64)
    if not ((values >= 0.0) & (values <= 1.0)).all():
        raise OptionError(f"probabilities from {values.min():g} to {values.max():g}: give them in [0, 1]")
    try:
        return np.broadcast_to(values, shape)
    except ValueError:
        raise OptionError(
            f"probabilities of shape {values.shape} do not fit {shape[0]} rows of {shape[1]}; give one "
            f"number, {shape[1]} of them, or a function of the inputs"
        ) from None
