"""Rankings of labels whose scores depend on the inputs: Fotakis and others (2022).

The oracles Ex(m), Ex(m, E) and Ex(m, E, M) of definitions 1.1, 2.4 and C.1 are one record, `Oracle`, without
noise and mechanism, with noise, and with both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.errors import OptionError
from symscreen.ranking.generators.by_score import ranks_by_score
from symscreen.ranking.generators.drawing import check_drawing

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Inputs = Callable[[int, np.random.Generator], Floats]
    Scores = Callable[[Floats], Floats]
    Noise = Callable[[tuple[int, int], np.random.Generator], Floats]
    Mechanism = Callable[[Floats, Floats, np.random.Generator], Floats]

__all__ = ["Examples", "Oracle", "SparseScores", "binary_inputs", "lfn", "sfn", "sparse_scores"]

_LOW, _HIGH = 0.25, 0.75  # noise within ±1/4 then leaves all scores in [0, 1]


@dataclass(frozen=True, eq=False)
class Examples:
    """Rows that an oracle returned.

    Parameters
    ----------
    x : float64 array, shape (n, d)
        The inputs.
    ranks : float64 array, shape (n, k)
        What is observed, σ: 1 is preferred most, NaN a label that is missing, equal values are ties.
    truth : float64 array, shape (n, k)
        The complete ranking without noise, h(x) = argsort m(x).
    """

    x: NDArray[np.float64]
    ranks: NDArray[np.float64]
    truth: NDArray[np.float64]


@dataclass(frozen=True)
class Oracle:
    """Draw inputs, score the labels, disturb the scores and show a ranking of them.

    Parameters
    ----------
    scores : callable
        m: from inputs, shape (n, d), to the labels' scores in [0, 1], shape (n, k).
    inputs : callable
        D_x: from (n, generator) to inputs, shape (n, d).
    noise : callable, optional
        E: from ((n, k), generator) to what is added to the scores, such as `truncated_gaussian`.
    mechanism : callable, optional
        M: from (inputs, noisy scores, generator) to the ranks that are shown, such as `survivors` or
        `buckets`; by default the complete ranking.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> oracle = Oracle(sparse_scores(20, 3, 4, rng), binary_inputs(20))
    >>> examples = oracle.draw(5, rng)
    >>> examples.x.shape, examples.ranks.shape
    ((5, 20), (5, 3))
    >>> bool((examples.ranks == examples.truth).all())
    True
    """

    scores: Scores
    inputs: Inputs
    noise: Noise | None = None
    mechanism: Mechanism | None = None

    def draw(self, n: int, rng: np.random.Generator) -> Examples:
        """Draw inputs and what is observed of their rankings.

        Parameters
        ----------
        n : int
            Rows.
        rng : numpy.random.Generator
            The inputs are drawn first: the same generator with other noise gives the same inputs.

        Returns
        -------
        examples : Examples
            Rows are independent of each other.
        """
        check_drawing(rng, n)
        x = self.inputs(n, rng)
        return Examples(x, self.observe(x, rng), self.truth(x))

    def truth(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Rank the labels without noise: h(x) = argsort m(x), shape (n, k)."""
        return ranks_by_score(self.scores(x))

    def observe(self, x: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw what is observed at given inputs, shape (n, d): ranks, shape (n, k)."""
        y = self.scores(x)
        if self.noise is not None:
            y = y + self.noise((y.shape[0], y.shape[1]), rng)
        return ranks_by_score(y) if self.mechanism is None else self.mechanism(x, y, rng)


@dataclass(frozen=True, eq=False)
class SparseScores:
    """A score function m of which each label's part depends on r features (definition A.1), linearly.

    m_i(x) = ¼ + ½ (Σ_j w_ij x_ij − Σ_j min(w_ij, 0)) / Σ_j |w_ij| over the features of label i, so that
    binary inputs give scores from ¼ to ¾, both attained.

    Parameters
    ----------
    features : int64 array, shape (k, r)
        Of each label, ascending.
    weights : float64 array, shape (k, r)
        None is 0.
    """

    features: NDArray[np.int64]
    weights: NDArray[np.float64]

    def __call__(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Score the labels at inputs of shape (n, d); shape (n, k)."""
        shares = self.weights / np.abs(self.weights).sum(axis=1, keepdims=True)
        parts = [
            (x[:, own] * share).sum(axis=1) - np.minimum(share, 0.0).sum()
            for own, share in zip(self.features, shares, strict=True)
        ]
        return np.asarray(_LOW + (_HIGH - _LOW) * np.stack(parts, axis=1))


def sparse_scores(d: int, k: int, r: int, rng: np.random.Generator, *, shared: bool = False) -> SparseScores:
    """Draw a score function: r of d features for each label, and their weights.

    Parameters
    ----------
    d, k, r : int
        Features, labels, and features that each label depends on.
    rng : numpy.random.Generator
        What draws them.
    shared : bool
        By default a label has features of its own (two may have some in common) and weights uniform on
        (0, 1]; else all labels have the same features, with weights of either sign.

    Returns
    -------
    SparseScores
        On binary inputs.

    Raises
    ------
    OptionError
        If r exceeds d, or one of them is not positive.
    """
    if not (1 <= r <= d and k >= 1):
        raise OptionError(f"d = {d}, k = {k}, r = {r}: give k ≥ 1 labels and 1 ≤ r ≤ d informative features")
    check_drawing(rng)
    drawn = [np.sort(rng.choice(d, size=r, replace=False)) for _ in range(1 if shared else k)]
    features = np.array(drawn * k if shared else drawn, dtype=np.int64)
    weights = 1.0 - rng.random((k, r))
    return SparseScores(features, weights * rng.choice([-1.0, 1.0], size=(k, r)) if shared else weights)


@dataclass(frozen=True)
class _Coins:
    d: int

    def __call__(self, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        return rng.integers(2, size=(n, self.d)).astype(np.float64)


def binary_inputs(d: int) -> Inputs:
    """Give the distribution of d fair coins, independent: values 0.0 and 1.0."""
    return _Coins(d)


def lfn(rng: np.random.Generator, *, as_published: bool = False) -> Oracle:
    """Draw an oracle of the family with a Large Number of Features: d = 1000, k = 5, r = 10.

    Parameters
    ----------
    rng : numpy.random.Generator
        What draws its score function.
    as_published : bool
        As for `sfn`.

    Returns
    -------
    Oracle
        Ex(m). The paper's sets have 10,000 rows.
    """
    return _family(1000, rng, as_published=as_published)


def sfn(rng: np.random.Generator, *, as_published: bool = False) -> Oracle:
    """Draw an oracle of the family with a Small Number of Features: d = 100, k = 5, r = 10.

    Parameters
    ----------
    rng : numpy.random.Generator
        What draws its score function.
    as_published : bool
        By default each label has ten features of its own, as the paper says. The scores of the published set
        are linear in five features, the same for all labels, with weights of either sign: then r = 5, shared,
        and there are 32 different inputs as far as rankings go.

    Returns
    -------
    Oracle
        Ex(m). The paper's sets have 10,000 rows.

    Examples
    --------
    >>> import numpy as np
    >>> from dataclasses import replace
    >>> from symscreen.ranking.generators import survivors, truncated_gaussian
    >>> rng = np.random.default_rng(0)
    >>> noisy = replace(sfn(rng), noise=truncated_gaussian(0.05), mechanism=survivors(0.8))
    >>> noisy.draw(10_000, rng).ranks.shape
    (10000, 5)
    """
    return _family(100, rng, as_published=as_published)


def _family(d: int, rng: np.random.Generator, *, as_published: bool) -> Oracle:
    scores = sparse_scores(d, 5, 5, rng, shared=True) if as_published else sparse_scores(d, 5, 10, rng)
    return Oracle(scores, binary_inputs(d))
