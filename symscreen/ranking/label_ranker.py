"""What the learners by regression share: how they read rows and rankings, and sort predictions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
    validate_data,
)

from symscreen.errors import TableError
from symscreen.label_ranking import as_rankings, orders_of
from symscreen.ranking.ranker import Ranker

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Ranks = NDArray[np.float64]
    Values = NDArray[np.float64]

__all__ = ["LabelRanker", "Learned", "fresh_seeds", "ranks_of_positions"]

_DIGITS = 12  # of the positions that labels are sorted by


class Learned(NamedTuple):
    """What a learner learns from.

    Parameters
    ----------
    rows : float64 array, shape (n, d)
        Features.
    ranks : float64 array, shape (n, k)
        Rankings, as `as_rankings` writes them.
    weights : float64 array, shape (n,)
        ≥ 0; ones where the user gave none.
    """

    rows: Values
    ranks: Ranks
    weights: Values

    def weighty(self) -> Learned:
        """Leave out the rows of weight 0, as if they were not there."""
        kept = self.weights > 0
        if kept.all():
            return self
        return Learned(self.rows[kept], self.ranks[kept], self.weights[kept])


class LabelRanker(Ranker):
    """A ranker by regression: what is common to reading its rows and rankings."""

    n_labels_: int

    def predict(self, X: Any) -> Ranks:  # noqa: N803  # scikit-learn's name
        """Predict rankings.

        Parameters
        ----------
        X : array-like, shape (m, d)
            Features.

        Returns
        -------
        float64 array, shape (m, k)
            Ranks 1 to k, no ties.
        """
        raise NotImplementedError

    def _learned(
        self,
        X: Any,  # noqa: N803
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        complete: bool = False,
    ) -> Learned:
        """Check what `fit` was given; `complete` refuses missing and tied labels."""
        if y is None:
            raise TableError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: "
                "give one row of ranks for each row of X"
            )
        rows = validate_data(self, X, dtype=np.float64)
        values = np.asarray(y)
        if values.dtype.kind == "f":
            assert_all_finite(values, allow_nan=True, input_name="y")
        ranks = as_rankings(values, complete=complete)
        check_consistent_length(rows, ranks)
        if complete:
            _refuse_ties(ranks, type(self).__name__)
        self.n_labels_ = ranks.shape[1]
        weights = _check_sample_weight(sample_weight, rows, dtype=np.float64)
        if (weights < 0).any():
            row = int(np.flatnonzero(weights < 0)[0])
            raise TableError(f"the weight of row {row} is {weights[row]:g}: weights must be at least 0")
        order = np.lexsort((weights, *ranks.T[::-1], *rows.T[::-1]))  # so that no draw depends on row order
        return Learned(rows[order], ranks[order], weights[order])

    def _rows(self, X: Any) -> Values:  # noqa: N803
        """Check what `predict` was given."""
        check_is_fitted(self)
        return np.asarray(validate_data(self, X, dtype=np.float64, reset=False))


def ranks_of_positions(positions: Values) -> Ranks:
    """Sort labels by the positions predicted for them.

    Parameters
    ----------
    positions : float64 array, shape (n, k)
        What is smallest comes first.

    Returns
    -------
    float64 array, shape (n, k)
        Ranks 1 to k. Positions that agree to 12 digits are tied; of tied labels the one with the smaller
        index comes first.

    Examples
    --------
    >>> ranks_of_positions(np.array([[0.4, 0.9, 0.4], [3.0, 2.0, 1.0]])).tolist()
    [[1.0, 3.0, 2.0], [3.0, 2.0, 1.0]]
    """
    return np.argsort(orders_of(np.round(positions, _DIGITS)), axis=1).astype(np.float64) + 1.0


def fresh_seeds(random_state: int | np.random.RandomState | None, count: int) -> list[int]:
    """Draw seeds for the parts of a learner, each the same whatever the others are.

    Parameters
    ----------
    random_state : int, RandomState or None
        As scikit-learn's; None is drawn afresh.
    count : int
        How many.

    Returns
    -------
    list of int
        From 0 to 2³¹ − 1.

    Examples
    --------
    >>> fresh_seeds(0, 3) == fresh_seeds(0, 3)[:3], len(set(fresh_seeds(0, 3)))
    (True, 3)
    """
    from sklearn.utils import check_random_state

    return [int(seed) for seed in check_random_state(random_state).randint(2**31 - 1, size=count)]


def _refuse_ties(ranks: Ranks, name: str) -> None:
    tied = (np.sort(ranks, axis=1) != np.arange(1.0, ranks.shape[1] + 1.0)).any(axis=1)
    if tied.any():
        raise TableError(
            f"row {int(tied.argmax())} of the rankings ties labels ({int(tied.sum())} such rows), and "
            f"{name} needs the position of every label: drop these rows, or take PairwiseRanker or "
            "RankingEnsemble, which read partial rankings by pairs of labels"
        )
