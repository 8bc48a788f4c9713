"""What every estimator of rankings has: its score, its tags, how it reads rows to predict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from symscreen.ranking.distances import mean_kendall_tau
from symscreen.ranking.learned import refuse_large

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from sklearn.utils import Tags

__all__ = ["Ranker"]


class Ranker(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """The base of estimators whose response is a table of ranks, one column a label.

    Attributes
    ----------
    n_labels_ : int
        k.
    largest : float
        The largest magnitude of a feature. Squares are taken of it, and some models inside compute in single
        precision.
    """

    n_labels_: int
    largest: ClassVar[float] = 1e38

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:  # noqa: N803  # scikit-learn's names
        """Average Kendall's τ between predictions and rankings.

        Parameters
        ----------
        X : array or data frame of shape (n, d)
            The inputs.
        y : array of shape (n, k)
            The rankings; of an incomplete one the labels that it shows are compared.
        sample_weight : array of shape (n,), optional
            Weights of the rows.

        Returns
        -------
        float
            From −1 to 1.
        """
        return mean_kendall_tau(y, self.predict(X), sample_weight)

    def _rows(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """Check what `predict` was given."""
        check_is_fitted(self)
        rows = np.asarray(validate_data(self, X, dtype=np.float64, reset=False))
        refuse_large(rows, self.largest)
        return rows

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        return tags
