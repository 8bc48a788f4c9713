"""What every estimator of rankings has: its score, its tags, how it reads rows to predict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from symscreen.errors import TableError
from symscreen.ranking.distances import mean_kendall_tau
from symscreen.ranking.learned import label_names, rankings_in, refuse_large

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from sklearn.utils import Tags

__all__ = ["Ranker"]

_NAMED = 6  # labels, at most, in a message


class Ranker(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """The base of estimators whose response is a table of ranks, one column a label.

    Attributes
    ----------
    n_labels_ : int
        k.
    labels_ : tuple of str
        Names of the k labels: of y's columns where `fit` was given a data frame, else "0", "1", ….
    largest : float
        The largest magnitude of a feature. Squares are taken of it, and some models inside compute in single
        precision.
    """

    n_labels_: int
    labels_: tuple[str, ...]
    largest: ClassVar[float] = 1e38

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:  # noqa: N803  # scikit-learn's names
        """Average Kendall's τ between predictions and rankings.

        Parameters
        ----------
        X : array or data frame of shape (n, d)
            The inputs.
        y : array or data frame of shape (n, k)
            The rankings; of an incomplete one the labels that it shows are compared. Columns of a data frame
            are found by their names where `fit` was given names; those of an array stand in its order.
        sample_weight : array of shape (n,), optional
            Weights of the rows.

        Returns
        -------
        float
            From −1 to 1.

        Raises
        ------
        TableError
            If the rankings cannot be used, or y's columns are other labels than those fitted to.
        """
        predicted = self.predict(X)
        return mean_kendall_tau(self._in_order(y), predicted, sample_weight)

    def _in_order(self, y: Any) -> Any:
        """Put the columns of a data frame into the order of the labels fitted to."""
        given = label_names(y)
        if given is None or given == self.labels_:
            return y
        if sorted(given) == sorted(self.labels_):
            return rankings_in(y)[:, [given.index(label) for label in self.labels_]]
        if self.labels_ == tuple(map(str, range(self.n_labels_))):
            return y  # fitted without names
        stray = [name for name in given if name not in self.labels_]
        lacking = [label for label in self.labels_ if label not in given]
        raise TableError(
            f"the rankings to compare with have other labels than those {type(self).__name__} was fitted to"
            + (f"; unknown: {', '.join(map(repr, stray[:_NAMED]))}" if stray else "")
            + (f"; lacking: {', '.join(map(repr, lacking[:_NAMED]))}" if lacking else "")
            + ": name the columns as in fit, or give an array whose columns are in fit's order"
        )

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
