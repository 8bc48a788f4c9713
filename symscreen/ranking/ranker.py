"""What every estimator of rankings tells scikit-learn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.base import BaseEstimator

from symscreen.ranking.distances import mean_kendall_tau

if TYPE_CHECKING:
    from sklearn.utils import Tags

__all__ = ["Ranker"]


class Ranker(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """The base of estimators whose response is a table of ranks, one column a label."""

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

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        return tags
